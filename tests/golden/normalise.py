"""Answers as compact JSON that does not depend on how they were made.

Long lists keep some of their values, evenly spaced, with count, mean and ends; long tables keep their first rows. A
chart keeps its traces, values and words; templates, fonts and encodings go. What differs between processes or releases
(times, versions) goes too."""

import base64
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

KEPT = 24  # values of a longer column
WHOLE = 48  # a column of so many values is kept whole
DIGITS = 6  # significant digits of a number
STYLE = {
    "template", "font", "textfont", "hoverlabel", "colorscale", "cliponaxis", "xgap", "ygap", "showscale", "uid",
    "insidetextfont", "outsidetextfont", "textposition", "hoverinfo", "showlegend", "opacity", "line", "colorbar",
    "margin", "height", "paper_bgcolor", "plot_bgcolor", "autosize", "dragmode", "hovermode", "legend", "bargap",
    "hoverdistance", "modebar", "xanchor", "yanchor", "xref", "yref", "xshift", "yshift", "showarrow", "align",
}  # fmt: skip
SHARED = re.compile(r" and [\d,]+ more$")  # a dot for several words: rounding decides which of them it names
AXIS = ("title", "range", "ticktext", "tickvals", "type", "tickformat", "autorange")
CHANGING = (  # what is not the same on two machines, and what stands in its place
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b(?=$|[^\w])"), "some time"),
    (re.compile(r"\b(python|torch|tokenizers|safetensors|numpy) \d[\w.+]*"), r"\1 some version"),
    (re.compile(r"sha256:[0-9a-f]{12}"), "sha256:…"),  # of random weights: that of mini is in its own test
    (re.compile(r'("(?:python|torch|tokenizers|safetensors|numpy)": ")[^"]*'), r"\1some version"),
)


def normalised(value: Any) -> Any:
    """*value*, which is JSON, in compact form: a list of objects as columns, a long list as some of its values."""
    if isinstance(value, Mapping):
        if "bdata" in value:
            return normalised(decoded(value))
        if is_figure(value):
            return chart(value)
        if is_marks(value):
            value = marks(value)
        return {key: normalised(part) for key, part in value.items()}
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Sequence):
        return column(list(value))
    if isinstance(value, float):
        return short(value)
    return value


def text(value: str) -> str:
    for pattern, instead in CHANGING:
        value = pattern.sub(instead, value)
    return value


def column(values: list[Any], *, first: bool = False) -> Any:
    """A list of objects as one column each; a list of lists flat, with its shape; a long list as some of its values.
    *first*: the first ones, as the rows of a table are in an order whose end holds near ties."""
    if values and all(isinstance(value, Mapping) for value in values):
        names = list(dict.fromkeys(name for value in values for name in value))
        return {name: column([value.get(name) for value in values], first=True) for name in names}
    if values and all(isinstance(value, list) for value in values) and len({len(value) for value in values}) == 1:
        inner = [part for value in values for part in value]
        if not any(isinstance(part, Mapping) for part in inner):
            return {"shape": [len(values), len(values[0])], "flat": column(inner)}
    if len(values) <= WHOLE:
        return [normalised(value) for value in values]
    some = values[:KEPT] if first else [values[round(i * (len(values) - 1) / (KEPT - 1))] for i in range(KEPT)]
    out: dict[str, Any] = {"count": len(values), "some": [normalised(value) for value in some]}
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        numbers = np.array(values, float)
        out |= {"mean": short(numbers.mean()), "least": short(numbers.min()), "most": short(numbers.max())}
    return out


def short(value: float) -> float | None:
    """A number with the digits that a golden file keeps; None if it is not finite."""
    if not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def decoded(array: Mapping[str, Any]) -> list[Any]:
    """The numbers of an array as plotly encodes it."""
    kind = {"f8": "<f8", "f4": "<f4"}.get(array["dtype"], "<" + array["dtype"])
    flat = np.frombuffer(base64.b64decode(array["bdata"]), kind)
    shape = [int(size) for size in str(array["shape"]).split(",")] if "shape" in array else [len(flat)]
    numbers: list[Any] = flat.reshape(shape).tolist()
    return numbers


def is_figure(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("data"), list) and isinstance(value.get("layout"), Mapping)


USUAL = {"dash": "solid", "scale": "linear", "palette": "shades"}  # fields of marks at their defaults
TONES = {"histogram": "pale", "tokens": "pale", "text": "grey", "ticks": "orange"}  # kind -> its usual tone


def is_marks(value: Mapping[str, Any]) -> bool:
    return "marks" in value and "panels" in value


def marks(part: Any, kind: str = "") -> Any:
    """A figure of marks without the fields that are as usual, which one side may write and the other leave out."""
    if isinstance(part, list):
        return [marks(one, kind) for one in part]
    if not isinstance(part, Mapping):
        return part
    kind = str(part.get("kind", kind))
    if kind == "tiles":  # a picture depends on who compresses it
        part = {name: value for name, value in part.items() if name != "picture"}
    usual = {**USUAL, "tone": TONES.get(kind, "blue")}
    kept = {
        name: value for name, value in part.items() if value not in ("", None, [], False) and value != usual.get(name)
    }
    return {name: marks(value, "ticks" if name == "ticks" else kind) for name, value in kept.items()}


def chart(figure: Mapping[str, Any]) -> dict[str, Any]:
    """What a reader sees in a figure: its traces, axes, and words."""
    layout = figure["layout"]
    axes = {
        name: {key: part for key in AXIS if (part := axis.get(key)) is not None}
        for name, axis in layout.items()
        if re.fullmatch(r"[xyz]axis\d*", name) and axis.get("visible") is not False
    }
    title = layout.get("title")
    words = [title.get("text") if isinstance(title, Mapping) else title] if title else []
    words += [annotation.get("text", "") for annotation in layout.get("annotations", ())]
    return {
        "traces": [trace(data) for data in figure["data"]],
        "axes": normalised({name: axis for name, axis in axes.items() if axis}),
        "words": normalised(words),
        "shapes": len(layout.get("shapes", ())),
        **({"presses": normalised(figure["presses"])} if "presses" in figure else {}),
    }


def trace(data: Mapping[str, Any]) -> dict[str, Any]:
    """A trace without its style. Colours and sizes count where each datum has its own."""
    kept = {key: value for key, value in data.items() if key not in STYLE and key != "marker"}
    for key, value in (data.get("marker") or {}).items():
        if isinstance(value, list) or (isinstance(value, Mapping) and "bdata" in value):
            kept[f"marker.{key}"] = value
    if any(SHARED.search(str(label)) for label in data.get("text") or ()):
        kept = {key: value for key, value in kept.items() if key not in ("text", "marker.opacity")}
    return {key: normalised(value) for key, value in kept.items()}
