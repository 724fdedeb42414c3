"""A figure of marks as a chart of plotly: for `result.figure`, for files, for notebooks, and for `?figure=plotly`.

Doors lead to places of the page, so the chart has none. Each kind of mark has a module with `height`, `above`, the room
for the names of its columns, and `draw`."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from bertexplorer.charts.adaptors import (
    arcs,
    bars,
    cells,
    columns,
    histogram,
    kit,
    lines,
    points,
    spans,
    text,
    tiles,
    tokens,
)
from bertexplorer.charts.adaptors.place import COLOURS, Place
from bertexplorer.charts.adaptors.style import finish, safe
from bertexplorer.charts.adaptors.traces import Chart, spans as ends_of
from bertexplorer.charts.marks import Band, Figure, Panel, Points, Rule, TextLines

KINDS: dict[str, ModuleType] = {
    "arcs": arcs,
    "bars": bars,
    "cells": cells,
    "columns": columns,
    "histogram": histogram,
    "lines": lines,
    "points": points,
    "spans": spans,
    "text": text,
    "tiles": tiles,
    "tokens": tokens,
}
# pixels: a line of a title, an axis, between two panels
TITLE = 22
AXIS = 44
GAP = 16
APART = 0.06  # of the width, between two panels side by side


def chart(figure: Figure) -> Chart:
    """The chart of plotly that shows *figure*."""
    rows = panels_by_row(figure.panels)
    tops = [max(above(panel) for panel in row) for row in rows]
    heights = [max(module(panel).height(panel.marks[0]) for panel in row) for row in rows]
    below = [AXIS if any(has_axis(panel) for panel in row) else GAP for row in rows]
    total = sum(tops) + sum(heights) + sum(below)

    fig = Chart()
    start = 0.0
    for number, row in enumerate(rows, 1):
        start += tops[number - 1]
        end = start + heights[number - 1]
        places = ends_of([panel.share for panel in row], APART)
        for column, (panel, across) in enumerate(zip(row, places, strict=True), 1):
            axis = "" if not fig.panels else str(len(fig.panels) + 1)
            fig.panels[number, column] = axis
            fig.settings[f"xaxis{axis}"] = {"anchor": f"y{axis}", "domain": list(across)}
            fig.settings[f"yaxis{axis}"] = {
                "anchor": f"x{axis}",
                "domain": [max(0.0, 1 - end / total), 1 - start / total],
            }
            draw(fig, panel, Place(number, column, heights[number - 1], across, axis))
        start = end + below[number - 1]
    return finish(
        fig, max(300, round(total) + 16), margin={"l": 8, "r": 16, "t": 8, "b": 8}, bargap=0.28, barmode="overlay"
    )


def panels_by_row(panels: Sequence[Panel]) -> list[list[Panel]]:
    """The panels row by row: one that is beside the former stands in its row."""
    rows: list[list[Panel]] = []
    for panel in panels:
        if panel.beside and rows:
            rows[-1].append(panel)
        else:
            rows.append([panel])
    return rows


def module(panel: Panel) -> ModuleType:
    """The module of the panel's main mark."""
    return KINDS[panel.marks[0].kind]


def above(panel: Panel) -> int:
    """The room above the marks, in pixels: for the title and the names of columns."""
    lines = len(heading(panel))
    return TITLE * lines + module(panel).above(panel.marks[0]) + (8 if lines else 0)


def heading(panel: Panel) -> list[str]:
    """The lines above the marks: the title, and the key."""
    keys = [mark for mark in panel.marks[1:] if isinstance(mark, TextLines)]
    title = safe(panel.title).split("\n") if panel.title else []
    return [*title, *(line for key in keys for line in text.written(key))]


def has_axis(panel: Panel) -> bool:
    return (
        bool(panel.x)
        or panel.marks[0].kind in ("columns", "histogram", "lines")
        or getattr(panel.marks[0], "axis", False)
    )


def draw(fig: Chart, panel: Panel, place: Place) -> None:
    """Draw the marks of *panel*, and its title."""
    mark = panel.marks[0]
    module(panel).draw(fig, mark, place)
    for other in panel.marks[1:]:
        if isinstance(other, Points):
            points.draw(fig, other, place)
        elif isinstance(other, Rule):
            line = {"color": COLOURS[other.tone], "width": 2, "dash": other.dash}
            fig.add_vline(other.at, line=line, row=place.row, col=place.column)
        elif isinstance(other, Band):
            style = {"fillcolor": COLOURS["pale"], "opacity": 0.35, "line": {"width": 0}}
            fig.add_vrect(other.low, other.high, row=place.row, col=place.column, **style)
    if title := "<br>".join(heading(panel)):
        y = {"yref": f"y{place.axis} domain", "x": place.across[0]}
        fig.add_annotation({**kit.above(title, 6 + module(panel).above(mark)), **y})
    if panel.y:
        fig.update_yaxes(title=kit.title(safe(panel.y)), row=place.row, col=place.column)
    if panel.x:
        fig.update_xaxes(title=kit.title(safe(panel.x)), row=place.row, col=place.column)
