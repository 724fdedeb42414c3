"""Left context drawn: the two lists of answers, and under each who may look at whom."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertexplorer.analysis.fill_mask import Blank
from bertexplorer.analysis.left_context import LeftContext
from bertexplorer.figures.style import ACCENT, MONO, clip, finish, percent, quote, safe

SHOWN = 32  # tokens of the masks that are drawn with their names
DRAWN = 128  # tokens of the masks that are drawn at all


def draw(result: LeftContext) -> go.Figure:
    fig = make_subplots(
        rows=2,
        cols=2,
        row_heights=[0.52, 0.48],
        vertical_spacing=0.14,
        horizontal_spacing=0.16,
        subplot_titles=("both sides", "left side only", "who may look at whom", ""),
    )
    widest = max(c.probability for c in (*result.both.candidates, *result.left.candidates))
    for column, blank, seen in ((1, result.both, result.sees_both), (2, result.left, result.sees_left)):
        answers(fig, blank, column, widest)
        matrix(fig, result, seen, column)
    return finish(fig, 620, bargap=0.28)


def answers(fig: go.Figure, blank: Blank, column: int, widest: float) -> None:
    fig.add_bar(
        x=[c.probability for c in blank.candidates],
        y=list(range(len(blank.candidates))),
        orientation="h",
        marker={"color": ACCENT},
        text=[percent(c.probability) for c in blank.candidates],
        textposition="outside",
        cliponaxis=False,
        customdata=[safe(c.token) for c in blank.candidates],
        hovertemplate="%{customdata} %{text}<extra></extra>",
        row=1,
        col=column,
    )
    labels = [safe(clip(c.token, 14)) for c in blank.candidates]
    ticks = {"tickvals": list(range(len(labels))), "ticktext": labels, "tickfont": {"family": MONO, "size": 13}}
    fig.update_yaxes(autorange="reversed", showgrid=False, **ticks, row=1, col=column)
    fig.update_xaxes(range=[0, widest * 1.5], visible=False, row=1, col=column)


def matrix(fig: go.Figure, result: LeftContext, seen: np.ndarray, column: int) -> None:
    labels = [safe(clip(t, 10)) for t in result.tokens[:DRAWN]]
    fig.add_heatmap(
        z=seen[:DRAWN, :DRAWN].astype(np.uint8),
        colorscale=[[0, "rgba(138,148,163,0.18)"], [1, ACCENT]],
        zmin=0,
        zmax=1,
        showscale=False,
        xgap=int(len(labels) <= SHOWN),
        ygap=int(len(labels) <= SHOWN),
        hovertemplate="%{y} looks at %{x}: %{z}<extra></extra>",
        row=2,
        col=column,
    )
    places = list(range(len(labels)))
    ticks = {"tickvals": places, "ticktext": labels, "tickfont": {"family": MONO, "size": 11}, "showgrid": False}
    named = column == 1 and len(labels) <= SHOWN
    fig.update_yaxes(autorange="reversed", showticklabels=named, **ticks, row=2, col=column)
    fig.update_xaxes(showticklabels=len(labels) <= SHOWN, tickangle=-90, **ticks, row=2, col=column)


def say(result: LeftContext) -> str:
    both, left = result.both.candidates[0], result.left.candidates[0]
    notes = ""
    if result.window:
        notes += f" In most layers of this checkpoint a token sees only the {result.window} nearest on each side."
    if len(result.tokens) > DRAWN:
        notes += f" The first {DRAWN} of {len(result.tokens)} tokens are drawn."
    return (
        f"With both sides in view it would put {quote(both.token)} ({percent(both.probability)}); with the right side "
        f"hidden, {quote(left.token)} ({percent(left.probability)}). Its uncertainty goes from "
        f"{result.both.entropy:.1f} to {result.left.entropy:.1f} bits.{notes}"
    )
