"""Figure for decoding: the words and the order of each method; below, the probability that it claims and the real
one."""

import math

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart, grid
from bertexplorer.charts.style import ACCENT, ORANGE, SHADES, decimal, finish, label, percent, quote
from bertexplorer.views.decoding.compute import Decoding
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Fill-mask",
    place=2,
    title="Several masks",
    question="How should several masks be filled together?",
    note=(
        "Independent answers ignore each other, so their product is not the probability of the sentence. Scored in "
        "order, each word is judged given the ones before it; compare only those numbers. BERT never learned to write "
        "left to right."
    ),
    papers=("Jiang et al., 2020, X-FACTR",),
    examples=(
        Example(
            "Two words that must agree",
            "They drank a [MASK] of [MASK] every evening.",
            shows='chained("most certain first") > chained("independent")',
        ),
        Example(
            "New York",
            "She was born in [MASK] [MASK], a city in the United States.",
            shows='filled("left to right") == "new york" and filled("independent") != "new york"',
        ),
        Example(
            "A whole phrase",
            "The [MASK] [MASK] [MASK] was full of people.",
            shows='chained("beam") > chained("independent") + 3',
        ),
        Example(
            "Cause and effect",
            "It was so [MASK] that he could not [MASK].",
            shows='chained("beam") > chained("independent")',
        ),
        Example(
            "Singular or plural",
            "[MASK] of the children [MASK] happy.",
            shows='chained("left to right") > chained("independent") + 2',
        ),
    ),
)

HEADINGS = {  # short enough for a phone
    "independent": "inde-<br>pendent",
    "left to right": "left to<br>right",
    "most certain first": "most<br>certain<br>first",
}
ORDINALS = ("1st", "2nd", "3rd", *(f"{i}th" for i in range(4, 21)))


def draw(result: Decoding) -> Chart:
    methods = [HEADINGS.get(f.method, f.method) for f in result.fillings]
    masks = [f"mask {i}" for i in range(1, len(result.positions) + 1)]
    cells, below = 62 * len(masks), 220  # pixels
    fig = grid(
        rows=2,
        cols=1,
        row_heights=[cells, below],
        vertical_spacing=96 / (cells + below + 96),
        titles=("", "joint log-probability (nats)"),
    )
    words(fig, result, methods, masks)
    worth(fig, result, methods)
    return finish(fig, cells + below + 152, margin={"l": 8, "r": 16, "t": 56, "b": 8})


def words(fig: Chart, result: Decoding, methods: list[str], masks: list[str]) -> None:
    """A row for each mask and a column for each method: the word, its step, and its probability at that step."""
    shares = np.zeros((len(masks), len(methods)))
    texts = [[""] * len(methods) for _ in masks]
    for column, filling in enumerate(result.fillings):
        for order, step in enumerate(filling.steps):
            row = result.positions.index(step.position)
            shares[row, column] = math.exp(step.log_probability)
            when = "" if filling.method == "independent" else f"{ORDINALS[order]}<br>"
            texts[row][column] = f"{label(step.token, 9)}<br>{when}{percent(shares[row, column])}"
    cells = kit.cells(shares, SHADES, 0, 1, x=methods, y=masks, text=texts, textfont=kit.ink(12))
    fig.add_trace({**cells, "hovertemplate": "%{x}, %{y}: %{text}<extra></extra>"}, 1, 1)
    fig.update_xaxes(side="top", showgrid=False, tickangle=0, tickfont={"size": 12}, row=1, col=1)
    fig.update_yaxes(autorange="reversed", showgrid=False, row=1, col=1)


def worth(fig: Chart, result: Decoding, methods: list[str]) -> None:
    """The probability that each method claims for its filling, and that of the filling scored from left to right."""
    claimed, chained = [f.claimed for f in result.fillings], [f.chained for f in result.fillings]
    marks = (("claims", ORANGE, "diamond", claimed, "top"), ("scored in order", ACCENT, "circle", chained, "bottom"))
    low, high = min(claimed + chained), max(claimed + chained)
    for name, colour, symbol, values, side in marks:
        inwards = "right" if 2 * values[0] < low + high else "left"  # off the names of the methods, and of the edge
        fig.add_scatter(
            x=values,
            y=methods,
            mode="markers+text",
            marker={"color": colour, "size": 12, "symbol": symbol},
            text=[name, *[""] * (len(values) - 1)],
            textposition=f"{side} {inwards}",
            textfont={"color": colour},
            cliponaxis=False,
            hovertemplate="%{y} " + name + " %{x:.2f} nats<extra></extra>",
            row=2,
            col=1,
        )
    pad = max(0.6, (high - low) * 0.2)
    fig.update_xaxes(range=[low - pad, high + pad], row=2, col=1)
    fig.update_yaxes(range=[len(methods) - 0.4, -0.9], tickfont={"size": 12}, row=2, col=1)


def times(ratio: float) -> str:
    """A readable ratio: digits if it is small, words if it is large."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if ratio >= size:
            return f"{ratio / size:,.0f} {word}"
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}"


def say(result: Decoding) -> str:
    worth = max(result.fillings, key=lambda f: f.chained)
    alone = next(f for f in result.fillings if f.method == "independent")
    text = result.sentences[result.fillings.index(worth)]
    gap = alone.claimed - alone.chained
    trap = (
        f"Multiplying the independent answers claims {decimal(alone.claimed)} nats, but read in order they are worth "
        f"{decimal(alone.chained)}"
    )
    if abs(gap) > 0.05:
        trap += f": {times(math.exp(min(abs(gap), 50)))} times {'less' if gap > 0 else 'more'} likely"
    trap += "."
    if len(result.positions) == 1:
        trap = "With a single mask all four methods agree; hide a second word to tell them apart."
    return f"The likeliest filling found is {quote(text)} ({worth.method}, {decimal(worth.chained)} nats). {trap}"
