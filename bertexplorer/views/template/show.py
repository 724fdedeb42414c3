"""Figure for template: a row for each filling, a column for each word, the probability in the cell."""

from bertexplorer.charts.marks import Cells, Figure, Panel
from bertexplorer.charts.style import percent, quote
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


def draw(result: Template) -> Figure:
    """A row for each filling, a column for each word."""
    rows = ["\n".join(filling) for filling in result.fillings]
    text = [[percent(float(p)) for p in shares] for shares in result.probabilities]
    hover = []
    for filled, shares in zip(result.texts, text, strict=True):
        hover.append([f"{filled}\n{word}: {share}" for word, share in zip(result.words, shares, strict=True)])
    high = max(0.01, float(result.probabilities.max()))
    cells = Cells(rows, result.words, result.probabilities, low=0, high=high, text=text, hover=hover)
    return Figure([Panel([cells])])


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
