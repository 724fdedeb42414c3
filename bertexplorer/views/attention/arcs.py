"""Lines from the attending tokens on the left to their targets on the right; darker means more attention."""

import numpy as np
from jaxtyping import Float

from bertexplorer.charts.marks import Arcs, Panel
from bertexplorer.charts.style import percent
from bertexplorer.views.attention.compute import Attention

SHOWN = 96  # tokens in a column
LINES = 400
LEAST = 0.01  # of the largest; weaker lines would be invisible


def window(result: Attention) -> tuple[range, range]:
    """The rows and columns to draw: all of them, or SHOWN around the tokens that the view is about."""
    ranges = []
    middle = result.rows[result.about[0]].positions[0]
    for units in (result.rows, result.columns):
        at = int(np.argmin([abs(unit.positions[0] - middle) for unit in units]))
        start = int(np.clip(at - SHOWN // 2, 0, max(0, len(units) - SHOWN)))
        ranges.append(range(start, min(len(units), start + SHOWN)))
    return ranges[0], ranges[1]


def draw(result: Attention) -> list[Panel]:
    """The strongest links; of the picked tokens alone, if there are any, with what they give to each column."""
    rows, columns = window(result)
    part = result.matrix[rows.start : rows.stop, columns.start : columns.stop]
    if result.picked:
        part = part * np.isin(np.arange(rows.start, rows.stop), result.about)[:, None]
    starts, ends = strongest(part, float(part.max()) or 1.0)
    links = []
    for i, j in zip(starts.tolist(), ends.tolist(), strict=True):
        links.append((i, j, round(float(part[i, j]), 4)))
    strong = []
    notes = []
    if result.picked:
        strong = [i - rows.start for i in result.about if i in rows]
        notes = [given(result, j) for j in columns]
    left = [result.rows[i].label for i in rows]
    right = [result.columns[j].label for j in columns]
    return [Panel([Arcs(left, right, links, strong=strong, notes=notes, unit="" if result.norms else "share")])]


def given(result: Attention, column: int) -> str:
    """What the picked tokens give to one."""
    value = float(result.gives[column])
    return f"{value:.2f}" if result.norms else percent(value)


def strongest(part: Float[np.ndarray, "r c"], top: float) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of up to LINES cells, none under LEAST."""
    order = np.argsort(part, axis=None)[::-1][:LINES]
    starts, ends = np.unravel_index(order, part.shape)
    visible = part[starts, ends] >= LEAST * top
    return starts[visible], ends[visible]


def cut_note(result: Attention) -> str:
    """What is not drawn, in a sentence or two; "" if everything is."""
    rows, columns = window(result)
    sentences = []
    if len(rows) < len(result.rows) or len(columns) < len(result.columns):
        sentences.append(f"{max(len(rows), len(columns))} tokens around it are drawn.")
    part = result.matrix[rows.start : rows.stop, columns.start : columns.stop]
    visible = int((part >= LEAST * part.max()).sum())
    if not result.picked and visible > LINES:
        sentences.append(f"The {LINES} strongest lines are drawn.")
    return " ".join(sentences)
