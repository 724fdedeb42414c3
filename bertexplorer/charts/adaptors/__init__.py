"""A figure of marks as a chart of plotly: for `result.figure`, for files, for notebooks, and for `?figure=plotly`.

Doors lead to places of the page, so the chart has none. Each kind of mark has a module with `height`, `above`, the room
for the names of its columns, and `draw`."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

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
    rows = panel_rows(figure.panels)
    total = sum(row.above + row.height + row.below for row in rows)
    fig = Chart()
    start = 0.0  # pixels from the top
    for number, row in enumerate(rows, 1):
        start += row.above
        end = start + row.height
        down = [max(0.0, 1 - end / total), 1 - start / total]  # plotly counts from the bottom
        places = ends_of([panel.share for panel in row.panels], APART)
        for column, (panel, across) in enumerate(zip(row.panels, places, strict=True), 1):
            axis = str(len(fig.panels) + 1) if fig.panels else ""  # x, x2, x3, …
            fig.panels[number, column] = axis
            fig.settings[f"xaxis{axis}"] = {"anchor": f"y{axis}", "domain": list(across)}
            fig.settings[f"yaxis{axis}"] = {"anchor": f"x{axis}", "domain": down}
            draw(fig, panel, Place(number, column, row.height, across, axis))
        start = end + row.below
    height = max(300, round(total) + 16)
    return finish(fig, height, margin={"l": 8, "r": 16, "t": 8, "b": 8}, bargap=0.28, barmode="overlay")


class PanelRow(NamedTuple):
    """Panels side by side, the pixels of their marks, and those above and below them."""

    panels: list[Panel]
    above: int
    height: int
    below: int


def panel_rows(panels: Sequence[Panel]) -> list[PanelRow]:
    """The panels row by row: one that is beside the former stands in its row."""
    panels_by_row: list[list[Panel]] = []
    for panel in panels:
        if panel.beside and panels_by_row:
            panels_by_row[-1].append(panel)
        else:
            panels_by_row.append([panel])
    rows = []
    for row in panels_by_row:
        height = max(module(panel).height(panel.marks[0]) for panel in row)
        below = AXIS if any(has_axis(panel) for panel in row) else GAP
        rows.append(PanelRow(row, max(above(panel) for panel in row), height, below))
    return rows


def module(panel: Panel) -> ModuleType:
    """The module of the panel's main mark."""
    return KINDS[panel.marks[0].kind]


def above(panel: Panel) -> int:
    """The room above the marks, in pixels: for the title and the names of columns."""
    names = module(panel).above(panel.marks[0])
    lines = len(heading(panel))
    if not lines:
        return names
    return TITLE * lines + names + 8


def heading(panel: Panel) -> list[str]:
    """The lines above the marks: the title, and the key."""
    lines = []
    if panel.title:
        lines += safe(panel.title).split("\n")
    for mark in panel.marks[1:]:
        if isinstance(mark, TextLines):
            lines += text.written(mark)
    return lines


def has_axis(panel: Panel) -> bool:
    """Whether numbers or names stand below the panel."""
    mark = panel.marks[0]
    return bool(panel.x) or mark.kind in ("columns", "histogram", "lines") or getattr(mark, "axis", False)


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
    title = "<br>".join(heading(panel))
    if title:
        shift = 6 + module(panel).above(mark)
        fig.add_annotation(kit.above(title, shift, x=place.across[0], yref=f"y{place.axis} domain"))
    if panel.y:
        fig.update_yaxes(title=kit.title(safe(panel.y)), row=place.row, col=place.column)
    if panel.x:
        fig.update_xaxes(title=kit.title(safe(panel.x)), row=place.row, col=place.column)
