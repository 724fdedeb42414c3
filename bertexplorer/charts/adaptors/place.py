"""Where a mark is drawn, and in which colours."""

from typing import NamedTuple

from bertexplorer.charts.adaptors.style import ACCENT, GREEN, GREY, GROUPS, ORANGE, PALE, safe

COLOURS = {"blue": ACCENT, "pale": PALE, "orange": ORANGE, "green": GREEN, "grey": GREY}
COLOURS |= dict(zip(("pink", "ochre", "sky", "brown"), GROUPS[3:], strict=True))
LETTERS = 24  # of a label


class Place(NamedTuple):
    """A panel: its row and column from 1 on, its height in pixels, its ends across as shares of the width, and the
    number of its axes as plotly writes it."""

    row: int
    column: int
    height: int
    across: tuple[float, float]
    axis: str


def hover(text: str) -> str:
    """A text with its lines, as plotly reads it: under the pointer, or in a cell."""
    return safe(text).replace("\n", "<br>")
