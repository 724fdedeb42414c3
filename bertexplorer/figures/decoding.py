"""Decoding drawn: what each method puts where and in which order; below, what it claims against what it is worth."""

import math

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertexplorer.analysis.decoding import Decoding
from bertexplorer.figures.style import ACCENT, BLUE, MONO, ORANGE, clip, finish, percent, quote, safe

ORDINALS = ("1st", "2nd", "3rd", *(f"{i}th" for i in range(4, 21)))


def draw(result: Decoding) -> go.Figure:
    methods = [f.method for f in result.fillings]
    shares = np.zeros((len(methods), len(result.positions)))
    words = [[""] * len(result.positions) for _ in methods]
    for row, filling in enumerate(result.fillings):
        for order, step in enumerate(filling.steps, 1):
            column = result.positions.index(step.position)
            shares[row, column] = math.exp(step.log_probability)
            when = "" if filling.method == "independent" else f"{ORDINALS[order - 1]} · "
            words[row][column] = f"{safe(clip(step.token, 14))}<br>{when}{percent(shares[row, column])}"
    fig = make_subplots(
        rows=2,
        cols=1,
        row_heights=[0.62, 0.38],
        vertical_spacing=0.16,
        subplot_titles=(
            "word, when it was filled in, probability",
            "joint log-probability (nats)",
        ),
    )
    fig.add_heatmap(
        z=shares,
        x=[f"mask {i}" for i in range(1, len(result.positions) + 1)],
        y=methods,
        text=words,
        texttemplate="%{text}",
        textfont={"family": MONO, "size": 13},
        colorscale=BLUE,
        zmin=0,
        zmax=1,
        showscale=False,
        xgap=3,
        ygap=3,
        hovertemplate="%{y}, %{x}: %{text}<extra></extra>",
        row=1,
        col=1,
    )
    for name, colour, values in (
        ("claims", ORANGE, [f.claimed for f in result.fillings]),
        ("scored in order", ACCENT, [f.chained for f in result.fillings]),
    ):
        fig.add_scatter(
            x=values,
            y=methods,
            mode="markers+text",
            marker={"color": colour, "size": 12, "symbol": "circle" if colour == ACCENT else "diamond"},
            text=[name if i == 0 else "" for i in range(len(values))],
            textposition="top center",
            textfont={"color": colour},
            cliponaxis=False,
            hovertemplate="%{y} " + name + " %{x:.2f} nats<extra></extra>",
            row=2,
            col=1,
        )
    low = min(min(f.claimed, f.chained) for f in result.fillings)
    high = max(max(f.claimed, f.chained) for f in result.fillings)
    pad = max(0.6, (high - low) * 0.15)
    fig.update_xaxes(range=[low - pad, high + pad], row=2, col=1)
    fig.update_xaxes(side="bottom", row=1, col=1)
    fig.update_yaxes(autorange="reversed", showgrid=False, row=1, col=1)
    fig.update_yaxes(range=[len(methods) - 0.4, -0.9], row=2, col=1)
    return finish(fig, 560)


def say(result: Decoding) -> str:
    worth = max(result.fillings, key=lambda f: f.chained)
    alone = next(f for f in result.fillings if f.method == "independent")
    text = result.sentences[result.fillings.index(worth)]
    gap = alone.claimed - alone.chained
    trap = (
        f"Multiplying the independent answers claims {alone.claimed:.1f} nats, but read in order they are worth "
        f"{alone.chained:.1f}"
    )
    trap += (
        f": {math.exp(min(abs(gap), 50)):,.1f} times {'less' if gap > 0 else 'more'} likely."
        if abs(gap) > 0.05
        else "."
    )
    if len(result.positions) == 1:
        trap = "With a single mask all four methods agree; hide a second word to tell them apart."
    return f"The likeliest filling found is {quote(text)} ({worth.method}, {worth.chained:.1f} nats). {trap}"
