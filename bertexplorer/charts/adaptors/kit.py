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
    """A heatmap with *text* in its cells. The pointer shows *hover*."""
    base = {"type": "heatmap", "z": z, "colorscale": scale, "zmin": low, "zmax": high, "showscale": False}
    in_cells = {"text": text, "texttemplate": "%{text}", "textfont": ink(13)} if text is not None else {}
    tip = {"customdata": hover, "hovertemplate": HOVER} if hover is not None else {}
    gap = more.pop("gap", 3)
    return {**base, "xgap": gap, "ygap": gap, **in_cells, **tip, **more}


def ink(size: int) -> Part:
    """The font in a light cell."""
    return {"size": size, "color": INK}


def bars(values: Any, colour: Any, *, text: Any = None, hover: Any = None, **more: Any) -> Part:
    """Horizontal bars in rows from 0 on, with *text* to the right of their ends. The pointer shows *hover*."""
    base = {"type": "bar", "x": values, "y": list(range(len(values))), "orientation": "h", "marker": {"color": colour}}
    labels = {"text": text, "textposition": "outside", "cliponaxis": False} if text is not None else {}
    tip = {"customdata": hover, "hovertemplate": HOVER} if hover is not None else {}
    return {**base, **labels, **tip, **more}


def line(x: Any, y: Any, colour: str, *, dash: str | None = None, size: int = 6, **more: Any) -> Part:
    """A line with a marker at each point."""
    style = {"mode": "lines+markers", "line": {"color": colour, "width": 2, "dash": dash}, "marker": {"size": size}}
    return {"type": "scatter", "x": x, "y": y, **style, "cliponaxis": False, **more}


def texts(x: Any, y: Any, text: Any, *, colour: Any = TEXT, **more: Any) -> Part:
    """Text that starts at its points. A single *x* applies to all points."""
    places = {"x": [x] * len(y) if isinstance(x, int | float) else x, "y": y}
    style = {"textposition": "middle right", "textfont": {"color": colour, "size": 13}}
    return {"type": "scatter", "mode": "text", **places, "text": text, **style, "hoverinfo": "skip",
            "cliponaxis": False, **more}  # fmt: skip


def line_names(x: float, values: Sequence[float], names: Any, colours: Any, ends: tuple[float, float], height: int,
               room: int = 0) -> Part:  # fmt: skip
    """The names of lines to the right of their ends, spread apart on an axis that is *height* pixels tall."""
    low, high = ends
    positions = spread([height * (high - value) / (high - low) for value in values], height - room)
    return texts(x, [high - position / height * (high - low) for position in positions], names, colour=colours)


def spread(ends: list[float], height: int) -> list[float]:
    """Spread *ends* at least LINE apart, in their order, and within *height* if there is room."""
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
    low, high = min([0.0, *values]), max([0.0, *values])
    room = 0.27 * ((high - low) or 1.0)
    return [low - room if low < 0 else low, high + room]


def ticks(labels: Sequence[Any], *, step: int = 1, mono: int = 0) -> Part:
    """Every *step*th of *labels* at positions 0, 1, 2, …; in the font of tokens if *mono* gives its size."""
    font = {"tickfont": {"family": MONO, "size": mono}} if mono else {}
    return {"tickvals": list(range(0, len(labels), step)), "ticktext": list(labels[::step]), **font}


def down(labels: Sequence[Any], **more: Any) -> Part:
    """A y axis with *labels* from the top down."""
    return {"autorange": "reversed", "showgrid": False, **ticks(labels, **more)}


def layer_axis(count: int, share: float) -> Part:
    """An x axis from the input to the last layer, over *share* of the width. The names of lines take the rest."""
    labels = ["in", *map(str, range(1, count))]
    ends = {"domain": [0, share], "range": [-room(count), count - 1 + room(count)]}
    return {**ends, **ticks(labels, step=1 if count <= 13 else 6), "tickangle": 0}


def room(count: int) -> float:
    """The space next to the first and the last marker, in layers."""
    return 0.05 * count


def title(text: str, standoff: int = 4, size: int = 14) -> Part:
    """The title of an axis."""
    return {"text": text, "standoff": standoff, "font": {"size": size}}
