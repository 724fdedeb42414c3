"""Figure for attention flow: shares by token and layer, and the chosen layer next to its raw attention."""

import numpy as np
from jaxtyping import Float

from bertexplorer.charts.marks import Bar, Bars, Button, Cells, Figure, Panel, StyledWords, TextLines, Tick
from bertexplorer.charts.style import beyond_limit, clip, percent, quote
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

DRAWN = 60  # tokens; more would be illegible
WORDS = {"rollout": "rollout", "flow": "flow", "raw": "raw attention"}


def draw(result: AttentionFlow) -> Figure:
    """What each layer takes from each token; beside it, the chosen layer with its raw attention."""
    positions = drawn_positions(result)
    panels = [
        Panel([heat(result, positions)], "after layer", share=0.66),
        Panel([chosen(result, positions)], f"layer {result.layer + 1}", beside=True, share=0.34),
        Panel([TextLines(key(result, len(positions)))]),
    ]
    return Figure(panels, [switch(result.special)])


def switch(special: str) -> Button:
    """The button that leaves the special tokens out, or shows them."""
    if special == "shown":
        return Button("Leave out [CLS] and [SEP]", {"set": {"special": "left out"}})
    return Button("Show [CLS] and [SEP]", {"set": {"special": "shown"}})


def drawn_positions(result: AttentionFlow) -> list[int]:
    """The positions to draw: all of them or, in a long text, the DRAWN strongest at any layer and those that the view
    is about."""
    most = result.shares.max(axis=0).copy()
    most[list(result.about)] = np.inf
    return sorted(np.argsort(most, kind="stable")[::-1][:DRAWN].tolist())


def heat(result: AttentionFlow, positions: list[int]) -> Cells:
    """What each layer takes from each token."""
    layers = [str(layer) for layer in range(1, len(result.shares) + 1)]
    tokens = [result.tokens[position] for position in positions]
    shares = result.shares[:, positions].T
    hover = []
    for token, row in zip(tokens, shares.tolist(), strict=True):
        hover.append([f"{token}, layer {layer}: {percent(share)}" for layer, share in zip(layers, row, strict=True)])
    high = float(result.shares.max()) or 1.0
    return Cells(tokens, layers, shares, palette="root", low=0, high=high, hover=hover, tokens=True)


def chosen(result: AttentionFlow, positions: list[int]) -> Bars:
    """The chosen layer: a bar for the method, a tick for its raw attention."""
    bars = []
    for position in positions:
        share = float(result.shares[result.layer, position])
        raw = float(result.raw[result.layer, position])
        hover = f"{result.tokens[position]}: {WORDS[result.method]} {percent(share)}"
        if result.method == "raw":
            bars.append(Bar("", share, hover=hover))
        else:
            bars.append(Bar("", share, hover=f"{hover}, raw attention {percent(raw)}", ticks=[Tick(raw)]))
    return Bars(bars, axis=True, unit="share")


def key(result: AttentionFlow, count: int) -> list[StyledWords]:
    """The meaning of the colours."""
    lines = [StyledWords(f"Blue: {WORDS[result.method]}, strongest {percent(float(result.shares.max()))}")]
    if result.method != "raw":
        lines.append(StyledWords(f"Orange: raw attention of layer {result.layer + 1}"))
    if count < len(result.tokens):
        lines.append(StyledWords(f"The {count} strongest of {len(result.tokens)} tokens"))
    return lines


def say(result: AttentionFlow) -> str:
    """The main sources of the token by the method, compared with the raw attention of that layer."""
    subject = quote(clip(" ".join(result.tokens[i] for i in result.about), 40))
    at = f"After layer {result.layer + 1} of {len(result.shares)}"
    shares = result.shares[result.layer]
    raw = result.raw[result.layer]
    looked = int(raw.argmax())
    alone = f"that layer alone looks most at {quote(result.tokens[looked])} ({percent(float(raw[looked]))})"
    sentences = []
    if result.method == "rollout":
        sentences.append(f"{at}, by rollout {subject} takes {strongest(result, shares, 'from')}; {alone}.")
    elif result.method == "flow":
        sentences.append(f"{at}, the maximal flow to {subject} is {strongest(result, shares, 'from')}; {alone}.")
        full = int((shares >= 0.999).sum())  # after many layers, flow cannot distinguish them
        if full > 1:
            sentences.append(f"{full} of {len(result.tokens)} tokens could pass in full.")
    else:
        sentences.append(f"{at}, its heads averaged: {subject} gives {strongest(result, shares, 'to')}.")
    drawn = len(drawn_positions(result))
    if drawn < len(result.tokens):
        sentences.append(f"The {drawn} strongest of {len(result.tokens)} tokens are drawn.")
    if result.special == "left out":
        sentences.append("[CLS] and [SEP] are left out.")
    return " ".join([*sentences, *beyond_limit(result.left_out)])


def strongest(result: AttentionFlow, values: Float[np.ndarray, " t"], word: str) -> str:
    """The two largest of *values*: '62 % from “[CLS]” and 8.8 % from “[SEP]”'."""
    best = np.argsort(values, kind="stable")[::-1][:2].tolist()
    return " and ".join(f"{percent(float(values[i]))} {word} {quote(result.tokens[i])}" for i in best)


def colours(result: AttentionFlow) -> dict[int, float]:
    """Position -> its share at the chosen layer, relative to the largest."""
    shares = result.shares[result.layer]
    top = float(shares.max()) or 1.0
    return {position: float(share) / top for position, share in zip(result.positions, shares, strict=True)}
