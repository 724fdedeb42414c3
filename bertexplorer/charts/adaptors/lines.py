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
    named = [line for line in mark.lines if end_text(line)]
    left, right = place.across
    share = SHARE if named else 1
    draw_steps(fig, mark, reach, [left, left + share * (right - left)], panel)
    if mark.chosen is not None:
        fig.add_vline(mark.chosen, line={"color": GREY, "width": 1}, **panel)

    # 3. The names next to the ends of the lines.
    if named:
        x = REACH * reach
        if mark.steps:
            x = len(mark.steps) - 1 + kit.room(len(mark.steps))
        fig.add_trace(line_names(mark, named, x, ends, place.height), **panel)


def line_names(mark: Lines, named: list[Line], x: float, ends: tuple[float, float], height: int) -> kit.Part:
    """The names of the lines *named* at *x*, each as high as its line ends, where there is room. *ends*: those of the
    vertical axis, as `draw_scale` returns them; *height*: its pixels."""
    heights = []
    for line in named:
        last = (finite_values(line) or [0.0])[-1]
        if mark.scale == "rank":
            last = float(np.log10(max(1.0, last)))
        heights.append(last)
    names = [label(end_text(line), LETTERS) for line in named]
    colours = [COLOURS[line.tone] for line in named]
    trace = kit.line_names(x, heights, names, colours, ends, height)
    if mark.scale == "rank":
        trace["y"] = [10**exponent for exponent in trace["y"]]
    return trace


def end_text(line: Line) -> str:
    """The text next to the end of a line."""
    return line.name if line.end is None else line.end


def places(mark: Lines, line: Line, reach: float) -> list[float]:
    """Where the values of a line are: at its steps or its numbers. A line without these is level: it goes from 0 to
    *reach*, the largest number of all lines."""
    if mark.steps:
        return [float(step) for step in range(len(line.values))]
    if len(line.at) or not len(line.values):
        return [float(at) for at in line.at]
    return [0.0, reach]


def draw_line(fig: Chart, mark: Lines, line: Line, x: list[float], panel: dict[str, Any]) -> None:
    """Draw a line at *x*, with its points and what the pointer shows at them."""
    y = np.asarray(line.values, dtype=float).tolist()
    is_level = len(x) == 2 and len(y) == 1
    if is_level:
        y = y * 2
    tips = line.hover
    if not tips:
        steps = mark.steps or [f"{at:.3g}" for at in x]
        tips = [f"{line.name}, {step}: {value:.2f}" for step, value in zip(steps, y, strict=False)]
    style: kit.Part = {
        "dash": line.dash,
        "size": 7 if len(x) <= FEW else 5,
        "mode": MODES[line.look],
        "hovertext": [hover(tip) for tip in tips],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    if line.faint:
        style["opacity"] = 0.6
    fig.add_trace(kit.line(x, y, COLOURS[line.tone], **style), **panel)


def draw_steps(fig: Chart, mark: Lines, reach: float, domain: list[float], panel: dict[str, Any]) -> None:
    """Draw the horizontal axis over *domain*, its ends as shares of the width: the steps, or numbers up to *reach*."""
    if mark.steps:
        count = len(mark.steps)
        every = 1 if count <= FEW else 6
        axis = kit.layer_axis(count, 1)  # with room beside the outermost steps
        axis |= kit.ticks([safe(step) for step in mark.steps], step=every)
        axis["domain"] = domain
        fig.update_xaxes(axis, **panel)
        return
    form = {"tickformat": ".0%"} if mark.at_unit == "share" else {}
    fig.update_xaxes(range=[-0.02 * reach, REACH * reach], domain=domain, fixedrange=True, nticks=6, **form, **panel)


def draw_band(fig: Chart, line: Line, x: list[float], panel: dict[str, Any]) -> None:
    """The band around a line."""
    low = np.asarray(line.low, dtype=float).tolist()
    high = np.asarray(line.high, dtype=float).tolist()
    fill = {"fill": "toself", "fillcolor": COLOURS[line.tone], "opacity": 0.18, "line": {"width": 0}}
    fig.add_scatter(x=[*x, *x[::-1]], y=[*high, *low[::-1]], mode="lines", hoverinfo="skip", **fill, **panel)


def draw_scale(fig: Chart, mark: Lines, panel: dict[str, Any]) -> tuple[float, float]:
    """Draw the vertical axis. Returns its ends, from the lower to the upper one; of ranks, their exponents of 10."""
    values = [value for line in mark.lines for value in finite_values(line)]
    if mark.scale == "rank":
        worst = max(10.0, *values, mark.high or 1.0)
        ends = (float(np.log10(worst)) * 1.04, -0.08)
        ticks = [10**power for power in range(int(ends[0]) + 1)]
        names = {"tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}
        fig.update_yaxes(type="log", range=list(ends), **names, **panel)
        return ends
    low = min([0.0, *values, mark.low or 0.0])
    high = max([mark.high or 0.0, *values]) or 1.0
    ends = (low, high * 1.08)
    form = {"tickformat": ".0%"} if mark.unit == "share" else {}
    fig.update_yaxes(range=list(ends), nticks=5, **form, **panel)
    return ends


def finite_values(line: Line) -> list[float]:
    return [value for value in np.asarray(line.values, dtype=float).tolist() if np.isfinite(value)]
