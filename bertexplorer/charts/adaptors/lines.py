"""Lines as a chart of plotly."""

from typing import Any

import numpy as np

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import COLOURS, LETTERS, Place, hover
from bertexplorer.charts.adaptors.style import GREY, label, safe
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Line, Lines

TALL, RANKS = 150, 250  # pixels
CURVES = 200  # of lines over numbers
SHARE = 0.64  # of the panel for the lines; their names take the rest
REACH = 1.05  # where names begin, of the axis of numbers
FEW = 13  # steps up to which points are large, and all are named
MODES = {"both": "lines+markers", "line": "lines", "points": "markers"}


def height(mark: Lines) -> int:
    if mark.scale == "rank":
        return RANKS
    return TALL if mark.steps else CURVES


def above(mark: Lines) -> int:
    return 0


def draw(fig: Chart, mark: Lines, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    reach = max((float(max(line.at)) for line in mark.lines if len(line.at)), default=0.0)
    if reach <= 0:
        reach = 1.0
    # 1. Bands and lines.
    for line in mark.lines:
        if line.low is not None and line.high is not None:
            draw_band(fig, line, places(mark, line, reach), panel)
    for line in mark.lines:
        draw_line(fig, mark, line, places(mark, line, reach), panel)
    # 2. Both scales.
    ends = draw_scale(fig, mark, panel)
    named = [line for line in mark.lines if (line.name if line.end is None else line.end)]
    left, right = place.across
    draw_steps(fig, mark, reach, [left, left + (SHARE if named else 1) * (right - left)], panel)
    if mark.chosen is not None:
        fig.add_vline(mark.chosen, line={"color": GREY, "width": 1}, **panel)
    # 3. The names next to the ends of the lines.
    if not named:
        return
    heights = []
    for line in named:
        last = (finite_values(line) or [0.0])[-1]
        heights.append(float(np.log10(max(1.0, last))) if mark.scale == "rank" else last)
    names = [label(line.name if line.end is None else line.end, LETTERS) for line in named]
    colours = [COLOURS[line.tone] for line in named]
    x = len(mark.steps) - 1 + kit.room(len(mark.steps)) if mark.steps else REACH * reach
    trace = kit.line_names(x, heights, names, colours, ends, place.height)
    if mark.scale == "rank":
        trace["y"] = [10**exponent for exponent in trace["y"]]
    fig.add_trace(trace, **panel)


def places(mark: Lines, line: Line, reach: float) -> list[float]:
    """Where the values of a line are: at its steps or its numbers; a line without these is level."""
    if mark.steps:
        return [float(step) for step in range(len(line.values))]
    if len(line.at) or not len(line.values):
        return [float(at) for at in line.at]
    return [0.0, reach]


def draw_line(fig: Chart, mark: Lines, line: Line, x: list[float], panel: dict[str, Any]) -> None:
    values = np.asarray(line.values, dtype=float).tolist()
    y = values * 2 if len(x) == 2 and len(values) == 1 else values  # level
    steps = mark.steps or [f"{at:.3g}" for at in x]
    texts = line.hover or [f"{line.name}, {step}: {value:.2f}" for step, value in zip(steps, y, strict=False)]
    style: kit.Part = {"dash": line.dash, "size": 7 if len(x) <= FEW else 5, "mode": MODES[line.look]}
    style |= {"hovertext": [*map(hover, texts)], "hovertemplate": "%{hovertext}<extra></extra>"}
    if line.faint:
        style["opacity"] = 0.6
    fig.add_trace(kit.line(x, y, COLOURS[line.tone], **style), **panel)


def draw_steps(fig: Chart, mark: Lines, reach: float, domain: list[float], panel: dict[str, Any]) -> None:
    """Draw the horizontal axis."""
    count = len(mark.steps)
    if mark.steps:
        ticks = kit.ticks([safe(step) for step in mark.steps], step=1 if count <= FEW else 6)
        fig.update_xaxes({**kit.layer_axis(count, 1), **ticks, "domain": domain}, **panel)
        return
    form = {"tickformat": ".0%"} if mark.at_unit == "share" else {}
    fig.update_xaxes(range=[-0.02 * reach, REACH * reach], domain=domain, fixedrange=True, nticks=6, **form, **panel)


def draw_band(fig: Chart, line: Line, x: list[float], panel: dict[str, Any]) -> None:
    """The band around a line."""
    low, high = (np.asarray(edge, dtype=float).tolist() for edge in (line.low, line.high))
    fill = {"fill": "toself", "fillcolor": COLOURS[line.tone], "opacity": 0.18, "line": {"width": 0}}
    fig.add_scatter(x=[*x, *x[::-1]], y=[*high, *low[::-1]], mode="lines", hoverinfo="skip", **fill, **panel)


def draw_scale(fig: Chart, mark: Lines, panel: dict[str, Any]) -> tuple[float, float]:
    """Draw the vertical axis. Returns its ends; of ranks, the exponents of 10."""
    values = [value for line in mark.lines for value in finite_values(line)]
    if mark.scale == "rank":
        worst = max(10.0, *values, mark.high or 1.0)
        ends = (float(np.log10(worst)) * 1.04, -0.08)
        ticks = [10**power for power in range(int(ends[0]) + 1)]
        names = {"tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}
        fig.update_yaxes(type="log", range=list(ends), **names, **panel)
        return ends
    low = min([0.0, *values, mark.low or 0.0])
    ends = (low, (max([mark.high or 0.0, *values]) or 1.0) * 1.08)
    form = {"tickformat": ".0%"} if mark.unit == "share" else {}
    fig.update_yaxes(range=list(ends), nticks=5, **form, **panel)
    return ends


def finite_values(line: Line) -> list[float]:
    return [value for value in np.asarray(line.values, dtype=float).tolist() if np.isfinite(value)]
