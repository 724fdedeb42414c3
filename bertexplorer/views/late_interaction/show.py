"""Figure for late interaction: the cosine of each token of the query with each of the passage, the best ones framed."""

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.passages import HEIGHT, Bar, draw_passages
from bertexplorer.charts.style import (
    MONO,
    ORANGE,
    SHADES,
    beyond_limit,
    clip,
    decimal,
    finish,
    join_names,
    label,
    quote,
)
from bertexplorer.views.late_interaction.compute import LateInteraction
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Sentences",
    place=5,
    title="Token meets token",
    question="Where does each token of the query find its match?",
    note=(
        "Every token of the query counts, also a full stop, and a longer query has a higher score: compare passages "
        "for one query, not queries. Vectors of the last layer know their sentence, so a token may match another word "
        "in the same role. ColBERT, which searches in this way, was trained for it; what random words have tells how "
        "much of a cosine is chance."
    ),
    papers=("Khattab and Zaharia, 2020, ColBERT",),
    examples=(
        Example(
            "The blue toad",
            "Where does the blue toad sleep?",
            "The blue toad sleeps in hollow trees by day.",
            shows='match("toad") == "toad" and match("sleep") == "sleeps"',
        ),
        Example(
            "Other words",
            "children playing football",
            "Kids kick a ball on the grass.",
            shows='match("children") == "kids" and match("football") == "ball"',
        ),
        Example(
            "Two banks",
            "He put the money in the bank.",
            "She sat on the bank of the river and paid with cash from her account.",
            shows='match("bank") == "bank" and match("money") == "cash"',
        ),
        Example(
            "Which passage?",
            "Where does the blue toad sleep?",
            "The blue toad sleeps in hollow trees by day.",
            {"others": "Kids kick a ball on the grass. | A frog sleeps in the pond. | Blue paint is expensive."},
            shows='passage() == "The blue toad sleeps in hollow trees by day."',
        ),
        Example(
            "Before it has read",
            "children playing football",
            "Kids kick a ball on the grass.",
            {"layer": 0},
            shows='cosine("children") < 0.8 and match("children") == "kids"',
        ),
    ),
)

ROW, GAP = 30, 70  # pixels: a token of the query, the gap between the panels
NUMBERED = 12  # tokens of the passage up to which cells show their numbers
DRAWN = 60  # tokens of each side


def draw(result: LateInteraction) -> Chart:
    """The table of cosines; below, the passages by their scores if there are several."""
    heights = [max(120, ROW * len(result.query[:DRAWN]))]
    heights += [HEIGHT * len(result.passages)] if result.passages else []
    fig = kit.panels(heights, GAP)
    draw_cells(fig, result)
    if result.passages:
        bars = [Bar(passage.text, passage.score, decimal(passage.score), passage.own) for passage in result.passages]
        draw_passages(fig, 2, result.first, bars, kit.from_zero([bar.value for bar in bars]))
    return finish(fig, max(300, kit.height_of(heights, GAP) + 120), margin={"l": 8, "r": 44, "t": 104, "b": 8})


def draw_cells(fig: Chart, result: LateInteraction) -> None:
    query = result.query[:DRAWN]
    passage = result.passage[:DRAWN]
    cosines = result.cosines[:DRAWN, :DRAWN]
    small = len(passage) <= NUMBERED
    text = [[decimal(float(value)) if small else "" for value in line] for line in cosines]
    hovers = [
        [f"{label(token)} and {label(other)}: {decimal(float(cosines[i, j]), 3)}" for j, other in enumerate(passage)]
        for i, token in enumerate(query)
    ]
    cells = kit.cells(cosines.clip(0, 1), SHADES, 0, 1, text=text, hover=hovers, textfont=kit.ink(12), gap=2)
    fig.add_trace(cells, 1, 1)
    for i, j in enumerate(result.matches.tolist()[:DRAWN]):
        if j < DRAWN:
            box = {"x0": j - 0.5, "x1": j + 0.5, "y0": i - 0.5, "y1": i + 0.5}
            fig.add_shape(type="rect", line={"color": ORANGE, "width": 2}, row=1, col=1, **box)
    font = {"tickfont": {"family": MONO, "size": 13}}
    names = kit.ticks([label(token, 14) for token in passage])
    fig.update_xaxes(side="top", tickangle=-60, ticklabeloverflow="allow", showgrid=False, **names | font, row=1, col=1)
    fig.update_yaxes(**kit.down([label(token, 14) for token in query], mono=13), row=1, col=1)
    fig.add_annotation(kit.above("the best match of each row is framed", 74, row=1))


def colours(result: LateInteraction) -> dict[int, float]:
    """Position -> shade for the strip, 0 to 1: the cosine with the best match."""
    return result.shown


def say(result: LateInteraction) -> str:
    best = sorted(range(len(result.query)), key=lambda i: -result.best[i])
    names = [
        f"{quote(result.query[i])} with {quote(result.passage[result.matches[i]])} ({decimal(float(result.best[i]))})"
        for i in best[:3]
    ]
    least = best[-1]
    worst = f"{quote(result.query[least])} ({decimal(float(result.best[least]))})"
    sentences = [
        f"The score is {decimal(result.score)}, the sum over {len(result.query)} tokens of the query. Best match "
        f"{join_names(names)}; least {worst}. Two random words have {decimal(result.chance)} at layer {result.layer}."
    ]
    if result.passages:
        rank = 1 + [passage.own for passage in result.passages].index(True)
        first = quote(clip(result.passages[0].text, 60))
        where = "the passage is first" if rank == 1 else f"the passage is number {rank}; first is {first}"
        sentences.append(f"Of {len(result.passages)} passages {where}.")
    if max(len(result.query), len(result.passage)) > DRAWN:
        sentences.append(f"The first {DRAWN} tokens of each side are drawn.")
    return " ".join([*sentences, *result.caveats, *beyond_limit(result.left_out)])
