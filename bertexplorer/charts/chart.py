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
        self.presses: list[Part] = []  # buttons beside the figure: a "text", and what a press leads to, as a point does
        self.panels: dict[tuple[int, int], str] = {}  # (row, column) -> the number of its axes as plotly writes it
        for trace in data:
            self.add_trace(trace)

    # What is drawn

    def add_trace(self, trace: Part, row: int | None = None, col: int | None = None) -> None:
        """Add a trace, in a panel if *row* and *col* are given."""
        number = self.panels.get((row or 0, col or 0))
        axes = {} if number is None else {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        self.traces.append({**{key: part for key, part in trace.items() if part is not None}, **axes})

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
        axes = {} if number is None else {"xref": f"x{number}", "yref": f"y{number}"}
        self.part_list("shapes").append({**shape, **axes})

    def add_vline(self, x: float, row: Any = None, col: Any = None, **style: Any) -> None:
        """Add a vertical line through a whole panel."""
        self.add_vrect(x, x, row, col, type="line", **style)

    def add_vrect(self, x0: float, x1: float, row: Any = None, col: Any = None, **style: Any) -> None:
        """Add a band over the whole height of a panel."""
        number = self.panels.get((row or 0, col or 0), "")
        place = {"x0": x0, "x1": x1, "y0": 0, "y1": 1, "xref": f"x{number}", "yref": f"y{number} domain"}
        self.part_list("shapes").append({"type": "rect", **place, **style})

    def add_hline(self, y: float, row: Any = None, col: Any = None, **style: Any) -> None:
        """Add a horizontal line through a whole panel."""
        number = self.panels.get((row or 0, col or 0), "")
        place = {"x0": 0, "x1": 1, "y0": y, "y1": y, "xref": f"x{number} domain", "yref": f"y{number}"}
        self.part_list("shapes").append({"type": "line", **place, **style})

    def add_layout_image(self, **image: Any) -> None:
        self.part_list("images").append(image)

    def part_list(self, name: str) -> list[Part]:
        """The annotations, shapes or images."""
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
            return [name for name in self.settings if re.fullmatch(rf"{letter}axis\d*", name)] or [f"{letter}axis"]
        places = [place for place in self.panels if row in (None, place[0]) and col in (None, place[1])]
        return [f"{letter}axis{self.panels[place]}" for place in places]

    def update_annotations(self, **patch: Any) -> None:
        """Change all annotations that there are by now."""
        self.settings["annotations"] = [merge(part, patch) for part in self.part_list("annotations")]

    def update_layout(self, **patch: Any) -> None:
        self.settings = merge(self.settings, patch)

    # As JSON, and as plotly's own objects

    def to_json(self) -> str:
        """The JSON that plotly.js reads. Numbers that are not finite become null, which it leaves out."""
        parts: Part = {"data": self.traces, "layout": self.settings}
        if self.presses:
            parts["presses"] = self.presses
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
    nested = {k: merge(old[k], v) for k, v in new.items() if isinstance(v, dict) and isinstance(old.get(k), dict)}
    return {**old, **new, **nested}


def grid(
    rows: int,
    cols: int,
    *,
    row_heights: Sequence[float] | None = None,
    column_widths: Sequence[float] | None = None,
    vertical_spacing: float = 0.0,
    horizontal_spacing: float = 0.0,
    shared_xaxes: bool = False,
    shared_yaxes: bool = False,
    titles: Sequence[str] = (),
    specs: Sequence[Sequence[Mapping[str, int] | None]] | None = None,
) -> Chart:
    """A chart of panels. *row_heights*, *column_widths*: in any unit. The spacings are shares of the whole.
    *shared_xaxes*: only the lowest panel of a column has numbers at its x axis, and all move together; *shared_yaxes*:
    so the first of a row. *titles*: above the panels, row by row. *specs*: a panel that spans several columns is
    {"colspan": n}, and those that it covers are None."""
    chart = Chart()
    across = list(spans(column_widths or [1.0] * cols, horizontal_spacing))
    down = list(spans(row_heights or [1.0] * rows, vertical_spacing))
    count = 0
    for row in range(rows):
        for col in range(cols):
            spec = specs[row][col] if specs else {}
            if spec is None:
                continue
            number = "" if count == 0 else str(count + 1)
            chart.panels[row + 1, col + 1] = number
            x = [across[col][0], across[col + spec.get("colspan", 1) - 1][1]]
            y = [max(0.0, 1 - down[row][1]), 1 - down[row][0]]
            chart.settings[f"xaxis{number}"] = {"anchor": f"y{number}", "domain": x}
            chart.settings[f"yaxis{number}"] = {"anchor": f"x{number}", "domain": y}
            if count < len(titles) and titles[count]:
                chart.add_annotation(title_above(titles[count], x, y))
            count += 1
    if shared_xaxes:
        share_axes(chart, "x", lambda place: (rows, place[1]))
    if shared_yaxes:
        share_axes(chart, "y", lambda place: (place[0], 1))
    return chart


def spans(sizes: Sequence[float], spacing: float) -> Iterator[tuple[float, float]]:
    """(start, end) of parts one after another, from 0 to 1, *spacing* apart."""
    room, start = 1 - spacing * (len(sizes) - 1), 0.0
    for size in sizes:
        end = start + room * size / sum(sizes)
        yield start, min(1.0, end)
        start = end + spacing


def share_axes(chart: Chart, letter: str, leader_of: Any) -> None:
    """Let each axis follow that of the panel *leader_of* its place, which alone shows numbers."""
    for place in chart.panels:
        leader = chart.panels[leader_of(place)]
        if chart.panels[place] != leader:
            axis = chart.settings[f"{letter}axis{chart.panels[place]}"]
            axis |= {"matches": f"{letter}{leader}", "showticklabels": False}


def title_above(text: str, x: Sequence[float], y: Sequence[float]) -> Part:
    """The title of a panel, centred above it."""
    return {
        "text": text,
        "x": (x[0] + x[1]) / 2,
        "y": y[1],
        "xref": "paper",
        "yref": "paper",
        "xanchor": "center",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 16},
    }
