"""Figure for nearest pieces: a bar for each neighbour, of its cosine or, if they are ordered by it, of its dot product;
and for the cosine where all other pieces lie."""

from bertexplorer.charts.marks import Band, Bar, Bars, Figure, Mark, Panel
from bertexplorer.charts.style import decimal, quote
from bertexplorer.views.nearest_pieces.compute import NearestPieces, Neighbour
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Input",
    place=3,
    title="Nearest pieces",
    question="Which pieces have similar embeddings?",
    note=(
        "The table has one vector for each piece, whatever the sentence: river banks and money banks share one. "
        "Neighbours are often spelt alike or used in the same places; they need not mean the same: opposites are "
        "neighbours too."
    ),
    papers=("Mikolov et al., 2013, Efficient Estimation of Word Representations in Vector Space",),
    examples=(
        Example("Bank", "The doctor went to the bank.", picked="0:23-27", shows='neighbour(1) == "banks"'),
        Example("Paris", "Paris is the capital of France.", picked="0:0-5", shows="cosine(1) > typical() + 0.2"),
        Example(
            "Good and bad",
            "A good start and a bad end.",
            picked="0:2-6,0:19-22",
            shows='neighbour(2) == "bad" and neighbour(1, 2) == "good"',
        ),
        Example("A number", "She was born in 1984.", picked="0:16-20", shows='neighbour(1) == "1985"'),
        Example(
            "A piece of a word",
            "Tokenization is unbelievably hard.",
            picked="0:5-12",
            shows='neighbour(1) == "##isation"',
        ),
    ),
    chips="pick",
)


def draw(result: NearestPieces) -> Figure:
    # 1. All panels have one scale.
    is_cosine = result.order == "cosine"
    values = [measured(result, neighbour) for piece in result.found for neighbour in piece.neighbours]
    low = min(0.0, *values)
    high = max(0.0, *values)
    if is_cosine:
        low = min(low, *(piece.typical - piece.spread for piece in result.found))
        high = 1.0
    # 2. The neighbours of each piece.
    panels = []
    for piece in result.found:
        bars = []
        for neighbour in piece.neighbours:
            value = measured(result, neighbour)
            hover = f"{neighbour.token}: cosine {digits(neighbour.cosine)}, dot product {decimal(neighbour.dot)}"
            bars.append(Bar(neighbour.token, value, digits(value), hover=hover))
        marks: list[Mark] = [Bars(bars, low, high, tokens=True)]
        if is_cosine:
            others = f"all other pieces: {digits(piece.typical)} ± {piece.spread:.2f}"
            marks.append(Band(piece.typical - piece.spread, piece.typical + piece.spread, others))
        panels.append(Panel(marks, f"nearest to {quote(piece.token)}"))
    return Figure(panels)


def measured(result: NearestPieces, neighbour: Neighbour) -> float:
    """The number that the neighbours are ordered by."""
    return neighbour.cosine if result.order == "cosine" else neighbour.dot


def digits(number: float) -> str:
    """A number with two decimals, and no minus before 0."""
    return decimal(round(number, 2) + 0.0)


def say(result: NearestPieces) -> str:
    sentences = []
    for piece in result.found:
        first = piece.neighbours[0]
        nearest = digits(measured(result, first))
        more = [quote(neighbour.token) for neighbour in piece.neighbours[1:3]]
        if more:
            nearest = f"{nearest}, then {' and '.join(more)}"
        if result.order == "cosine":
            sentences.append(
                f"Before any context, the piece closest to {quote(piece.token)} is {quote(first.token)} with a cosine "
                f"of {nearest}; the other pieces of the vocabulary lie at {digits(piece.typical)} ± {piece.spread:.2f}."
            )
        else:
            sentences.append(
                f"Before any context, {quote(first.token)} has the largest dot product with {quote(piece.token)}, "
                f"{nearest}."
            )
            sentences.append(f"Their cosine is {digits(first.cosine)}; long vectors have large products.")
    if result.left_out:
        sentences.append(f"{result.left_out} more picked tokens are not shown.")
    return " ".join(sentences)
