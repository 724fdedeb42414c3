"""Figure for late interaction: the cosine of each token of the query with each of the passage, the best ones framed."""

from bertexplorer.charts.marks import Cells, Figure, Panel
from bertexplorer.charts.passages import RankedPassage, passages_panel
from bertexplorer.charts.style import beyond_limit, clip, decimal, join_names, quote
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
        "in the same role. ColBERT, which searches in this way, was trained for it, and is read as its files say. What "
        "random words have tells how much of a cosine is chance."
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

NUMBERED = 12  # tokens of the passage up to which cells show their numbers
DRAWN = 60  # tokens of each side


def draw(result: LateInteraction) -> Figure:
    """The table of cosines; below, the passages by their scores if there are several."""
    panels = [Panel([table(result)], "the best match of each row is framed")]
    if result.passages:
        bars = []
        for passage in result.passages:
            bars.append(RankedPassage(passage.text, passage.score, decimal(passage.score), own=passage.own))
        panels.append(passages_panel(result.first, bars))
    return Figure(panels)


def table(result: LateInteraction) -> Cells:
    """The cosine of each token of the query with each of the passage; the best match of a row is framed."""
    query = result.query[:DRAWN]
    passage = result.passage[:DRAWN]
    cosines = result.cosines[:DRAWN, :DRAWN]
    hover = []
    text = []
    for token, values in zip(query, cosines.tolist(), strict=True):
        pairs = zip(passage, values, strict=True)
        hover.append([f"{token} and {other}: {decimal(value, 3)}" for other, value in pairs])
        if len(passage) <= NUMBERED:
            text.append([decimal(value) for value in values])
    best = [(i, j) for i, j in enumerate(result.matches.tolist()[:DRAWN]) if j < DRAWN]
    return Cells(query, passage, cosines.clip(0, 1), low=0, high=1, text=text, hover=hover, tokens=True, framed=best)


def colours(result: LateInteraction) -> dict[int, float]:
    """Position -> shade for the strip, 0 to 1: the cosine with the best match."""
    return result.shown


def say(result: LateInteraction) -> str:
    # 1. The score, and the tokens that match best and least.
    best_first = sorted(range(len(result.query)), key=lambda i: -result.best[i])
    names = []
    for i in best_first[:3]:
        match = quote(result.passage[result.matches[i]])
        names.append(f"{quote(result.query[i])} with {match} ({decimal(float(result.best[i]))})")
    least = best_first[-1]
    worst = f"{quote(result.query[least])} ({decimal(float(result.best[least]))})"
    how = "mean" if result.mean else "sum"
    sentences = [
        f"The score is {decimal(result.score)}, the {how} over {len(result.query)} tokens of the query. Best match "
        f"{join_names(names)}; least {worst}."
    ]
    # 2. What chance gives.
    if result.own:
        sentences.append(f"Two random tokens of passages have {decimal(result.chance)}.")
        sentences.append(f"The vectors are made as this checkpoint's files say: {result.own}.")
    else:
        sentences.append(f"Two random words have {decimal(result.chance)} at layer {result.layer}.")
    # 3. The other passages.
    if result.passages:
        rank = 1 + [passage.own for passage in result.passages].index(True)
        first = quote(clip(result.passages[0].text, 60))
        where = "the passage is first" if rank == 1 else f"the passage is number {rank}; first is {first}"
        sentences.append(f"Of {len(result.passages)} passages {where}.")
    if max(len(result.query), len(result.passage)) > DRAWN:
        sentences.append(f"The first {DRAWN} tokens of each side are drawn.")
    return " ".join([*sentences, *result.caveats, *beyond_limit(result.left_out)])
