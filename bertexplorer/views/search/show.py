"""Figure for search: a line for each result with its cosine as a bar, and a mark at the cosine of two random
sentences."""

from textwrap import wrap

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import ACCENT, ORANGE, clip, coloured, finish, label, quote, safe, two_lines
from bertexplorer.views.search.compute import Search
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Embeddings",
    place=4,
    title="Search",
    question="Which lines mean something like this?",
    note=(
        "BERT was trained to fill masks, not to compare sentences: even unrelated sentences have a cosine above 0. "
        "Compare with the score of random sentences, which the figure marks. Checkpoints trained for search do this "
        "better."
    ),
    papers=("Reimers and Gurevych, 2019, Sentence-BERT",),
    examples=(
        Example("A judge in court", "A judge in court", shows='topic() == "law" and cosine() > chance() + 0.3'),
        Example("Feeling ill", "She has a fever and a headache.", shows='topic() == "health"'),
        Example("River bank", "They fish from the bank.", shows="cosine() > chance() + 0.3"),
        Example("Money bank", "She keeps her savings at a bank.", shows='topic() == "money"'),
        Example("By [CLS]", "A judge in court", options={"pooling": "CLS"}, shows="chance() > 0.2"),
    ),
    chips="",
    slow=True,
    needs=("lines", "index"),
)

ROW = 62  # pixels: a result


def draw(result: Search) -> Chart:
    count = len(result.hits)
    rows = list(range(count))
    values = [hit.cosine for hit in result.hits]
    low = min(0.0, result.chance, *values)
    tips = [hover(result, i) for i in rows]
    fig = Chart([kit.bars(values, ACCENT, width=0.26, hovertext=tips, hoverinfo="text")])
    labels = [f" ({hit.label})" if hit.label else "" for hit in result.hits]
    names = [two_lines(f"{h.cosine:.2f}  {h.text}{label}") for h, label in zip(result.hits, labels, strict=True)]
    fig.add_trace(kit.texts(low, [row - 0.42 for row in rows], names))
    for row in rows:
        box = {"x0": result.chance, "x1": result.chance, "y0": row - 0.18, "y1": row + 0.18}
        fig.add_shape(type="line", line={"color": ORANGE, "width": 3}, **box)
    fig.add_annotation(kit.above(coloured(f"Orange: two random sentences, {result.chance:.2f}", ORANGE)))
    fig.update_xaxes(range=[low, 1], fixedrange=True, nticks=6, title=kit.title("cosine"))
    fig.update_yaxes(range=[count - 0.6, -0.8], **kit.HIDDEN)
    return finish(fig, max(300, 90 + ROW * count), margin={"l": 8, "r": 16, "t": 40, "b": 48})


def hover(result: Search, i: int) -> str:
    hit = result.hits[i]
    group = f" ({label(hit.label, 30)})" if hit.label else ""
    lines = wrap(hit.text, 60)
    body = "<br>".join(safe(line) for line in lines[:8]) + ("…" if len(lines) > 8 else "")
    return f"{hit.rank}. line {hit.line + 1}{group}<br>{body}<br>cosine {hit.cosine:.3f}"


def say(result: Search) -> str:
    """The searched collection, the best result, and the score of two random sentences."""
    searched = f"{result.count:,} {'built-in sentences' if result.built_in else 'uploaded lines'}"
    best = result.hits[0]
    index_use = {"": "compared one by one", "new": "put into the search index now", "kept": "from the search index"}
    sentence = (
        f"Of {searched}, {index_use[result.indexed]}, the nearest is {quote(clip(best.text, 80))} with a cosine of "
        f"{best.cosine:.2f}; two sentences taken at random have {result.chance:.2f} on average."
    )
    return f"{sentence} {result.notes}".strip()
