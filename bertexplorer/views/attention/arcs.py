"""Lines from the attending tokens on the left to their targets on the right; darker means more attention."""

import numpy as np
from jaxtyping import Float

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import ACCENT, MONO, TEXT, clip, finish, percent, safe
from bertexplorer.views.attention.compute import Attention

SHOWN = 96  # tokens in a column
LINES = 400
LEAST = 0.01  # of the largest; weaker lines would be invisible
LETTERS = 11
ROW = 24  # pixels of a token
BINS = ((0.05, 0.8, 0.5), (0.15, 1.2, 0.65), (0.3, 2.0, 0.75), (0.6, 3.0, 0.9), (1.01, 4.5, 1.0))  # up to, px, opacity
# of the width; the lines run between them
LEFT = 0.32
RIGHT = 0.68
GAP = 0.008


def window(result: Attention) -> tuple[range, range]:
    """The rows and columns to draw: all of them, or SHOWN around the tokens that the view is about."""
    ranges = []
    middle = result.rows[result.about[0]].positions[0]
    for units in (result.rows, result.columns):
        at = int(np.argmin([abs(unit.positions[0] - middle) for unit in units]))
        start = int(np.clip(at - SHOWN // 2, 0, max(0, len(units) - SHOWN)))
        ranges.append(range(start, min(len(units), start + SHOWN)))
    return ranges[0], ranges[1]


def draw(result: Attention) -> Chart:
    rows, columns = window(result)
    part = result.matrix[rows.start : rows.stop, columns.start : columns.stop]
    if result.picked:
        part = part * np.isin(np.arange(rows.start, rows.stop), result.about)[:, None]
    top = float(part.max()) or 1.0
    fig = Chart()
    starts, ends = strongest(part, top)
    low = 0.0
    for high, width, opacity in BINS:
        share = part[starts, ends] / top
        in_bin = (share >= low) & (share < high)
        low = high
        lines(fig, starts[in_bin], ends[in_bin], width, opacity)
    looking = set(result.about) if result.picked else set()
    column(fig, [(result.rows[i].label, i in looking) for i in rows], LEFT - GAP, "middle left")
    gives = result.gives[columns.start : columns.stop]
    column(
        fig,
        [(column_label(result, i, float(g)), False) for i, g in zip(columns, gives, strict=True)],
        RIGHT + GAP,
        "middle right",
    )
    count = max(len(rows), len(columns))
    fig.update_xaxes(range=[0, 1], visible=False)
    fig.update_yaxes(range=[count - 0.3, -0.7], visible=False)
    return finish(fig, max(300, 24 + ROW * count), margin={"l": 0, "r": 0, "t": 12, "b": 12}, hovermode=False)


def strongest(part: Float[np.ndarray, "r c"], top: float) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of up to LINES cells, none under LEAST."""
    order = np.argsort(part, axis=None)[::-1][:LINES]
    starts, ends = np.unravel_index(order, part.shape)
    visible = part[starts, ends] >= LEAST * top
    return starts[visible], ends[visible]


def lines(fig: Chart, starts: np.ndarray, ends: np.ndarray, width: float, opacity: float) -> None:
    """Draw all lines of the same width as one trace; None ends a line."""
    if len(starts):
        ys = [y for i, j in zip(starts.tolist(), ends.tolist(), strict=True) for y in (i, j, None)]
        line = {"color": ACCENT, "width": width}
        fig.add_scatter(x=[LEFT, RIGHT, None] * len(starts), y=ys, mode="lines", line=line, opacity=opacity)


def column(fig: Chart, names: list[tuple[str, bool]], x: float, side: str) -> None:
    font = {"family": MONO, "size": 13, "color": [ACCENT if strong else TEXT for _, strong in names]}
    style = {"textposition": side, "textfont": font, "hoverinfo": None}
    fig.add_trace(kit.texts(x, list(range(len(names))), [safe(name) for name, _ in names], **style))


def column_label(result: Attention, column: int, value: float) -> str:
    """The label of a token that receives attention, with the amount if the lines start at a picked token."""
    name = clip(result.columns[column].label, LETTERS)
    if not result.picked:
        return name
    return f"{name} {value:.2f}" if result.norms else f"{name} {percent(value)}"


def cut_note(result: Attention) -> str:
    """A sentence about what is not drawn; '' if everything is."""
    rows, columns = window(result)
    cut = len(rows) < len(result.rows) or len(columns) < len(result.columns)
    tokens = f"{max(len(rows), len(columns))} tokens around it are drawn. " if cut else ""
    part = result.matrix[rows.start : rows.stop, columns.start : columns.stop]
    many = not result.picked and int((part >= LEAST * part.max()).sum()) > LINES
    return (tokens + (f"The {LINES} strongest lines are drawn." if many else "")).strip()
