"""Figure for attention flow: shares by token and layer, and the chosen layer next to its raw attention."""

import numpy as np
from jaxtyping import Float

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart, grid
from bertexplorer.charts.style import ACCENT, ORANGE, beyond_limit, clip, finish, label, percent, quote, safe
from bertexplorer.charts.tiles import ROOT
from bertexplorer.views.attention_flow.compute import AttentionFlow
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Attention",
    place=3,
    title="Rollout and flow",
    question="Where does a token come from?",
    note=(
        "Both methods follow the attention weights alone and count the token itself as half in each layer. They leave "
        "out value vectors and feed-forward blocks. After many layers all tokens look alike; the method causes that."
    ),
    papers=("Abnar and Zuidema, 2020, Quantifying Attention Flow in Transformers",),
    examples=(
        Example(
            "It was too tired",
            "The animal didn't cross the street because [MASK] was too tired.",
            options={"special": "left out", "layer": 3},
            shows='top() == "[MASK]" and raw("because") > 0.1',
        ),
        Example(
            "The keys to the cabinet",
            "The keys to the cabinet [MASK] on the table.",
            options={"special": "left out"},
            shows='share("keys") > share("table")',
        ),
        Example(
            "Through [CLS]",
            "The keys to the cabinet [MASK] on the table.",
            shows='top() == "[CLS]" and share("[CLS]") > 0.3',
        ),
        Example(
            "Flow",
            "The keys to the cabinet [MASK] on the table.",
            options={"method": "flow", "layer": 2, "special": "left out"},
            shows='top() == "[MASK]" and share("cabinet") > raw("cabinet")',
        ),
        Example(
            "Two sentences",
            "The man went to the store.",
            "He bought a gallon of [MASK].",
            options={"layer": 3, "special": "left out"},
            shows='raw("gallon") > 0.2',
        ),
    ),
    chips="pick",
)

ROW = 24  # pixels of a token
LETTERS = 11
DRAWN = 60  # tokens; more would be illegible
WORDS = {"rollout": "rollout", "flow": "flow", "raw": "raw attention"}


def draw(result: AttentionFlow) -> Chart:
    fig = grid(rows=1, cols=2, column_widths=[0.66, 0.34], horizontal_spacing=0.05)
    positions = drawn_positions(result)
    layers = len(result.shares)
    heat(fig, result, positions)
    bars(fig, result, positions)
    names = kit.ticks([label(result.tokens[i], LETTERS) for i in positions], mono=12)
    limits = [len(positions) - 0.4, -0.6]
    fig.update_yaxes(range=limits, showgrid=False, **names, row=1, col=1)
    fig.update_yaxes(range=limits, visible=False, row=1, col=2)
    ticks = kit.ticks([str(i + 1) for i in range(layers)], step=1 if layers <= 12 else 4)
    fig.update_xaxes(title={"text": "after layer"}, **ticks, row=1, col=1)
    shares, raw = result.shares[result.layer], result.raw[result.layer]
    widest = 100 * max(float(shares.max()), float(raw.max()), 1e-6)
    layer = {"title": {"text": f"layer {result.layer + 1}"}, "range": [0, widest * 1.05]}
    fig.update_xaxes(**layer, nticks=3, ticksuffix=" %", row=1, col=2)
    fig.update_xaxes(side="top", showgrid=False, title={"standoff": 4, "font": {"size": 14}})
    below = 16 + write_key(fig, result, len(positions))
    fig.presses = presses(result.special)
    height = 94 + max(180, ROW * len(positions)) + below
    return finish(fig, height, bargap=0.25, margin={"l": 8, "r": 8, "t": 62, "b": below})


def presses(special: str) -> list[dict[str, object]]:
    """The button that leaves the special tokens out, or shows them."""
    if special == "shown":
        return [{"text": "Leave out [CLS] and [SEP]", "set": {"special": "left out"}}]
    return [{"text": "Show [CLS] and [SEP]", "set": {"special": "shown"}}]


def drawn_positions(result: AttentionFlow) -> list[int]:
    """The positions to draw: all of them or, in a long text, the DRAWN strongest at any layer and those that the view
    is about."""
    most = result.shares.max(axis=0).copy()
    most[list(result.about)] = np.inf
    return sorted(np.argsort(most, kind="stable")[::-1][:DRAWN].tolist())


def heat(fig: Chart, result: AttentionFlow, positions: list[int]) -> None:
    layers = range(1, len(result.shares) + 1)
    hovers = [[f"{label(result.tokens[i], 30)}, layer {layer}" for layer in layers] for i in positions]
    shares, top = (100 * result.shares[:, positions].T).astype(np.float32), 100 * float(result.shares.max()) or 1.0
    cells = kit.cells(shares, ROOT, 0, top, hover=hovers, gap=1)
    fig.add_trace({**cells, "hovertemplate": "%{customdata}: %{z:.1f} %<extra></extra>"}, 1, 1)


def bars(fig: Chart, result: AttentionFlow, positions: list[int]) -> None:
    """The chosen layer: a bar for the method, a mark for its raw attention."""
    labels = [label(result.tokens[i], 30) for i in positions]
    common = {"row": 1, "col": 2, "y": list(range(len(positions))), "customdata": labels}
    shares, raw = 100 * result.shares[result.layer, positions], 100 * result.raw[result.layer, positions]
    tip = f"%{{customdata}}: {WORDS[result.method]} %{{x:.1f}} %<extra></extra>"
    fig.add_bar(x=shares, orientation="h", marker={"color": ACCENT}, hovertemplate=tip, **common)
    if result.method != "raw":
        mark = {"symbol": "line-ns", "size": 9, "line": {"color": ORANGE, "width": 3}}
        tip = "%{customdata}: raw attention %{x:.1f} %<extra></extra>"
        fig.add_scatter(x=raw, mode="markers", marker=mark, cliponaxis=False, hovertemplate=tip, **common)


def write_key(fig: Chart, result: AttentionFlow, count: int) -> int:
    """Write the meaning of the colours under the picture. Returns the height in pixels."""
    texts = [f"Blue: {WORDS[result.method]}, strongest {safe(percent(float(result.shares.max())))}"]
    texts += [f"Orange: raw attention of layer {result.layer + 1}"] if result.method != "raw" else []
    texts += [f"The {count} strongest of {len(result.tokens)} tokens"] if count < len(result.tokens) else []
    return kit.write_below(fig, texts, 6, 20) - 6


def say(result: AttentionFlow) -> str:
    """The main sources of the token by the method, compared with the raw attention of that layer."""
    subject = quote(clip(" ".join(result.tokens[i] for i in result.about), 40))
    at = f"After layer {result.layer + 1} of {len(result.shares)}"
    by, raw = result.shares[result.layer], result.raw[result.layer]
    looked = int(raw.argmax())
    compare = f"that layer alone looks most at {quote(result.tokens[looked])} ({percent(float(raw[looked]))})."
    if result.method == "rollout":
        sentence = f"{at}, by rollout {subject} takes {strongest(result, by, 'from')}; {compare}"
    elif result.method == "flow":
        sentence = (
            f"{at}, the maximal flow to {subject} is {strongest(result, by, 'from')}; {compare}{say_full(result)}"
        )
    else:
        sentence = f"{at}, its heads averaged: {subject} gives {strongest(result, by, 'to')}."
    few = len(drawn_positions(result))
    cut = f" The {few} strongest of {len(result.tokens)} tokens are drawn." if few < len(result.tokens) else ""
    special = ["[CLS] and [SEP] are left out."] if result.special == "left out" else []
    return " ".join([sentence + cut, *special, *beyond_limit(result.left_out)])


def strongest(result: AttentionFlow, values: Float[np.ndarray, " t"], word: str) -> str:
    """The two largest of *values*: '62 % from “[CLS]” and 8.8 % from “[SEP]”'."""
    best = np.argsort(values, kind="stable")[::-1][:2].tolist()
    return " and ".join(f"{percent(float(values[i]))} {word} {quote(result.tokens[i])}" for i in best)


def say_full(result: AttentionFlow) -> str:
    """The number of tokens with the maximal flow, which flow cannot distinguish after many layers."""
    count = int((result.shares[result.layer] >= 0.999).sum())
    return f" {count} of {len(result.tokens)} tokens could pass in full." if count > 1 else ""


def colours(result: AttentionFlow) -> dict[int, float]:
    shares = result.shares[result.layer]
    top = float(shares.max()) or 1.0
    return {position: float(share) / top for position, share in zip(result.positions, shares, strict=True)}
