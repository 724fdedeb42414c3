"""Marks: what a figure shows, without a pixel.

A figure is a list of panels, and a panel a list of marks over one scale. The page draws them (`web/static/marks.js`);
`charts/adaptors` makes plotly's JSON of them. Texts are as they were typed: whoever draws them escapes them, and cuts
what does not fit. Sizes, margins, ticks and the places of labels are theirs as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np
import orjson

VERSION = 1  # of the JSON
Tone = Literal["blue", "pale", "orange", "green", "grey", "pink", "ochre", "sky", "brown"]
GROUPS: tuple[Tone, ...] = ("blue", "orange", "green", "pink", "ochre", "sky", "brown")  # for things without an order
Palette = Literal["shades", "signed", "root", "strong", "groups"]
Numbers = Sequence[float] | np.ndarray
Dash = Literal["solid", "dash", "dot"]
Unit = Literal["", "share"]  # a share is written in per cent
Door = Mapping[str, Any]  # what a press leads to: "set", "view", "picked", "text"


# Bars


@dataclass(frozen=True)
class Tick:
    """A short line across a bar, at one number."""

    value: float
    tone: Tone = "orange"


@dataclass(frozen=True)
class Bar:
    """A bar. *text*: beside its end. *hover*: under the pointer, else its label and its text. *behind*: the value of a
    wider, paler bar behind it. *low*, *high*: the ends of an interval. *ticks*: across it. *bold*: whether its label
    above it stands out, up to a line break. *faint*: whether it counts less than others. *down*: of a column, a second
    value, which is drawn in orange the other way."""

    label: str
    value: float
    text: str = ""
    tone: Tone = "blue"
    hover: str = ""
    door: Door | None = None
    behind: float | None = None
    low: float | None = None
    high: float | None = None
    ticks: Sequence[Tick] = ()
    bold: bool = False
    faint: bool = False
    down: float | None = None


@dataclass(frozen=True)
class Bars:
    """Horizontal bars from 0 on, one below the other. *high*: what fills the width, else the largest value. *tokens*:
    whether the labels are tokens. *above*: whether the labels stand above the bars, as long ones do. *axis*: whether
    the numbers are written below. *unit*: that of the axis."""

    kind: ClassVar = "bars"
    bars: Sequence[Bar]
    low: float | None = None
    high: float | None = None
    tokens: bool = False
    above: bool = False
    axis: bool = False
    unit: Unit = ""


@dataclass(frozen=True)
class Columns:
    """Vertical bars with a label below each: the tokens of a text."""

    kind: ClassVar = "columns"
    bars: Sequence[Bar]
    low: float | None = None
    high: float | None = None
    tokens: bool = False


@dataclass(frozen=True)
class Histogram:
    """Vertical bars of one width at numbers."""

    kind: ClassVar = "histogram"
    at: Numbers
    values: Numbers
    tone: Tone = "pale"
    hover: Sequence[str] = ()
    low: float | None = None  # of the numbers
    high: float | None = None


@dataclass(frozen=True)
class Rule:
    """A line across the other marks of its panel, at one number. *label*: beside it."""

    kind: ClassVar = "rule"
    at: float
    tone: Tone = "blue"
    dash: Dash = "solid"
    label: str = ""


@dataclass(frozen=True)
class Band:
    """A pale band across the other marks of its panel, between two numbers. *label*: beside it."""

    kind: ClassVar = "band"
    low: float
    high: float
    label: str = ""


# Cells


@dataclass(frozen=True)
class Cells:
    """A table of coloured cells. *palette*: "shades", from pale to blue, on which words can be read; "signed", orange
    below 0 and blue above; "root" and "strong", the same two up to dark colours, the first for the root of a share;
    "groups", whose values are places in GROUPS, or -1.
    *low*, *high*: the ends of the palette, else those of the values. *text*: in each cell, where a word may be cut and
    a number is not; *hover*, *doors*: for each cell. *columns*: may be empty. *framed*, *crossed*: (row, column) of the
    cells with a frame or a cross. A value that is not a number leaves its cell empty.
    Without *hover*, the pointer shows the row, the column and *numbers*, else the values, in *unit*; *verb* says what
    the row does to the column.
    """

    kind: ClassVar = "cells"
    rows: Sequence[str]
    columns: Sequence[str]
    values: Any  # rows x columns
    palette: Palette = "shades"
    low: float | None = None
    high: float | None = None
    text: Sequence[Sequence[str]] = ()
    hover: Sequence[Sequence[str]] = ()
    doors: Sequence[Sequence[Door]] = ()
    tokens: bool = False
    framed: Sequence[tuple[int, int]] = ()
    crossed: Sequence[tuple[int, int]] = ()
    numbers: Any = None
    verb: str = ""
    unit: Unit = ""


@dataclass(frozen=True)
class Tiles:
    """A picture that is cut into a table of tiles, such as a matrix for each head. *picture*: a data URI. *hover*,
    *doors*: for each tile. *framed*: (row, column) of the tiles with a frame."""

    kind: ClassVar = "tiles"
    picture: str
    rows: Sequence[str]
    columns: Sequence[str]
    hover: Sequence[Sequence[str]]
    doors: Sequence[Sequence[Door]] = ()
    framed: Sequence[tuple[int, int]] = ()


# Lines


@dataclass(frozen=True)
class Line:
    """A line with a value for each step. *end*: the text next to its end, else its name. *hover*: for each step. *low*,
    *high*: a band around it, for each step. *at*: where the steps are on an axis of numbers; without them, the line is
    level from one end to the other. *look*: what is drawn; the points of a line without points are found by the
    pointer only. *faint*: whether it counts less than others."""

    name: str
    values: Numbers
    end: str | None = None
    tone: Tone = "blue"
    dash: Dash = "solid"
    hover: Sequence[str] = ()
    low: Numbers | None = None
    high: Numbers | None = None
    at: Numbers = ()
    look: Literal["both", "line", "points"] = "both"
    faint: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines over the same *steps*, such as layers, or, without steps, over numbers from 0 on, an axis that the panels
    share. *scale*: "linear", from 0 on, or "rank", where 1 is at the top and each tenfold rank as far below. *chosen*:
    the step that a thin line marks. *doors*: for each step. *unit*: of the values; *at_unit*: of the axis below."""

    kind: ClassVar = "lines"
    steps: Sequence[str]
    lines: Sequence[Line]
    scale: Literal["linear", "rank"] = "linear"
    low: float | None = None
    high: float | None = None
    chosen: int | None = None
    doors: Sequence[Door] = ()
    unit: Unit = ""
    at_unit: Unit = ""


# Points


@dataclass(frozen=True)
class Points:
    """Points in a plane, or with *z* in space, where a person turns them. *tone*, *size*: of all; *tones*, *opacity*:
    of each. *names*: written beside the points where there is room, those of the first marks first; *tokens*: whether
    they are tokens. *letters*: a sign inside each. *hover*, *doors*: of each. *chosen*: the index of a larger one.
    *hollow*: whether each is a ring. *joined*: whether a line goes from point to point. *log*: whether both axes are
    shares on a logarithmic scale. *square*: whether both axes have one scale, so that distances can be compared."""

    kind: ClassVar = "points"
    x: Numbers
    y: Numbers
    tone: Tone = "blue"
    size: Literal["none", "dot", "small", "usual", "large"] = "usual"
    tones: Sequence[Tone] = ()
    opacity: Numbers = ()
    names: Sequence[str] = ()
    tokens: bool = False
    letters: Sequence[str] = ()
    hover: Sequence[str] = ()
    doors: Sequence[Door] = ()
    chosen: int | None = None
    hollow: Sequence[bool] = ()
    joined: bool = False
    dash: Dash = "solid"
    log: bool = False
    square: bool = False
    z: Numbers = ()


# Arcs


@dataclass(frozen=True)
class Arcs:
    """Lines between the names on the left and those on the right. *links*: (row on the left, row on the right, weight);
    more weight is a thicker line. *strong*: the rows on the left that stand out. *notes*: beside the names on the
    right. *unit*: of the weights."""

    kind: ClassVar = "arcs"
    left: Sequence[str]
    right: Sequence[str]
    links: Sequence[tuple[int, int, float]]
    strong: Sequence[int] = ()
    notes: Sequence[str] = ()
    unit: Unit = ""


# Words


@dataclass(frozen=True)
class Token:
    """A token in a line of tokens. *note*: small, below it."""

    text: str
    note: str = ""
    tone: Tone = "pale"
    hover: str = ""
    door: Door | None = None


@dataclass(frozen=True)
class Tokens:
    """Tokens one after the other, on as many lines as they need, each on its tone."""

    kind: ClassVar = "tokens"
    tokens: Sequence[Token]


@dataclass(frozen=True)
class MarkedSpan:
    """A part of a text: its characters from *start* to before *end*."""

    start: int
    end: int
    tone: Tone = "pale"
    hover: str = ""


@dataclass(frozen=True)
class Spans:
    """A text in several rows, each cut into spans of its own, which stand at the same characters: how several
    tokenizers cut it. It goes on as many lines as it needs, and at "\\n" on a new one. *texts*: for each row, all
    equally long."""

    kind: ClassVar = "spans"
    texts: Sequence[str]
    rows: Sequence[Sequence[MarkedSpan]]


@dataclass(frozen=True)
class StyledWords:
    """A line of text, or a part of one. *tone*: of the words; *bold*: whether they stand out."""

    text: str
    tone: Tone = "grey"
    bold: bool = False
    door: Door | None = None


@dataclass(frozen=True)
class TextLines:
    """Lines of text: a list, or the key of the mark that it stands beside, below the title. A line may have several
    parts, with the spaces between them."""

    kind: ClassVar = "text"
    lines: Sequence[StyledWords | Sequence[StyledWords]]


def key(*entries: tuple[str, Tone, str]) -> TextLines:
    """A key on one line: for each entry a sign, its tone, and what it stands for."""
    parts: list[StyledWords] = []
    for sign, tone, text in entries:
        if parts:
            parts.append(StyledWords(" · "))
        parts += [StyledWords(sign, tone), StyledWords(f" {text}")]
    return TextLines([parts])


Mark = Bars | Columns | Histogram | Rule | Band | Cells | Tiles | Lines | Points | Arcs | Tokens | Spans | TextLines


@dataclass(frozen=True)
class Panel:
    """Marks over one scale, of which the first is the main one. *title*: above them. *x*: what the horizontal axis
    counts; *y*: the vertical one. *beside*: whether it stands to the right of the panel before it, row beside row;
    *share*: its part of the width."""

    marks: Sequence[Mark]
    title: str = ""
    x: str = ""
    y: str = ""
    beside: bool = False
    share: float = 1.0


@dataclass(frozen=True)
class Button:
    """A button above the figure."""

    text: str
    door: Door


@dataclass(frozen=True)
class Figure:
    """What a view shows.

    >>> Figure([Panel([Bars([Bar("paris", 0.75, "75 %")], high=1)])]).to_json()
    '{"marks":1,"panels":[{"marks":[{"kind":"bars","bars":[{"label":"paris","value":0.75,"text":"75 %"}],"high":1}]}]}'
    """

    panels: Sequence[Panel]
    buttons: Sequence[Button] = ()

    def parts(self) -> dict[str, Any]:
        """The figure as dicts and lists, which `to_json` writes."""
        return {"marks": VERSION, **plain(self)}

    def to_json(self) -> str:
        """The JSON that `web/static/marks.js` reads: each mark with its kind, without what is as usual. Numbers that
        are not finite become null, which is not drawn."""
        return orjson.dumps(self.parts(), option=orjson.OPT_SERIALIZE_NUMPY, default=as_list).decode()


def plain(part: Any) -> Any:
    """*part* as dicts and lists, without the fields at their defaults."""
    if isinstance(part, (list, tuple)):
        return [plain(item) for item in part]
    if not hasattr(part, "__dataclass_fields__"):
        return part
    entries = {"kind": part.kind} if hasattr(part, "kind") else {}
    for field in fields(part):
        value = getattr(part, field.name)
        if field.default == () and len(value) == 0:
            continue
        if isinstance(value, np.ndarray) or value != field.default:
            entries[field.name] = plain(value)
    return entries


def as_list(value: Any) -> Any:
    """What orjson does not write by itself: arrays that are not in one piece of memory."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no part of a figure")
