"""Cells as a chart of plotly."""

from collections import Counter

import numpy as np

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import Place, hover
from bertexplorer.charts.adaptors.style import (
    GROUPS,
    INK,
    LIGHT_SIGNED,
    MONO,
    ORANGE,
    ROOT,
    SHADES,
    SIGNED,
    label,
)
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Cells

KINDS = ("#d5dae1", *GROUPS)  # the first for -1
STEPS: list[list[float | str]] = []  # a palette without transitions: each shade from one edge to the next
for number, shade in enumerate(KINDS):
    STEPS += [[number / len(KINDS), shade], [(number + 1) / len(KINDS), shade]]
PALETTES = {"shades": SHADES, "signed": LIGHT_SIGNED, "root": ROOT, "strong": SIGNED, "groups": STEPS}
ROW, TALL = 30, 42  # pixels: a row of one line, of two
NAMES, TALLEST = 90, 1800  # pixels: the names of the columns, all rows
MOST = 60  # names that are all written; of more, plotly leaves out those without room
LETTERS = 28  # of a line of the name of a row


def height(mark: Cells) -> int:
    texts = [*mark.rows]
    for row in mark.text:
        texts += row
    has_two_lines = any("\n" in text for text in texts)
    row_height = TALL if has_two_lines else ROW
    return min(TALLEST, max(120, row_height * len(mark.rows)))


def above(mark: Cells) -> int:
    return NAMES if mark.columns else 0


def draw(fig: Chart, mark: Cells, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    letters = 14 if mark.tokens else LETTERS
    rows = [row_label(name, letters) for name in mark.rows]
    columns = [label(name.replace("\n", " "), 14) for name in mark.columns]
    many = bool(columns) and max(len(rows), len(columns)) > MOST

    # 1. The cells, with frames and crosses.
    values = np.asarray(mark.values)
    if values.dtype.kind != "f":
        values = values.astype(float)
    low, high = ends(mark, values)
    text = []
    for row in mark.text:
        text.append([hover(words) for words in row])
    more: kit.Part = {"hoverongaps": False, "textfont": kit.ink(12)}
    if mark.palette in ("root", "strong", "groups"):
        more["textfont"] = {"size": 12}  # plotly takes an ink that the cell's colour lets one read
    if mark.verb:
        form = ".1%" if mark.unit == "share" else ".3~f"
        more["hovertemplate"] = f"%{{y}} {mark.verb} %{{x}}: %{{z:{form}}}<extra></extra>"
    if many:
        more |= {"x": distinct(columns), "y": distinct(rows)}
    gap = 2 if values.shape[1] <= 100 else 0  # pixels
    trace = kit.cells(values, PALETTES[mark.palette], low, high, text=text or None, hover=tips(mark), gap=gap, **more)
    fig.add_trace(trace, **panel)
    for i, j in mark.framed:
        box = {"x0": j - 0.5, "x1": j + 0.5, "y0": i - 0.5, "y1": i + 0.5}
        fig.add_shape(type="rect", line={"color": ORANGE, "width": 2}, **box, **panel)
    if mark.crossed:
        symbol = {"symbol": "x", "size": 12, "color": INK}
        x = [j for _, j in mark.crossed]
        y = [i for i, _ in mark.crossed]
        fig.add_scatter(x=x, y=y, mode="markers", marker=symbol, hoverinfo="skip", **panel)

    # 2. The names of rows and columns.
    draw_axes(fig, mark, rows, columns, many, panel)


def draw_axes(fig: Chart, mark: Cells, rows: list[str], columns: list[str], many: bool, panel: kit.Part) -> None:
    """Write the names. *many*: too many for all of them; plotly then leaves some out."""
    font = {}
    if mark.tokens:
        font["tickfont"] = {"family": MONO, "size": 13}
    if many:
        fig.update_yaxes({"autorange": "reversed", "showgrid": False, **font}, **panel)
    else:
        fig.update_yaxes({**kit.down(rows), **font}, **panel)
    if not mark.columns:
        fig.update_xaxes(visible=False, **panel)
        return
    fit_side_by_side = max(len(name) for name in mark.columns) * len(mark.columns) < 60
    angle = 0 if fit_side_by_side else -60
    axis = {"side": "top", "tickangle": angle, "ticklabeloverflow": "allow", "showgrid": False}
    if not many:
        axis |= kit.ticks(columns)
    fig.update_xaxes({**axis, **font}, **panel)


def tips(mark: Cells) -> list[list[str]] | None:
    """What the pointer shows at each cell; None if it shows the value alone."""
    table = []
    if mark.numbers is not None:
        for numbers in np.asarray(mark.numbers, dtype=float).tolist():
            table.append([f"{number:.3f}" for number in numbers])
    else:
        for texts in mark.hover:
            table.append([hover(words) for words in texts])
    return table or None


def row_label(name: str, letters: int) -> str:
    """The lines of the name of a row, each of *letters* at most."""
    return "<br>".join(label(line, letters) for line in name.split("\n"))


def distinct(names: list[str]) -> list[str]:
    """Names that an axis can tell apart: repeated ones get spaces without width."""
    seen: Counter[str] = Counter()
    unlike = []
    for name in names:
        unlike.append(name + "\u200b" * seen[name])
        seen[name] += 1
    return unlike


def ends(mark: Cells, values: np.ndarray) -> tuple[float, float]:
    """The ends of the palette of *mark*: as given, else those of its *values*."""
    if mark.palette == "groups":
        return -1.5, len(GROUPS) - 0.5
    finite = values[np.isfinite(values)]
    low = mark.low if mark.low is not None else float(finite.min(initial=0.0))
    high = mark.high if mark.high is not None else float(finite.max(initial=low + 1e-9))
    return low, high
