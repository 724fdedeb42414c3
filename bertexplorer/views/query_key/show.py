"""Figure for query and key: a row of products for each token, with the score that they sum to and the attention
weight."""

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    ACCENT,
    MONO,
    SIGNED,
    beyond_limit,
    clip,
    decimal,
    finish,
    label,
    percent,
    quote,
    safe,
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
LINE, ABOVE = 24, 64  # pixels: a row, the space above them
LETTERS = 12  # of a token
# shares of the width; the numbers are to the right of the bars
MAP = (0, 0.6)
SCORES = (0.61, 0.75)
BARS = (0.76, 0.9)
QUERY = -1.4  # the position of the query, above the first row


def draw(result: QueryKey) -> Chart:
    positions = strongest(result, DRAWN)
    fig = Chart([products(result, positions), query(result), scores(result, positions), weights(result, positions)])
    names = [mark(result, j) + label(result.tokens[j], LETTERS) for j in positions]
    font = {"family": MONO, "size": 12}
    places = [QUERY, *range(len(positions))]
    down = {"range": [len(positions) - 0.4, QUERY - 0.6], "showgrid": False, "fixedrange": True}
    fig.update_yaxes(tickvals=places, ticktext=["query", *names], tickfont=font, **down)
    fig.update_layout(
        xaxis={
            "domain": MAP,
            "title": kit.title("dimension (orange −, blue +)"),
            "showgrid": False,
            "fixedrange": True,
        },
        xaxis2={"domain": SCORES, "range": [-1, 1], **kit.HIDDEN},
        xaxis3={"domain": BARS, "range": [0, max(0.01, float(result.weights.max()))], **kit.HIDDEN},
    )
    for x, text, anchor in (
        (MAP[0], "products", "left"),
        (sum(SCORES) / 2, "score", "center"),
        (BARS[0], "weight", "left"),
    ):
        fig.add_annotation(kit.above(text, 6, size=13) | {"x": x, "xanchor": anchor})
    if result.link and result.link.head != result.head:
        layer, head = result.link.head
        words = f"{clip(result.tokens[result.position], LETTERS)} → {clip(result.tokens[result.link.target], LETTERS)}"
        fig.presses = [
            {"text": f"Strongest: {result.link.head}, {words}", "set": {"layer": layer + 1, "head": head + 1}}
        ]
    height = ABOVE + LINE * (len(positions) + 2) + 40
    return finish(fig, max(300, height), bargap=0.25, margin={"l": 8, "r": 8, "t": 32, "b": 44})


def mark(result: QueryKey, position: int) -> str:
    """The mark before the token that attends."""
    return "▸ " if position == result.position else ""


def products(result: QueryKey, positions: list[int]) -> kit.Part:
    """Orange lowers the score, blue raises it. Tokens outside the head's window stay empty."""
    values = np.where(result.seen[positions, None], result.products[positions], np.nan)
    most = float(np.nanmax(np.abs(values))) or 1.0
    hovers = [
        [
            f"{safe(result.tokens[j])}, dimension {i}:<br>{decimal(q)} × {decimal(k)} = {decimal(q * k)}"
            for i, (q, k) in enumerate(zip(result.query.tolist(), result.keys[j].tolist(), strict=True))
        ]
        for j in positions
    ]
    table = [[None if np.isnan(v) else round(v, 4) for v in line] for line in values.tolist()]
    return kit.cells(table, SIGNED, -most, most, hover=hovers, gap=0) | {"ygap": 2}


def query(result: QueryKey) -> kit.Part:
    """The query itself, on its own scale."""
    most = float(np.abs(result.query).max()) or 1.0
    hovers = [[f"query, dimension {i}: {decimal(q)}" for i, q in enumerate(result.query.tolist())]]
    cells = kit.cells([result.query.round(4).tolist()], SIGNED, -most, most, hover=hovers, gap=0)
    return cells | {"y0": QUERY, "dy": 1, "ygap": 2}


def scores(result: QueryKey, positions: list[int]) -> kit.Part:
    """The scaled sum of each row, as a number."""
    text = [decimal(float(result.scores[j]), 1) if result.seen[j] else "–" for j in positions]
    style = {"textfont": {"family": MONO, "size": 12}, "textposition": "middle center", "xaxis": "x2"}
    return kit.texts(0, list(range(len(positions))), text, **style)


def weights(result: QueryKey, positions: list[int]) -> kit.Part:
    values = [float(result.weights[j]) for j in positions]
    hovers = [
        f"{safe(result.tokens[j])}: {decimal(float(result.products[j].sum()))} ÷ {result.scale:.2f}"
        f"{distance(result, j)} = {decimal(float(result.scores[j]))}, weight {percent(float(result.weights[j]))}"
        if result.seen[j]
        else f"{safe(result.tokens[j])}: outside the window of this layer"
        for j in positions
    ]
    text = [percent(value) if visible else "" for value, visible in zip(values, result.seen[positions], strict=True)]
    return kit.bars(values, ACCENT, text=text, hover=hovers, xaxis="x3", textfont={"size": 12})


def distance(result: QueryKey, position: int) -> str:
    """The contribution of the distance to a score, in families with relative positions."""
    return "" if result.distance is None else f" + {decimal(float(result.distance[position]))} for the distance"


def say(result: QueryKey) -> str:
    """The token with the most attention, and how its score comes about."""
    best = int(result.weights.argmax())
    row = result.products[best]
    first = int(np.abs(row).argmax())
    root = f"√{len(row)}" if result.scale**2 < 2 * len(row) else f"√(3 · {len(row)})"
    size, token = len(row), quote(clip(result.tokens[result.position], 30))
    mean = float(result.scores[result.seen].mean())
    sentences = [
        f"In head {result.head}, {token} gives {percent(float(result.weights[best]))} of its attention to "
        f"{quote(clip(result.tokens[best], 30))}: {size} products sum to {decimal(float(row.sum()), 1)}, which divided "
        f"by {root}{distance(result, best)} is a score of {decimal(float(result.scores[best]), 1)}; the mean over the "
        f"tokens is {decimal(mean, 1)}. Dimension {first} counts most, with {decimal(float(row[first]), 1)}."
    ]
    if result.link and result.link.head != result.head:
        share, target = percent(result.link.weight), quote(clip(result.tokens[result.link.target], 30))
        sentences.append(f"Its strongest look at another word is in head {result.link.head}: {share} to {target}.")
    if not result.picked:
        sentences.append("Press a token to see its query.")
    if result.others:
        sentences.append(f"{result.others} more picked token{'s are' if result.others > 1 else ' is'} not shown.")
    if hidden := int((~result.seen).sum()):
        sentences.append(f"{hidden:,} tokens are outside the window of this layer.")
    if len(result.tokens) > DRAWN:
        sentences.append(f"Of {len(result.tokens):,} tokens, the {DRAWN} with the largest weights are drawn.")
    return " ".join([*sentences, *beyond_limit(result.left_out)])


def colours(result: QueryKey) -> dict[int, float]:
    """The attention to each position, relative to the largest."""
    return {j: float(weight / result.weights.max()) for j, weight in enumerate(result.weights)}
