"""Bars as a chart of plotly."""

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import COLOURS, LETTERS, Place, hover
from bertexplorer.charts.adaptors.style import GREY, label, safe
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Bars
from bertexplorer.charts.style import clip

ROW, TALL = 30, 52  # pixels: a bar, and one with its label above it
LONG = 60  # letters of a label above a bar
FAINT = 0.45  # of a bar that counts less, and of one behind another


def height(mark: Bars) -> int:
    return (TALL if mark.above else ROW) * max(1, len(mark.bars)) + 16


def above(mark: Bars) -> int:
    return 0


def draw(fig: Chart, mark: Bars, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    values = [bar.value for bar in mark.bars]
    colours = [COLOURS[bar.tone] for bar in mark.bars]

    # 1. The bars: pale ones behind, the values with their intervals, and ticks across them.
    width = 0.3 if mark.above else 0.72
    if any(bar.behind is not None for bar in mark.bars):
        behind = kit.bars([bar.behind for bar in mark.bars], None, hoverinfo="skip", width=width)
        behind["marker"] = {"color": colours, "opacity": FAINT}
        fig.add_trace(behind, **panel)
        width /= 2
    tips = [hover(bar.hover or f"{bar.label} {bar.text}") for bar in mark.bars]
    texts = None
    if not mark.above:
        texts = [safe(bar.text) for bar in mark.bars]
    bars = kit.bars(values, colours, text=texts, hover=tips, width=width)
    if any(bar.low is not None for bar in mark.bars):
        bars["error_x"] = intervals(mark)
    if any(bar.faint for bar in mark.bars):
        bars["marker"]["opacity"] = [FAINT if bar.faint else 1.0 for bar in mark.bars]
    fig.add_trace(bars, **panel)

    ticks_x: list[float] = []
    ticks_y: list[int] = []
    tick_colours: list[str] = []
    for row, bar in enumerate(mark.bars):
        for tick in bar.ticks:
            ticks_x.append(tick.value)
            ticks_y.append(row)
            tick_colours.append(COLOURS[tick.tone])
    if ticks_x:
        symbol = {"symbol": "line-ns-open", "size": 16, "line": {"width": 2}, "color": tick_colours}
        fig.add_scatter(x=ticks_x, y=ticks_y, mode="markers", marker=symbol, hoverinfo="skip", **panel)

    # 2. The scale.
    low, high = scale_ends(mark)
    form = {"tickformat": ".0%"} if mark.unit == "share" else {}
    fig.update_xaxes(range=[low, high], visible=mark.axis, fixedrange=True, **form, **panel)

    # 3. The labels.
    if mark.above:
        words = []
        for bar in mark.bars:
            name = clip(bar.label.replace("\n", " "), LONG)
            words.append(f"{safe(name)}  {safe(bar.text)}".rstrip())
        fig.add_trace(kit.texts(low, [row - 0.38 for row in range(len(words))], words), **panel)
        fig.update_yaxes(range=[len(words) - 0.6, -0.75], **kit.HIDDEN, **panel)
    else:
        names = [label(bar.label, LETTERS) for bar in mark.bars]
        fig.update_yaxes(**kit.down(names, mono=14 if mark.tokens else 0), **panel)


def scale_ends(mark: Bars) -> tuple[float, float]:
    """The ends of the axis: 0 or further, so that bars, ticks and intervals fit, and the numbers beside the bars."""
    numbers = [mark.high or 0.0]
    for bar in mark.bars:
        numbers += [bar.value, bar.high or 0.0, *(tick.value for tick in bar.ticks)]
    lowest = mark.low or 0.0
    if mark.above or mark.axis:  # no number is beside a bar
        return min(0.0, lowest, *numbers), max(numbers) * 1.02 or 1.0
    low, high = kit.from_zero([*numbers, lowest])
    return low, high


def intervals(mark: Bars) -> dict[str, object]:
    """The intervals as plotly's error bars: how far each reaches to the right and to the left of its value, 0 where a
    bar has none."""
    right = []
    left = []
    for bar in mark.bars:
        right.append(0.0 if bar.high is None else bar.high - bar.value)
        left.append(0.0 if bar.low is None else bar.value - bar.low)
    return {"array": right, "arrayminus": left, "symmetric": False, "color": GREY, "thickness": 2, "width": 5}
