"""Points with names: which of the names can be written without touching another, and on which side of their points."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import safe

PHONE = 312  # the minimal width of a plot in pixels
LETTER, LINE = 7.4, 17  # pixels: a character's width and a line's height at 13 px
ROW = 21  # pixels: a line under a figure
SIDES = ("top center", "bottom center", "middle right", "middle left")
SMALL = 7  # the width in pixels of a marker that text may cover
QUIET = {"showticklabels": False, "showgrid": False, "fixedrange": True}  # an axis without numbers
PAD = 0.08  # share of an axis that is left free at each end

Box = tuple[float, float, float, float]


def limits(values: np.ndarray) -> list[float]:
    """The ends of an axis with room around its points."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = PAD * (high - low) or 1.0
    return [low - room, high + room]


@dataclass(frozen=True)
class Name:
    """A text next to a point. *size*: of the point's marker in pixels."""

    place: np.ndarray  # x, y
    text: str
    colour: str
    size: float = SMALL


def write_names(
    fig: Chart, names: Sequence[Name], height: float, ranges: Sequence[Sequence[float]], font: str, **cell: int
) -> None:
    """As many of *names* as find room on a phone, in the cell of a figure that has *ranges* (of x and y) and is
    *height* pixels tall."""
    sides = place_names(names, height, ranges)
    written_names = [names[i] for i in sides]
    fig.add_scatter(
        x=[round(float(name.place[0]), 4) for name in written_names],
        y=[round(float(name.place[1]), 4) for name in written_names],
        mode="markers+text",
        marker={"opacity": 0, "size": [name.size for name in written_names]},  # they keep the text off the real marker
        text=[safe(name.text) for name in written_names],
        textposition=list(sides.values()),
        textfont={"color": [name.colour for name in written_names], "size": 12, "family": font},
        hoverinfo="skip",
        cliponaxis=False,
        **cell,
    )


def place_names(names: Sequence[Name], height: float, ranges: Sequence[Sequence[float]]) -> dict[int, str]:
    """Index of each of *names* that has room -> the side of its point. Earlier names have priority. Names that do not
    overlap on a phone do not overlap on a wider page either."""
    points = [
        [(float(name.place[axis]) - low) / (high - low) * size for name in names]
        for axis, ((low, high), size) in enumerate(zip(ranges, (PHONE, height), strict=True))
    ]
    taken: list[Box] = [
        (x - name.size / 2, y - name.size / 2, x + name.size / 2, y + name.size / 2)
        for x, y, name in zip(*points, names, strict=True)
        if name.size > SMALL
    ]
    placed: dict[int, str] = {}
    for i, (x, y) in enumerate(zip(*points, strict=True)):
        for side in SIDES:
            box = text_box(x, y, LETTER * len(names[i].text) + 4, side, names[i].size / 2)
            inside = box[0] >= 0 and box[2] <= PHONE and box[1] >= 0 and box[3] <= height
            if inside and not any(overlap(box, other) for other in taken):
                taken.append(box)
                placed[i] = side
                break
    return placed


def text_box(x: float, y: float, width: float, side: str, off: float) -> Box:
    """(left, low, right, high) in pixels of a text at the distance *off* from the point (x, y)."""
    if side == "middle right":
        return x + off, y - LINE / 2, x + off + width, y + LINE / 2
    if side == "middle left":
        return x - off - width, y - LINE / 2, x - off, y + LINE / 2
    low = y + off if side == "top center" else y - off - LINE
    return x - width / 2, low, x + width / 2, low + LINE


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def excerpt(sentence: str, start: int, end: int, length: int) -> str:
    """*sentence* cut to at most *length* characters, with the part from *start* to *end* in the middle."""
    if len(sentence) <= length:
        return sentence
    first = max(0, min(start - (length - (end - start)) // 2, len(sentence) - length))
    last = min(len(sentence), first + length)
    # not in the middle of a word, if that leaves one beside the part
    before, after = sentence.find(" ", first, start - 1), sentence.rfind(" ", end + 1, last)
    if first and before >= 0:
        first = before + 1
    if last < len(sentence) and after >= 0:
        last = after
    return ("…" if first else "") + sentence[first:last].strip() + ("…" if last < len(sentence) else "")


def write_below(fig: Chart, lines: Sequence[tuple[str, str]], gap: int) -> int:
    """Write the (text, colour) *lines* under the figure, *gap* pixels below it. Returns the height in pixels."""
    height = kit.write_below(fig, [text for text, _ in lines], gap, ROW, 13)
    for annotation, (_, colour) in zip(fig.settings["annotations"][-len(lines) :], lines, strict=False):
        annotation["font"] = {**annotation["font"], "color": colour}
    return height + 12
