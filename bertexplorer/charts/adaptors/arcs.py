"""Arcs as a chart of plotly: a trace for the lines of each thickness, and one for the names of each side."""

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import Place
from bertexplorer.charts.adaptors.style import ACCENT, MONO, TEXT, safe
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Arcs
from bertexplorer.charts.style import clip

ROW = 24  # pixels of a name
BINS = ((0.05, 0.8, 0.5), (0.15, 1.2, 0.65), (0.3, 2.0, 0.75), (0.6, 3.0, 0.9), (1.01, 4.5, 1.0))  # up to, px, opacity
# of the width; the lines run between them
LEFT = 0.32
RIGHT = 0.68
GAP = 0.008
LETTERS = 14


def height(mark: Arcs) -> int:
    return max(280, ROW * max(len(mark.left), len(mark.right)))


def above(mark: Arcs) -> int:
    return 0


def draw(fig: Chart, mark: Arcs, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}

    # 1. The lines, from the thinnest to the thickest.
    most = max((weight for *_, weight in mark.links), default=1.0) or 1.0
    low = 0.0
    for high, width, opacity in BINS:
        y: list[int | None] = []
        for i, j, weight in mark.links:
            if low <= weight / most < high:
                y += [i, j, None]  # None ends a line
        if y:
            line = {"color": ACCENT, "width": width}
            x = [LEFT, RIGHT, None] * (len(y) // 3)
            fig.add_scatter(x=x, y=y, mode="lines", line=line, opacity=opacity, hoverinfo="skip", **panel)
        low = high

    # 2. The names on both sides.
    left = [clip(name, LETTERS) for name in mark.left]
    colours = [ACCENT if i in mark.strong else TEXT for i in range(len(left))]
    draw_names(fig, left, LEFT - GAP, "middle left", colours, panel)
    right = [clip(name, LETTERS) for name in mark.right]
    if mark.notes:
        right = [f"{name} {note}".rstrip() for name, note in zip(right, mark.notes, strict=True)]
    draw_names(fig, right, RIGHT + GAP, "middle right", [TEXT] * len(right), panel)
    count = max(len(mark.left), len(mark.right))
    fig.update_xaxes(range=[0, 1], **kit.HIDDEN, **panel)
    fig.update_yaxes(range=[count - 0.3, -0.7], **kit.HIDDEN, **panel)


def draw_names(fig: Chart, names: list[str], x: float, side: str, colours: list[str], panel: kit.Part) -> None:
    """Draw the names of one side."""
    style = {"textposition": side, "textfont": {"family": MONO, "size": 13, "color": colours}}
    fig.add_trace(kit.texts(x, list(range(len(names))), [safe(name) for name in names], **style), **panel)
