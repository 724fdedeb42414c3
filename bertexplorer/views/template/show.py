"""Figure for template: a row for each filling, a column for each word, the probability in the cell."""

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import SHADES, finish, label, percent, quote, safe
from bertexplorer.views.template.compute import Template
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Fill-mask",
    place=6,
    title="Template",
    question="What does changing one word do, case by case?",
    note=(
        "Write alternatives in braces: {doctor|nurse}. One template is an anecdote: before you speak of bias, try "
        "several wordings, names and checkpoints, and see how much the numbers vary."
    ),
    papers=(
        "Petroni et al., 2019, Language Models as Knowledge Bases?",
        "Kurita et al., 2019, Measuring Bias in Contextualized Word Representations",
    ),
    examples=(
        Example(
            "Doctor, nurse",
            "The {doctor|nurse|teacher|engineer} said that [MASK] is busy.",
            options={"words": "he, she"},
            shows='p("nurse", "she") > 2 * p("engineer", "she")',
        ),
        Example(
            "Countries",
            "The capital of {France|Spain|Russia|Japan|Egypt} is [MASK].",
            shows='top("France") == "paris" and top("Japan") == "tokyo"',
        ),
        Example(
            "Negation",
            "A {pigeon|trout|rose} is {a|not a} [MASK].",
            shows='top("pigeon / a") == "bird" and top("pigeon / not a") == "bird"',
        ),
        Example(
            "Agreement",
            "The {key|keys} to the {cabinet|cabinets} [MASK] on the table.",
            options={"words": "is, are"},
            shows='ratio("key / cabinets", "is", "are") > 0 and ratio("keys / cabinet", "is", "are") < 0',
        ),
        Example(
            "Verbs",
            "She {wrote|sang|baked|painted} a [MASK].",
            shows='top("baked") == "cake" and top("sang") == "song"',
        ),
    ),
    chips="",
)


def draw(result: Template) -> Chart:
    labels = [" /<br>".join(label(part, 28) for part in filling) for filling in result.fillings]
    words = [safe(w) for w in result.words]
    top = float(result.probabilities.max())
    shares = [[percent(float(p)) for p in row] for row in result.probabilities]
    hovers = [[f"{safe(text)}<br>{word}" for word in words] for text in result.texts]
    cells = kit.cells(result.probabilities, SHADES, 0, max(top, 0.01), text=shares, hover=hovers)
    fig = Chart([{**cells, "textfont": kit.ink(14), "hovertemplate": "%{customdata}: %{text}<extra></extra>"}])
    across = kit.ticks([label(word, 14) for word in result.words], mono=14)
    fig.update_xaxes(side="top", showgrid=False, **across)
    fig.update_yaxes(kit.down(labels))
    return finish(
        fig,
        max(360, 80 + max(34, 20 * len(result.fillings[0])) * len(labels)),
        margin={"l": 8, "r": 16, "t": 40, "b": 8},
    )


def say(result: Template) -> str:
    spread = result.probabilities.max(axis=0) - result.probabilities.min(axis=0)
    word = int(spread.argmax())
    column = result.probabilities[:, word]
    high, low = int(column.argmax()), int(column.argmin())
    if len(result.fillings) == 1:
        return f"For {quote(result.texts[0])} it would put {quote(result.answers[0])}."
    if spread[word] < 0.001:
        return f"None of these words moves by 0.1 % or more between the {len(result.fillings)} sentences."
    return (
        f"{quote(result.words[word])} moves the most: {percent(float(column[high]))} for "
        f"{quote(' / '.join(result.fillings[high]))}, {percent(float(column[low]))} for "
        f"{quote(' / '.join(result.fillings[low]))}."
    )
