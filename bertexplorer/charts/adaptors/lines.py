"""Lines as a chart of plotly."""

from typing import Any

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.adaptors.place import COLOURS, LETTERS, Place, hover
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.marks import Line, Lines
from bertexplorer.charts.style import GREY, label, safe

TALL, RANKS = 150, 250  # pixels
SHARE = 0.64  # of the panel for the lines; their names take the rest
FEW = 13  # steps up to which points are large, and all are named


def height(mark: Lines) -> int:
    return RANKS if mark.scale == "rank" else TALL


def above(mark: Lines) -> int:
    return 0


def draw(fig: Chart, mark: Lines, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    count = len(mark.steps)
    # 1. Bands and lines.
    for line in mark.lines:
        if line.low is not None and line.high is not None:
            draw_band(fig, line, panel)
    size = 7 if count <= FEW else 5
    for line in mark.lines:
        pairs = zip(mark.steps, line.values, strict=False)  # a line may end before the last step
        texts = line.hover or [f"{line.name}, {step}: {value:.2f}" for step, value in pairs]
        style: kit.Part = {"dash": line.dash, "size": size, "hovertext": [*map(hover, texts)]}
        values = np.asarray(line.values, dtype=float).tolist()
        style["hovertemplate"] = "%{hovertext}<extra></extra>"
        fig.add_trace(kit.line(list(range(len(values))), values, COLOURS[line.tone], **style), **panel)
    # 2. Both scales.
    ends = draw_scale(fig, mark, panel)
    left, right = place.across
    domain = [left, left + SHARE * (right - left)]
    ticks = kit.ticks([safe(step) for step in mark.steps], step=1 if count <= FEW else 6)
    fig.update_xaxes({**kit.layer_axis(count, 1), **ticks, "domain": domain}, **panel)
    if mark.chosen is not None:
        fig.add_vline(mark.chosen, line={"color": GREY, "width": 1}, **panel)
    # 3. The names next to the ends of the lines.
    last = [finite[-1] if (finite := finite_values(line)) else 0.0 for line in mark.lines]
    names = [label(line.name if line.end is None else line.end, LETTERS) for line in mark.lines]
    colours = [COLOURS[line.tone] for line in mark.lines]
    x = count - 1 + kit.room(count)
    if mark.scale == "rank":
        exponents = [float(np.log10(max(1.0, value))) for value in last]
        trace = kit.line_names(x, exponents, names, colours, ends, place.height)
        trace["y"] = [10**exponent for exponent in trace["y"]]
    else:
        trace = kit.line_names(x, last, names, colours, ends, place.height)
    fig.add_trace(trace, **panel)


def draw_band(fig: Chart, line: Line, panel: dict[str, Any]) -> None:
    """The band around a line."""
    low, high = (np.asarray(edge, dtype=float).tolist() for edge in (line.low, line.high))
    steps = list(range(len(low)))
    fill = {"fill": "toself", "fillcolor": COLOURS[line.tone], "opacity": 0.18, "line": {"width": 0}}
    fig.add_scatter(x=[*steps, *steps[::-1]], y=[*high, *low[::-1]], mode="lines", hoverinfo="skip", **fill, **panel)


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
