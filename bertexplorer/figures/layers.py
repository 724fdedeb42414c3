"""Layers drawn: the best answers after each layer, the rank of the followed words, and how far it is to the answer."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertexplorer.analysis.layers import Layers
from bertexplorer.figures.style import ACCENT, GREEN, GREY, INK, ORANGE, SHADES, clip, finish, percent, quote, safe

DRAWN = 5  # answers a layer
CELL, RANKS, BITS, GAP = 40, 250, 130, 62  # pixels: a row of answers, the two panels below it, and between them
LINE = 17  # pixels between two labels
PLOT = 0.64  # share of the width that the lines take; their names stand to the right
COLOURS = (ACCENT, ORANGE, GREEN, "#cc79a7", "#b88a00", "#56b4e9", GREY, "#7a4a1d")
DASHES = ("solid", "solid", "solid", "dash", "dash", "dash", "dot", "dot")


def draw(result: Layers) -> go.Figure:
    cells = CELL * len(result.layers)
    inner = cells + RANKS + BITS + 2 * GAP
    fig = make_subplots(
        rows=3,
        cols=1,
        row_heights=[cells, RANKS, BITS],
        vertical_spacing=GAP / inner,
        subplot_titles=("", "rank of the word (1 is the first choice)", "bits"),
    )
    answers(fig, result)
    ranks(fig, result)
    bits(fig, result)
    names = layer_names(result)
    step = 1 if len(names) <= 13 else 6
    ticks = {"tickvals": list(range(0, len(names), step)), "ticktext": ["in", *names[1:]][::step], "tickangle": 0}
    for row in (2, 3):
        fig.update_xaxes(
            domain=[0, PLOT], range=[-room(result), len(names) - 1 + room(result)], **ticks, row=row, col=1
        )
    fig.update_xaxes(title={"text": "after layer", "standoff": 4, "font": {"size": 14}}, row=3, col=1)
    fig.update_annotations(x=0, xanchor="left", font={"size": 14}, selector={"xref": "paper"})
    direct_labels(fig, result)
    return finish(fig, inner + 56, margin={"l": 8, "r": 12, "t": 8, "b": 48})


def room(result: Layers) -> float:
    """Layers' worth of space beside the first and the last marker."""
    return 0.05 * len(result.layers)


def layer_names(result: Layers) -> list[str]:
    return ["input", *(str(answer.layer) for answer in result.layers[1:])]


def answers(fig: go.Figure, result: Layers) -> None:
    """A row for each layer from the input down, the first choice on the left."""
    count = min(DRAWN, len(result.layers[0].candidates))
    lines = [answer.candidates[:count] for answer in result.layers]
    letters = {1: 30, 2: 18, 3: 11, 4: 8}.get(count, 7)
    names = [name if name == "input" else f"layer {name}" for name in layer_names(result)]
    bits = [f"{a.entropy:.1f} bits of uncertainty, {a.divergence:.1f} from the final answer" for a in result.layers]
    told = [[f"{names[i]}: {safe(c.token)}<br>{bits[i]}" for c in line] for i, line in enumerate(lines)]
    shares = np.array([[c.probability for c in line] for line in lines])
    fig.add_heatmap(
        z=shares,
        x=list(range(count)),
        y=list(range(len(lines))),
        text=[[f"{safe(clip(c.token, letters))}<br>{percent(c.probability)}" for c in line] for line in lines],
        texttemplate="%{text}",
        textfont={"size": 13 if count < 4 else 12, "color": INK},
        customdata=told,
        colorscale=SHADES,
        zmin=0,
        zmax=max(0.01, float(shares.max())),
        showscale=False,
        xgap=3,
        ygap=3,
        hovertemplate="%{customdata}<extra></extra>",
        row=1,
        col=1,
    )
    ticks = {"tickvals": list(range(len(lines))), "ticktext": names}
    fig.update_yaxes(autorange="reversed", showgrid=False, **ticks, row=1, col=1)
    fig.update_xaxes(visible=False, row=1, col=1)


def ranks(fig: go.Figure, result: Layers) -> None:
    """A line for each followed word on a logarithmic axis, rank 1 on top."""
    for number, word in enumerate(result.followed):
        fig.add_scatter(
            x=list(range(len(word.ranks))),
            y=word.ranks.tolist(),
            mode="lines+markers",
            line={"color": COLOURS[number], "dash": DASHES[number], "width": 2},
            marker={"size": 7 if len(word.ranks) <= 13 else 5},
            customdata=[
                f"{safe(word.token)} {at}: rank {rank:,}, {percent(float(share))}"
                for at, rank, share in zip(layer_names(result), word.ranks.tolist(), word.probabilities, strict=True)
            ],
            hovertemplate="%{customdata}<extra></extra>",
            cliponaxis=False,
            row=2,
            col=1,
        )
    low = lowest(result)
    values = [10**power for power in range(int(low) + 1)]
    ticks = {"tickvals": values, "ticktext": [f"{value:,}" for value in values]}
    fig.update_yaxes(type="log", range=[low, -0.08], **ticks, row=2, col=1)


def lowest(result: Layers) -> float:
    """The exponent of 10 at the foot of the ranks' axis."""
    worst = max((int(word.ranks.max()) for word in result.followed), default=1)
    return max(1.0, float(np.log10(worst))) * 1.04


def bits(fig: go.Figure, result: Layers) -> None:
    """How unsure each layer's answer is, and how far from the final one."""
    lines = ((ACCENT, "solid", [a.entropy for a in result.layers]), (ORANGE, "dash", kl(result)))
    for (colour, dash, values), name in zip(lines, ("uncertainty", "to the final answer"), strict=True):
        fig.add_scatter(
            x=list(range(len(values))),
            y=values,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2},
            marker={"size": 6},
            hovertemplate=f"{name} %{{y:.2f}} bits<extra></extra>",
            cliponaxis=False,
            row=3,
            col=1,
        )
    fig.update_yaxes(range=[0, top_bits(result)], nticks=4, row=3, col=1)


def kl(result: Layers) -> list[float]:
    return [answer.divergence for answer in result.layers]


def top_bits(result: Layers) -> float:
    return max(1.0, *(answer.entropy for answer in result.layers), *kl(result)) * 1.08


def direct_labels(fig: go.Figure, result: Layers) -> None:
    """The name of each line beside its end, moved apart where the ends are close."""
    low = lowest(result)
    scale = RANKS / (low + 0.08)  # pixels for a factor of 10
    ends = [scale * (float(np.log10(max(1, word.ranks[-1]))) + 0.08) for word in result.followed]
    texts = [safe(clip(f"{w.ranks[-1]:,} {w.token}", 14)) for w in result.followed]
    write(fig, result, 2, [10 ** (p / scale - 0.08) for p in spread(ends, RANKS)], texts, COLOURS)
    last, top = result.layers[-1], top_bits(result)
    ends = [BITS * (1 - value / top) for value in (last.entropy, last.divergence)]
    texts = [f"{last.entropy:.1f} unsure", f"{last.divergence:.1f} to final"]
    write(fig, result, 3, [top * (1 - p / BITS) for p in spread(ends, BITS)], texts, (ACCENT, ORANGE))


def write(
    fig: go.Figure, result: Layers, row: int, heights: list[float], texts: list[str], colours: tuple[str, ...]
) -> None:
    """*texts* to the right of the panel in *row*, in their lines' colours (the page makes all annotations grey)."""
    fig.add_scatter(
        x=[len(result.layers) - 1 + room(result)] * len(texts),
        y=heights,
        mode="text",
        text=texts,
        textposition="middle right",
        textfont={"color": colours[: len(texts)], "size": 13},
        cliponaxis=False,
        hoverinfo="skip",
        row=row,
        col=1,
    )


def spread(ends: list[float], height: int) -> list[float]:
    """*ends* moved apart to at least LINE, in their order, none below *height* where there is room."""
    order = sorted(range(len(ends)), key=lambda i: ends[i])
    moved = list(ends)
    floor = -np.inf
    for i in order:
        moved[i] = floor = max(moved[i], floor + LINE)
    ceiling = float(height)
    for i in reversed(order):
        moved[i] = ceiling = min(moved[i], ceiling)
        ceiling -= LINE
    return moved


def say(result: Layers) -> str:
    """When the final answer becomes the first choice, and what became of the words that are followed."""
    final, first, count = result.layers[-1].candidates[0], result.layers[0], len(result.layers) - 1
    start = (
        f"is the first choice from the input on and ends at {percent(final.probability)}"
        if result.settled == 0
        else f"is the first choice for good from layer {result.settled} of {count} on and ends at "
        f"{percent(final.probability)}"
    )
    sentences = [f"{quote(final.token)} {start}; the input alone would have given {quote(first.candidates[0].token)}."]
    sentences += [
        f"{'The hidden ' if word.hidden else ''}{quote(word.token)} goes from rank {int(word.ranks[0]):,} to rank "
        f"{int(word.ranks[-1]):,}."
        for word in result.followed
        if word.id != final.id or result.settled == 0
    ][:2]
    sentences.append(
        f"The uncertainty goes from {first.entropy:.1f} to {result.layers[-1].entropy:.1f} bits, and one layer before "
        f"the end the answer is still {result.layers[-2].divergence:.1f} bits away from the final one."
    )
    if result.other_masks:
        sentences.append(f"This is the first of {result.other_masks + 1} masks.")
    return " ".join(sentences)
