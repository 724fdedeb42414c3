"""Figure for nearest pieces: a bar for each neighbour, of its cosine or, if they are ordered by it, of its dot product;
and for the cosine where all other pieces lie."""

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import ACCENT, PALE, TEXT, decimal, finish, label, quote, safe
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

BAR, GAP = 30, 64  # px


def draw(result: NearestPieces) -> Chart:
    heights = [BAR * (len(piece.neighbours) + 1) for piece in result.found]
    fig = kit.panels(heights, GAP, [f"nearest to {quote(label(piece.token))}" for piece in result.found])
    for row, piece in enumerate(result.found, 1):
        neighbours, count = piece.neighbours, len(piece.neighbours)
        hovers = [f"{safe(n.token)}: cosine {digits(n.cosine)}, dot product {n.dot:.2f}" for n in neighbours]
        values = [measured(result, n) for n in neighbours]
        numbers = [digits(value) for value in values]
        font = {"color": TEXT, "size": 13}
        fig.add_trace(kit.bars(values, ACCENT, text=numbers, hover=hovers, width=0.6, textfont=font), row, 1)
        if result.order == "cosine":
            low, high = piece.typical - piece.spread, piece.typical + piece.spread
            fig.add_vrect(x0=low, x1=high, fillcolor=PALE, opacity=0.35, line={"width": 0}, row=row, col=1)
            band_label = f"all other pieces: {digits(piece.typical)} ± {piece.spread:.2f}"
            x = max(piece.typical, 0.0)  # text left of the axis would not be drawn
            fig.add_trace(kit.texts(x, [count], [band_label]), row, 1)
        ticks = kit.ticks([label(n.token, 16) for n in neighbours], mono=14)
        fig.update_yaxes(range=[count + 0.6, -0.6], showgrid=False, fixedrange=True, **ticks, row=row, col=1)
    values = [measured(result, n) for piece in result.found for n in piece.neighbours]
    bands = [piece.typical - piece.spread for piece in result.found] if result.order == "cosine" else []
    most = 1.0 if result.order == "cosine" else max(0.0, *values) or 1.0
    fig.update_xaxes(range=[min([0.0, *bands, *values]), 1.12 * most], **kit.HIDDEN)
    return finish(fig, max(360, kit.height_of(heights, GAP) + 50), margin={"l": 8, "r": 12, "t": 32, "b": 10})


def measured(result: NearestPieces, neighbour: Neighbour) -> float:
    """The number that the neighbours are ordered by."""
    return neighbour.cosine if result.order == "cosine" else neighbour.dot


def digits(number: float) -> str:
    return decimal(round(number, 2) + 0.0)


def say(result: NearestPieces) -> str:
    sentences = []
    for piece in result.found:
        first = piece.neighbours[0]
        more = [quote(n.token) for n in piece.neighbours[1:3]]
        then = f", then {' and '.join(more)}" if more else ""
        if result.order == "cosine":
            sentences.append(
                f"Before any context, the piece closest to {quote(piece.token)} is {quote(first.token)} with a cosine "
                f"of {digits(first.cosine)}{then}; the other pieces of the vocabulary lie at {digits(piece.typical)} ± "
                f"{piece.spread:.2f}."
            )
        else:
            sentences.append(
                f"Before any context, {quote(first.token)} has the largest dot product with {quote(piece.token)}, "
                f"{digits(first.dot)}{then}. Their cosine is {digits(first.cosine)}; long vectors have large products."
            )
    if result.left_out:
        sentences.append(f"{result.left_out} more picked tokens are not shown.")
    return " ".join(sentences)
