"""Columns as a chart of plotly."""

import math

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import COLOURS, Place, hover
from bertexplorer.charts.adaptors.style import ORANGE, label, safe
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Columns

TALL = 300  # pixels
LEVEL, NAMED = 8, 24  # bars whose texts fit side by side on a phone; whose labels fit


def height(mark: Columns) -> int:
    return TALL


def above(mark: Columns) -> int:
    return 0


def draw(fig: Chart, mark: Columns, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    values = [bar.value for bar in mark.bars]
    texts = None
    if len(values) <= NAMED:
        texts = [safe(bar.text) for bar in mark.bars]
    fig.add_bar(
        x=list(range(len(values))),
        y=values,
        marker={"color": [COLOURS[bar.tone] for bar in mark.bars]},
        text=texts,
        textposition="outside",
        textangle=0 if len(values) <= LEVEL else -90,
        constraintext="none",
        cliponaxis=False,
        customdata=[hover(bar.hover or f"{bar.label}: {bar.text}") for bar in mark.bars],
        hovertemplate=kit.HOVER,
        **panel,
    )
    downs = [-(bar.down or 0.0) for bar in mark.bars]
    if any(downs):
        fig.add_bar(x=list(range(len(downs))), y=downs, marker={"color": ORANGE}, hoverinfo="skip", **panel)
    labels = [label(bar.label, 16) for bar in mark.bars]
    every = max(1, math.ceil(len(values) / NAMED))
    ticks = kit.ticks(labels, step=every, mono=13 if mark.tokens else 0)
    fig.update_xaxes(showgrid=False, tickangle=-45, **ticks, **panel)
    low = min([0.0, *values, *downs, mark.low or 0.0])
    high = max([*values, mark.high or 0.0])
    fig.update_yaxes(range=[1.2 * low, 1.2 * high or 1.0], nticks=5, **panel)
