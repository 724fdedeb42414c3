"""Figure for decoding: the words and the order of each method; below, the probability that it claims and the real
one."""

import math

import numpy as np

from bertexplorer.charts.marks import Bar, Bars, Cells, Figure, Panel, Tick
from bertexplorer.charts.style import decimal, percent, quote
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

ORDINALS = ("1st", "2nd", "3rd", *(f"{i}th" for i in range(4, 21)))


def draw(result: Decoding) -> Figure:
    nats = "joint log-probability in nats: blue, scored in order; orange, what the method claims"
    return Figure([Panel([words(result)]), Panel([worth(result)], nats)])


def words(result: Decoding) -> Cells:
    """A row for each mask and a column for each method: the word, its step, and its probability at that step."""
    masks = [f"mask {number}" for number in range(1, len(result.positions) + 1)]
    methods = [filling.method for filling in result.fillings]
    shares = np.zeros((len(masks), len(methods)))
    text = [[""] * len(methods) for _ in masks]
    for column, filling in enumerate(result.fillings):
        for order, step in enumerate(filling.steps):
            row = result.positions.index(step.position)
            shares[row, column] = math.exp(step.log_probability)
            when = "" if filling.method == "independent" else f"{ORDINALS[order]}\n"
            text[row][column] = f"{step.token}\n{when}{percent(shares[row, column])}"
    hover = []
    for mask, line in zip(masks, text, strict=True):
        hover.append([f"{method}, {mask}: {cell}" for method, cell in zip(methods, line, strict=True)])
    return Cells(masks, methods, shares, low=0, high=1, text=text, hover=hover)


def worth(result: Decoding) -> Bars:
    """The probability of each filling scored from left to right, and the one that its method claims for it."""
    bars = []
    for filling in result.fillings:
        scored = decimal(filling.chained)
        claimed = decimal(filling.claimed)
        hover = f"{filling.method}: scored in order {scored} nats, claims {claimed} nats"
        bars.append(Bar(filling.method, filling.chained, scored, hover=hover, ticks=[Tick(filling.claimed)]))
    return Bars(bars)


def times(ratio: float) -> str:
    """A readable ratio: digits if it is small, words if it is large."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if ratio >= size:
            return f"{ratio / size:,.0f} {word}"
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}"


def say(result: Decoding) -> str:
    best = max(result.fillings, key=lambda filling: filling.chained)
    text = result.sentences[result.fillings.index(best)]
    found = f"The likeliest filling found is {quote(text)} ({best.method}, {decimal(best.chained)} nats)."
    if len(result.positions) == 1:
        return f"{found} With a single mask all four methods agree; hide a second word to tell them apart."
    alone = next(filling for filling in result.fillings if filling.method == "independent")
    worth = decimal(alone.chained)
    gap = alone.claimed - alone.chained
    if abs(gap) > 0.05:
        comparison = "less" if gap > 0 else "more"
        worth = f"{worth}: {times(math.exp(min(abs(gap), 50)))} times {comparison} likely"
    return (
        f"{found} Multiplying the independent answers claims {decimal(alone.claimed)} nats, but read in order they are "
        f"worth {worth}."
    )
