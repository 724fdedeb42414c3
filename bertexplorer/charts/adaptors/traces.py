"""Chart: what plotly.js draws, as plain dicts. Plotly itself is imported only when a person asks for its Figure.

The methods have the names and the arguments of plotly's Figure, so that its documentation applies, and they check
nothing: plotly's validation takes longer than a pass of a small encoder. A test gives every chart to plotly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Part = dict[str, Any]


class Chart:
    """Traces and a layout. Rows and columns of panels count from 1, the first row at the top."""

    def __init__(self, data: Sequence[Part] = (), layout: Part | None = None) -> None:
        self.traces: list[Part] = []
        self.settings: Part = dict(layout or {})
        self.panels: dict[tuple[int, int], str] = {}  # (row, column) -> the number of its axes as plotly writes it
        for trace in data:
            self.add_trace(trace)

    # What is drawn

    def add_trace(self, trace: Part, row: int | None = None, col: int | None = None) -> None:
        """Add a trace, in a panel if *row* and *col* are given."""
        drawn = {key: part for key, part in trace.items() if part is not None}
        number = self.panels.get((row or 0, col or 0))
        if number is not None:
            drawn |= {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        self.traces.append(drawn)

    def add_scatter(self, row: Any = None, col: Any = None, **trace: Any) -> None:
        self.add_trace({"type": "scatter", **trace}, row, col)

    def add_scatter3d(self, **trace: Any) -> None:
        self.add_trace({"type": "scatter3d", **trace})

    def add_bar(self, row: Any = None, col: Any = None, **trace: Any) -> None:
        self.add_trace({"type": "bar", **trace}, row, col)

    def add_annotation(self, annotation: Part) -> None:
        self.part_list("annotations").append(annotation)

    def add_shape(self, row: Any = None, col: Any = None, **shape: Any) -> None:
        """Add a shape, in the units of a panel's axes if *row* and *col* are given."""
        number = self.panels.get((row or 0, col or 0))
        if number is not None:
            shape |= {"xref": f"x{number}", "yref": f"y{number}"}
        self.part_list("shapes").append(shape)

    def add_vline(self, x: float, row: Any = None, col: Any = None, **style: Any) -> None:
        """Add a vertical line through a whole panel."""
        self.add_vrect(x, x, row, col, type="line", **style)

    def add_vrect(self, x0: float, x1: float, row: Any = None, col: Any = None, **style: Any) -> None:
        """Add a band over the whole height of a panel."""
        number = self.panels.get((row or 0, col or 0), "")
        place = {"x0": x0, "x1": x1, "y0": 0, "y1": 1, "xref": f"x{number}", "yref": f"y{number} domain"}
        self.part_list("shapes").append({"type": "rect", **place, **style})

    def add_layout_image(self, **image: Any) -> None:
        self.part_list("images").append(image)

    def part_list(self, name: str) -> list[Part]:
        """The annotations, shapes or images: a list of the layout, made if there is none, to which callers append."""
        parts: list[Part] = self.settings.setdefault(name, [])
        return parts

    # How it is laid out

    def update_xaxes(self, patch: Any = None, row: Any = None, col: Any = None, **more: Any) -> None:
        """Change all x axes, or that of one panel."""
        self.update_axes("x", {**(patch or {}), **more}, row, col)

    def update_yaxes(self, patch: Any = None, row: Any = None, col: Any = None, **more: Any) -> None:
        """Change all y axes, or that of one panel."""
        self.update_axes("y", {**(patch or {}), **more}, row, col)

    def update_axes(self, letter: str, patch: Part, row: int | None, col: int | None) -> None:
        if isinstance(patch.get("title"), str):
            patch = {**patch, "title": {"text": patch["title"]}}
        for name in self.axis_names(letter, row, col):
            self.settings[name] = merge(self.settings.get(name, {}), patch)

    def axis_names(self, letter: str, row: int | None = None, col: int | None = None) -> list[str]:
        """The names of all x or y axes in the layout, or of those in a row, a column or a panel."""
        if row is None and col is None:
            names = [name for name in self.settings if re.fullmatch(rf"{letter}axis\d*", name)]
            return names or [f"{letter}axis"]
        names = []
        for (panel_row, panel_column), number in self.panels.items():
            if row in (None, panel_row) and col in (None, panel_column):
                names.append(f"{letter}axis{number}")
        return names

    def update_layout(self, **patch: Any) -> None:
        self.settings = merge(self.settings, patch)

    # As JSON, and as plotly's own objects

    def to_json(self) -> str:
        """The JSON that plotly.js reads. Numbers that are not finite become null, which it leaves out."""
        parts: Part = {"data": self.traces, "layout": self.settings}
        return orjson.dumps(parts, default=plain, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS).decode()

    @cached_property
    def plotly(self) -> Figure:
        """The chart as plotly's Figure, which validates it. Later changes of the chart are not in it."""
        from plotly.graph_objects import Figure

        return Figure(self.traces, self.settings)

    @property
    def data(self) -> Any:
        """The traces as objects of plotly."""
        return self.plotly.data

    @property
    def layout(self) -> Any:
        """The layout as an object of plotly."""
        return self.plotly.layout


def plain(value: Any) -> Any:
    """What orjson does not write by itself: arrays of objects, or not in one piece of memory."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no part of a chart")


def merge(old: Part, new: Mapping[str, Any]) -> Part:
    """*old* with the entries of *new*; nested dicts are merged too."""
    merged = {**old, **new}
    for key, part in new.items():
        if isinstance(part, dict) and isinstance(old.get(key), dict):
            merged[key] = merge(old[key], part)
    return merged


def spans(sizes: Sequence[float], spacing: float) -> Iterator[tuple[float, float]]:
    """(start, end) of parts one after another, from 0 to 1, *spacing* apart."""
    room = 1 - spacing * (len(sizes) - 1)
    start = 0.0
    for size in sizes:
        end = start + room * size / sum(sizes)
        yield start, min(1.0, end)
        start = end + spacing
