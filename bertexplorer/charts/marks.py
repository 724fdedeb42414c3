"""Marks: what a figure shows, without a pixel.

A figure is a list of panels, one below the other, and a panel is a list of marks over one scale. The page draws them
(`web/static/marks.js`); `charts/adaptor.py` makes plotly's JSON of them. Texts are as they were typed: whoever draws
them escapes them, and cuts what does not fit. Sizes, margins, ticks and the places of labels are theirs as well.
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
Palette = Literal["shades", "signed"]  # from pale to blue; orange below 0 and blue above
Numbers = Sequence[float] | np.ndarray
Dash = Literal["solid", "dash", "dot"]
Door = Mapping[str, Any]  # what a press leads to: "set", "view", "picked", "text"


@dataclass(frozen=True)
class Bar:
    """A bar. *text*: beside its end. *hover*: under the pointer, else its label and its text."""

    label: str
    value: float
    text: str = ""
    tone: Tone = "blue"
    hover: str = ""
    door: Door | None = None


@dataclass(frozen=True)
class Bars:
    """Horizontal bars from 0 on, one below the other. *high*: what fills the width, else the largest value. *tokens*:
    whether the labels are tokens."""

    kind: ClassVar = "bars"
    bars: Sequence[Bar]
    low: float | None = None
    high: float | None = None
    tokens: bool = False


@dataclass(frozen=True)
class Cells:
    """A table of coloured cells. *low*, *high*: the ends of the palette, else those of the values. *text*: in each
    cell, where a word may be cut and a number is not; *hover*, *doors*: for each cell. *columns*: may be empty."""

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


@dataclass(frozen=True)
class Line:
    """A line with a value for each step. *end*: the text next to its end. *hover*: for each step."""

    name: str
    values: Numbers
    end: str = ""
    tone: Tone = "blue"
    dash: Dash = "solid"
    hover: Sequence[str] = ()


@dataclass(frozen=True)
class Lines:
    """Lines over the same *steps*, such as layers. *scale*: "linear", from 0 on, or "rank", where 1 is at the top and
    each tenfold rank as far below. *chosen*: the step that a thin line marks. *doors*: for each step."""

    kind: ClassVar = "lines"
    steps: Sequence[str]
    lines: Sequence[Line]
    scale: Literal["linear", "rank"] = "linear"
    low: float | None = None
    high: float | None = None
    chosen: int | None = None
    doors: Sequence[Door] = ()


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
    """A line across the other marks of its panel, at one number."""

    kind: ClassVar = "rule"
    at: float
    tone: Tone = "blue"


Mark = Bars | Cells | Lines | Histogram | Rule


@dataclass(frozen=True)
class Panel:
    """Marks over one scale. *title*: above them; *x*: what the horizontal axis counts."""

    marks: Sequence[Mark]
    title: str = ""
    x: str = ""


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

    def to_json(self) -> str:
        """The JSON that `web/static/marks.js` reads: each mark with its kind, without what is as usual. Numbers that
        are not finite become null, which is not drawn."""
        parts = {"marks": VERSION, **plain(self)}
        return orjson.dumps(parts, option=orjson.OPT_SERIALIZE_NUMPY, default=as_list).decode()


def plain(part: Any) -> Any:
    """*part* as dicts and lists, without the fields at their defaults."""
    if isinstance(part, (list, tuple)):
        return [plain(one) for one in part]
    if not hasattr(part, "__dataclass_fields__"):
        return part
    entries = {"kind": part.kind} if hasattr(part, "kind") else {}
    for field in fields(part):
        value = getattr(part, field.name)
        if isinstance(value, np.ndarray) or value != field.default:
            entries[field.name] = plain(value)
    return entries


def as_list(value: Any) -> Any:
    """What orjson does not write by itself: arrays that are not in one piece of memory."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no part of a figure")
