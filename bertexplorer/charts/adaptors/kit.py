"""Parts that figures share: cells, bars, lines and text as traces, and text around them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bertexplorer.charts.adaptors.style import INK, MONO, TEXT

Part = dict[str, Any]
HOVER = "%{customdata}<extra></extra>"
LINE = 17  # pixels between two labels
HIDDEN: Part = {"visible": False, "fixedrange": True}


def cells(z: Any, scale: Any, low: float, high: float, *, text: Any = None, hover: Any = None, **more: Any) -> Part:
    """A heatmap with *text* in its cells. The pointer shows *hover*. *more*: parts of plotly's trace, and *gap*, the
    pixels between two cells."""
    gap = more.pop("gap", 3)
    trace = {"type": "heatmap", "z": z, "colorscale": scale, "zmin": low, "zmax": high, "showscale": False}
    trace |= {"xgap": gap, "ygap": gap}
    if text is not None:
        trace |= {"text": text, "texttemplate": "%{text}", "textfont": ink(13)}
    if hover is not None:
        trace |= {"customdata": hover, "hovertemplate": HOVER}
    return trace | more


def ink(size: int) -> Part:
    """The font in a light cell."""
    return {"size": size, "color": INK}


def bars(values: Any, colour: Any, *, text: Any = None, hover: Any = None, **more: Any) -> Part:
    """Horizontal bars in rows from 0 on, with *text* to the right of their ends. The pointer shows *hover*."""
    rows = list(range(len(values)))
    trace = {"type": "bar", "x": values, "y": rows, "orientation": "h", "marker": {"color": colour}}
    if text is not None:
        trace |= {"text": text, "textposition": "outside", "cliponaxis": False}
    if hover is not None:
        trace |= {"customdata": hover, "hovertemplate": HOVER}
    return trace | more


def line(x: Any, y: Any, colour: str, *, dash: str | None = None, size: int = 6, **more: Any) -> Part:
    """A line with a marker at each point."""
    style = {"mode": "lines+markers", "line": {"color": colour, "width": 2, "dash": dash}, "marker": {"size": size}}
    return {"type": "scatter", "x": x, "y": y, **style, "cliponaxis": False, **more}


def texts(x: Any, y: Any, text: Any, *, colour: Any = TEXT, **more: Any) -> Part:
    """Text that starts at its points. A single *x* applies to all points."""
    if isinstance(x, int | float):
        x = [x] * len(y)
    trace = {
        "type": "scatter",
        "mode": "text",
        "x": x,
        "y": y,
        "text": text,
        "textposition": "middle right",
        "textfont": {"color": colour, "size": 13},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    return trace | more


def line_names(
    x: float, values: Sequence[float], names: Any, colours: Any, ends: tuple[float, float], height: int
) -> Part:
    """The names of lines to the right of their ends, which are at *x* and the last *values*. They are spread apart on
    an axis from the first to the second of *ends*, which is *height* pixels tall."""
    low, high = ends
    wanted = [height * (high - value) / (high - low) for value in values]  # pixels from the top
    y = [high - position / height * (high - low) for position in spread(wanted, height)]
    return texts(x, y, names, colour=colours)


def spread(ends: list[float], height: int) -> list[float]:
    """*ends*, in pixels from the top, at least LINE apart: moved down from the top one on, then up again to stay within
    *height*. Those that do not fit go beyond the top."""
    order = sorted(range(len(ends)), key=lambda i: round(ends[i]))  # equal ends leave the order of the lines
    moved = list(ends)
    floor = -np.inf
    for i in order:
        moved[i] = floor = max(moved[i], floor + LINE)
    ceiling = float(height)
    for i in reversed(order):
        moved[i] = ceiling = min(moved[i], ceiling)
        ceiling -= LINE
    return moved


def above(text: str, shift: float = 8, *, size: int = 14, **more: Any) -> Part:
    """An annotation above the left edge of the figure."""
    corner = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1}
    style = {"showarrow": False, "align": "left", "font": {"size": size}, "yanchor": "bottom", "yshift": shift}
    return {"text": text, **corner, **style, **more}


def from_zero(values: Sequence[float]) -> list[float]:
    """The ends of an axis of bars that start at 0, with room for their numbers."""
    low = min([0.0, *values])
    high = max([0.0, *values])
    room = 0.27 * ((high - low) or 1.0)
    if low < 0:
        low -= room
    return [low, high + room]


def ticks(labels: Sequence[Any], *, step: int = 1, mono: int = 0) -> Part:
    """Every *step*th of *labels* at positions 0, 1, 2, …; in the font of tokens if *mono* gives its size."""
    axis: Part = {"tickvals": list(range(0, len(labels), step)), "ticktext": list(labels[::step])}
    if mono:
        axis["tickfont"] = {"family": MONO, "size": mono}
    return axis


def down(labels: Sequence[Any], **more: Any) -> Part:
    """A y axis with *labels* from the top down."""
    return {"autorange": "reversed", "showgrid": False, **ticks(labels, **more)}


def layer_axis(count: int, share: float) -> Part:
    """An x axis from the input to the last layer, over *share* of the width. The names of lines take the rest."""
    labels = ["in", *(str(layer) for layer in range(1, count))]
    every = 1 if count <= 13 else 6
    ends = {"domain": [0, share], "range": [-room(count), count - 1 + room(count)]}
    return {**ends, **ticks(labels, step=every), "tickangle": 0}


def room(count: int) -> float:
    """The space next to the first and the last marker, in layers."""
    return 0.05 * count


def title(text: str, standoff: int = 4, size: int = 14) -> Part:
    """The title of an axis."""
    return {"text": text, "standoff": standoff, "font": {"size": size}}
