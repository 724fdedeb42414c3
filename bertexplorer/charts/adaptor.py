"""A figure of marks as a chart of plotly: for `result.figure`, for files, for notebooks, and for `?figure=plotly`.

Doors lead to places of the page, so the chart has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.marks import Bars, Cells, Figure, Histogram, Lines, Mark, Panel
from bertexplorer.charts.style import (
    ACCENT,
    GREEN,
    GREY,
    GROUPS,
    LIGHT_SIGNED,
    MONO,
    ORANGE,
    PALE,
    SHADES,
    finish,
    label,
    safe,
)

COLOURS = {"blue": ACCENT, "pale": PALE, "orange": ORANGE, "green": GREEN, "grey": GREY}
COLOURS |= dict(zip(("pink", "ochre", "sky", "brown"), GROUPS[3:], strict=True))
PALETTES = {"shades": SHADES, "signed": LIGHT_SIGNED}
# Heights in pixels: a row of bars, a row of cells with one line and with two; other marks; what is above and below them
BAR = 30
CELL = 30
TALL_CELL = 40
RANKS = 250
PLOT = 130
HISTOGRAM = 120
TITLE = 34
COLUMN_NAMES = 90
AXIS = 44
SHARE = 0.64  # of the width for lines; their names take the rest
LETTERS = 24  # of a label


def chart(figure: Figure) -> Chart:
    """The chart of plotly that shows *figure*, with panels one below the other."""
    heights = [height_of(panel) for panel in figure.panels]
    above = [room_above(panel) for panel in figure.panels]
    below = [AXIS if has_axis(panel) else 0 for panel in figure.panels]
    fig = Chart()
    total = sum(heights) + sum(above) + sum(below)
    top = 0.0
    for row, panel in enumerate(figure.panels, 1):
        start = top + above[row - 1]
        end = start + heights[row - 1]
        top = end + below[row - 1]
        number = "" if row == 1 else str(row)
        fig.panels[row, 1] = number
        fig.settings[f"xaxis{number}"] = {"anchor": f"y{number}", "domain": [0, 1]}
        fig.settings[f"yaxis{number}"] = {
            "anchor": f"x{number}",
            "domain": [max(0.0, 1 - end / total), 1 - start / total],
        }
        for mark in panel.marks:
            draw(fig, mark, row, heights[row - 1])
        if panel.title:
            shift = above[row - 1] - TITLE + 6
            fig.add_annotation(kit.above(safe(panel.title).replace("\n", "<br>"), shift, row=row))
        if panel.x:
            fig.update_xaxes(title=kit.title(panel.x), row=row, col=1)
    return finish(fig, max(300, round(total) + 16), margin={"l": 8, "r": 16, "t": 8, "b": 8}, bargap=0.28)


def height_of(panel: Panel) -> int:
    """The height of the marks of *panel* in pixels."""
    mark = panel.marks[0]
    if isinstance(mark, Bars):
        return BAR * len(mark.bars) + 16
    if isinstance(mark, Cells):
        tall = any("\n" in text for row in mark.text for text in row)
        return max(120, (TALL_CELL if tall else CELL) * len(mark.rows))
    if isinstance(mark, Lines):
        return RANKS if mark.scale == "rank" else PLOT
    return HISTOGRAM


def room_above(panel: Panel) -> int:
    """The room for the title of *panel* and the names of its columns, in pixels."""
    has_columns = isinstance(panel.marks[0], Cells) and len(panel.marks[0].columns) > 0
    lines = panel.title.count("\n") + 1 if panel.title else 0
    return (TITLE + 16 * (lines - 1) if lines else 0) + (COLUMN_NAMES if has_columns else 0)


def has_axis(panel: Panel) -> bool:
    return isinstance(panel.marks[0], Lines | Histogram)


def draw(fig: Chart, mark: Mark, row: int, height: int) -> None:
    """Draw *mark* into the panel in *row*, which is *height* pixels tall."""
    if isinstance(mark, Bars):
        draw_bars(fig, mark, row)
    elif isinstance(mark, Cells):
        draw_cells(fig, mark, row)
    elif isinstance(mark, Lines):
        draw_lines(fig, mark, row, height)
    elif isinstance(mark, Histogram):
        draw_histogram(fig, mark, row)
    else:
        fig.add_vline(x=mark.at, line={"color": COLOURS[mark.tone], "width": 3}, row=row, col=1)


def draw_bars(fig: Chart, mark: Bars, row: int) -> None:
    values = [bar.value for bar in mark.bars]
    low, high = kit.from_zero([*values, mark.low or 0.0, mark.high or 0.0])
    hovers = [hover(bar.hover or f"{bar.label} {bar.text}") for bar in mark.bars]
    texts = [safe(bar.text) for bar in mark.bars]
    fig.add_trace(kit.bars(values, [COLOURS[bar.tone] for bar in mark.bars], text=texts, hover=hovers), row, 1)
    labels = [label(bar.label, LETTERS) for bar in mark.bars]
    fig.update_yaxes(**kit.down(labels, mono=14 if mark.tokens else 0), row=row, col=1)
    fig.update_xaxes(range=[low, high], visible=False, row=row, col=1)


def draw_cells(fig: Chart, mark: Cells, row: int) -> None:
    values = np.asarray(mark.values, dtype=float)
    low, high = ends_of(mark)
    text = [[safe(words).replace("\n", "<br>") for words in line] for line in mark.text] if mark.text else None
    hovers = [[hover(words) for words in line] for line in mark.hover] if mark.hover else None
    colours = PALETTES[mark.palette]
    style = {"textfont": kit.ink(12), "gap": 2}
    fig.add_trace(kit.cells(values, colours, low, high, text=text, hover=hovers, **style), row, 1)
    font = {"tickfont": {"family": MONO, "size": 13}} if mark.tokens else {}
    names = kit.down([label(name, 14) for name in mark.rows])
    fig.update_yaxes({**names, **font}, row=row, col=1)
    if mark.columns:
        names = kit.ticks([label(name, 14) for name in mark.columns])
        angle = -60 if mark.tokens else 0
        style = {"side": "top", "tickangle": angle, "ticklabeloverflow": "allow", "showgrid": False}
        fig.update_xaxes({**style, **names, **font}, row=row, col=1)
    else:
        fig.update_xaxes(visible=False, row=row, col=1)


def ends_of(mark: Cells) -> tuple[float, float]:
    """The ends of the palette of *mark*."""
    values = np.asarray(mark.values, dtype=float)
    finite = values[np.isfinite(values)]
    low = float(finite.min()) if mark.low is None and finite.size else mark.low or 0.0
    high = float(finite.max()) if mark.high is None and finite.size else mark.high or 1.0
    return low, high


def draw_lines(fig: Chart, mark: Lines, row: int, height: int) -> None:
    count = len(mark.steps)
    style: dict[str, Any] = {"size": 7 if count <= 13 else 5, "hovertemplate": "%{hovertext}<extra></extra>"}
    for line in mark.lines:
        pairs = zip(mark.steps, line.values, strict=False)  # a line may end before the last step
        texts = line.hover or [f"{line.name}, {step}: {value:.2f}" for step, value in pairs]
        places = list(range(len(line.values)))
        colour = COLOURS[line.tone]
        values = np.asarray(line.values).tolist()
        fig.add_trace(kit.line(places, values, colour, dash=line.dash, hovertext=[*map(hover, texts)], **style), row, 1)
    ends = draw_scale(fig, mark, row)
    fig.update_xaxes(
        {**kit.layer_axis(count, SHARE), **kit.ticks(mark.steps, step=1 if count <= 13 else 6)}, row=row, col=1
    )
    name_lines(fig, mark, ends, row, height)
    if mark.chosen is not None:
        fig.add_vline(x=mark.chosen, line={"color": GREY, "width": 1}, row=row, col=1)


def draw_scale(fig: Chart, mark: Lines, row: int) -> tuple[float, float]:
    """Draw the vertical axis of lines. Returns its ends; of ranks, the exponents of 10."""
    values = [float(value) for line in mark.lines for value in line.values if np.isfinite(value)]
    if mark.scale == "rank":
        worst = max(10.0, *values, mark.high or 1.0)
        ends = (float(np.log10(worst)) * 1.04, -0.08)
        ticks = [10**power for power in range(int(ends[0]) + 1)]
        names = {"tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}
        fig.update_yaxes(type="log", range=list(ends), **names, row=row, col=1)
    else:
        low = min([0.0, *values, mark.low or 0.0])
        ends = (low, max([1.0 if mark.high is None else mark.high, *values]) * 1.08)
        fig.update_yaxes(range=list(ends), nticks=5, row=row, col=1)
    return ends


def name_lines(fig: Chart, mark: Lines, ends: tuple[float, float], row: int, height: int) -> None:
    """Write the texts next to the ends of the lines, spread apart."""
    count = len(mark.steps)
    last = [float(line.values[-1]) for line in mark.lines]
    texts = [label(line.end, LETTERS) for line in mark.lines]
    colours = [COLOURS[line.tone] for line in mark.lines]
    x = count - 1 + kit.room(count)
    if mark.scale == "rank":
        names = kit.line_names(x, [float(np.log10(max(1.0, value))) for value in last], texts, colours, ends, height)
        names["y"] = [10**place for place in names["y"]]
    else:
        names = kit.line_names(x, last, texts, colours, ends, height)
    fig.add_trace(names, row, 1)


def draw_histogram(fig: Chart, mark: Histogram, row: int) -> None:
    low = min(mark.at) if mark.low is None else mark.low
    high = max(mark.at) if mark.high is None else mark.high
    room = 0.03 * (high - low) or 1.0
    bars = {"type": "bar", "x": list(mark.at), "y": list(mark.values), "marker": {"color": COLOURS[mark.tone]}}
    fig.add_trace({**bars, "customdata": [*map(hover, mark.hover)], "hovertemplate": kit.HOVER}, row, 1)
    fig.update_yaxes(visible=False, row=row, col=1)
    fig.update_xaxes(showgrid=False, range=[low - room, high + room], row=row, col=1)


def hover(text: str) -> str:
    """What the pointer shows, with its lines."""
    return safe(text).replace("\n", "<br>")
