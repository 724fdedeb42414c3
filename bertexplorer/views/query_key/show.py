"""Figure for query and key: a row of products for each token, with the score that they sum to and the attention
weight."""

import numpy as np

from bertexplorer.charts.marks import Bar, Bars, Button, Cells, Figure, Panel
from bertexplorer.charts.style import (
    beyond_limit,
    clip,
    decimal,
    percent,
    quote,
)
from bertexplorer.views.query_key.compute import QueryKey, strongest
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Attention",
    place=2,
    title="Query and key",
    question="Where does an attention weight come from?",
    note=(
        "A dimension of a head means nothing by itself: rotate queries and keys together, and the products change but "
        "the weights do not. Only the sum counts, and only compared with the sums of the other tokens: the softmax "
        "ignores what they all share."
    ),
    papers=(
        "Vaswani et al., 2017, Attention Is All You Need",
        "Vig, 2019, A Multiscale Visualization of Attention in the Transformer Model",
    ),
    examples=(
        Example(
            "The keys to the cabinet",
            "The keys to the cabinet [MASK] on the table.",
            options={"layer": 5, "head": 11},
            shows='weight("keys") > 0.4',
        ),
        Example(
            "River bank",
            "She sat on the bank of the river.",
            options={"layer": 1, "head": 11},
            picked="0:15-19",
            shows='weight("river") > 0.5',
        ),
        Example(
            "It was too tired",
            "The animal didn't cross the street because it was too tired.",
            options={"layer": 6, "head": 12},
            picked="0:43-45",
            shows='weight("animal") > 0.5',
        ),
        Example(
            "Previous token",
            "The keys to the cabinet [MASK] on the table.",
            options={"layer": 1, "head": 3},
            shows='weight("cabinet") > 0.9',
        ),
        Example(
            "Resting on [CLS]",
            "The keys to the cabinet [MASK] on the table.",
            options={"layer": 6, "head": 1},
            shows='weight("[CLS]") > 0.5',
        ),
    ),
    chips="pick",
)

DRAWN = 40  # tokens
LETTERS = 12  # of a token in a button


def draw(result: QueryKey) -> Figure:
    """The query; then for each token its products with the query, its score and its weight."""
    positions = strongest(result, DRAWN)
    panels = [
        Panel([query(result)], "orange −, blue +"),
        Panel([products(result, positions)], "products, dimension by dimension", share=0.6),
        Panel([weights(result, positions)], "score → weight", beside=True, share=0.4),
    ]
    return Figure(panels, switch(result))


def switch(result: QueryKey) -> list[Button]:
    """A button that opens the head with the strongest look at another word."""
    if not result.link or result.link.head == result.head:
        return []
    layer, head = result.link.head
    source = clip(result.tokens[result.position], LETTERS)
    target = clip(result.tokens[result.link.target], LETTERS)
    text = f"Strongest: {result.link.head}, {source} → {target}"
    return [Button(text, {"set": {"layer": layer + 1, "head": head + 1}})]


def mark(result: QueryKey, position: int) -> str:
    """The mark before the token that attends."""
    return "▸ " if position == result.position else ""


def products(result: QueryKey, positions: list[int]) -> Cells:
    """Orange lowers the score, blue raises it. Tokens outside the head's window stay empty."""
    values = np.where(result.seen[positions, None], result.products[positions], np.nan)
    most = float(np.nanmax(np.abs(values))) or 1.0
    names = [mark(result, j) + result.tokens[j] for j in positions]
    hover = []
    for j in positions:
        tips = []
        for i, (q, k) in enumerate(zip(result.query.tolist(), result.keys[j].tolist(), strict=True)):
            tips.append(f"{result.tokens[j]}, dimension {i}:\n{decimal(q)} × {decimal(k)} = {decimal(q * k)}")
        hover.append(tips)
    return Cells(names, (), values.round(4), palette="strong", low=-most, high=most, hover=hover, tokens=True)


def query(result: QueryKey) -> Cells:
    """The query itself, on its own scale."""
    most = float(np.abs(result.query).max()) or 1.0
    numbers = result.query.round(4).tolist()
    hover = [f"query, dimension {i}: {decimal(q)}" for i, q in enumerate(result.query.tolist())]
    return Cells(["query"], (), [numbers], palette="strong", low=-most, high=most, hover=[hover], tokens=True)


def weights(result: QueryKey, positions: list[int]) -> Bars:
    """The weight of each token, with its score: the scaled sum of its row."""
    bars = []
    for j in positions:
        score = decimal(float(result.scores[j]))
        weight = percent(float(result.weights[j]))
        if result.seen[j]:
            total = f"{decimal(float(result.products[j].sum()))} ÷ {result.scale:.2f}{distance(result, j)}"
            hover = f"{result.tokens[j]}: {total} = {score}, weight {weight}"
            words = f"{decimal(float(result.scores[j]), 1)} → {weight}"
        else:
            hover = f"{result.tokens[j]}: outside the window of this layer"
            words = "–"
        bars.append(Bar("", float(result.weights[j]), words, hover=hover))
    return Bars(bars, high=max(0.01, float(result.weights.max())))


def distance(result: QueryKey, position: int) -> str:
    """The contribution of the distance to a score, in families with relative positions."""
    return "" if result.distance is None else f" + {decimal(float(result.distance[position]))} for the distance"


def say(result: QueryKey) -> str:
    """The token with the most attention, and how its score comes about."""
    best = int(result.weights.argmax())
    products = result.products[best]
    size = len(products)
    root = f"√{size}" if result.scale**2 < 2 * size else f"√(3 · {size})"
    token = quote(clip(result.tokens[result.position], 30))
    mean = float(result.scores[result.seen].mean())
    largest = int(np.abs(products).argmax())
    sentences = [
        f"In head {result.head}, {token} gives {percent(float(result.weights[best]))} of its attention to "
        f"{quote(clip(result.tokens[best], 30))}: {size} products sum to {decimal(float(products.sum()), 1)}, which "
        f"divided by {root}{distance(result, best)} is a score of {decimal(float(result.scores[best]), 1)}; the mean "
        f"over the tokens is {decimal(mean, 1)}.",
        f"Dimension {largest} counts most, with {decimal(float(products[largest]), 1)}.",
    ]
    if result.link and result.link.head != result.head:
        share = percent(result.link.weight)
        target = quote(clip(result.tokens[result.link.target], 30))
        sentences.append(f"Its strongest look at another word is in head {result.link.head}: {share} to {target}.")
    if not result.picked:
        sentences.append("Press a token to see its query.")
    if result.others:
        tokens = "token is" if result.others == 1 else "tokens are"
        sentences.append(f"{result.others} more picked {tokens} not shown.")
    outside = int((~result.seen).sum())
    if outside:
        sentences.append(f"{outside:,} tokens are outside the window of this layer.")
    if len(result.tokens) > DRAWN:
        sentences.append(f"Of {len(result.tokens):,} tokens, the {DRAWN} with the largest weights are drawn.")
    return " ".join([*sentences, *beyond_limit(result.left_out)])


def colours(result: QueryKey) -> dict[int, float]:
    """The attention to each position, relative to the largest."""
    return {j: float(weight / result.weights.max()) for j, weight in enumerate(result.weights)}
