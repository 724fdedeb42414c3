"""JSON Lines, read strictly, and JSON files with a list of the same objects."""

import io
import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data import squad
from bertexplorer.training.data.rows import MAX_COLUMNS, Cells, Entry, Parsed

MAX_DEPTH = 8  # lists within lists
MAX_DIGITS = 300
MAX_ITEMS = 2_000_000


def lines(text: str, most: int) -> Parsed:
    """An object per line of *text*; any other line is a problem. Lines beyond *most* are not parsed."""
    return Parsed(line_entries(text, most), "JSON, one object per line")


def line_entries(text: str, most: int) -> Iterator[Entry]:
    filled = ((n, line.strip()) for n, line in enumerate(io.StringIO(text, newline=""), 1) if line.strip())
    for line, written in islice(filled, most):
        try:
            yield line, cells(load(written))
        except ValueError as error:
            yield line, reason(error)
    yield from ((line, "is beyond the limit") for line, _ in filled)


def document(text: str, name: str) -> Parsed:
    """The objects of a JSON file: a list of them, or SQuAD's layout. Raises ExplorerError for any other file."""
    try:
        whole = load(text)
    except ValueError as error:
        at = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ExplorerError(
            f"{name} cannot be read{at}: it {reason(error)}. Save it again as JSON or JSONL."
        ) from error
    if isinstance(whole, dict) and isinstance(whole.get("data"), list):
        if squad.is_squad(whole["data"]):
            return Parsed(squad.entries(whole["data"]), "SQuAD JSON", squad.COLUMNS, unit="question")
        whole = whole["data"]
    if isinstance(whole, list) and len(whole) > MAX_ITEMS:
        raise ExplorerError(f"{name} has {len(whole):,} items; the limit is {MAX_ITEMS:,}. Give part of it.")
    if not isinstance(whole, list):
        raise ExplorerError(
            f'{name} holds {noun(whole)}; wanted a list of objects, as [{{"text": "…", "label": "…"}}, …], '
            "or one object on each line."
        )
    return Parsed(item_entries(whole), "a JSON list of objects", unit="item")


def item_entries(items: list[Any]) -> Iterator[Entry]:
    for number, item in enumerate(items, 1):
        try:
            yield number, cells(item)
        except ValueError as error:
            yield number, reason(error)


def load(text: str) -> Any:
    """Strict JSON. Raises ValueError for NaN, infinite or huge numbers, repeated names in an object, and deep
    nesting."""
    try:
        return json.loads(
            text, object_pairs_hook=once, parse_constant=refused, parse_float=finite, parse_int=whole_number
        )
    except RecursionError:
        raise ValueError(f"is nested too deeply; {MAX_DEPTH} levels are read") from None


def cells(item: Any) -> Cells:
    """An object as cells: texts unchanged, numbers and booleans as JSON, null as "", lists and objects unchanged.
    Raises ValueError with the reason if it cannot be used."""
    if not isinstance(item, dict):
        raise ValueError(f"is {noun(item)}, not an object in {{braces}}")
    if not item:
        raise ValueError("is an empty object")
    if len(item) > MAX_COLUMNS:
        raise ValueError(f"has {len(item):,} columns; the limit is {MAX_COLUMNS}")
    if too_deep(item, MAX_DEPTH):
        raise ValueError(f"is nested too deeply; {MAX_DEPTH} levels are read")
    try:
        json.dumps(item, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a character (a lone surrogate)") from None
    found = {name.strip() or f"column {i}": plain(value) for i, (name, value) in enumerate(item.items(), 1)}
    if len(found) < len(item):
        raise ValueError("has two names that differ by spaces only")
    if "answers" in found:
        found["answers"] = squad.flat(found["answers"])
    return found


def plain(value: Any) -> Any:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def too_deep(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(too_deep(part, levels - 1) for part in inside)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"names {twice!r:.60} twice")
    return found


def refused(word: str) -> Any:
    raise ValueError(f"holds {word}, which is not JSON")


def finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"holds a number that is too large, {digits:.20}")
    return number


def whole_number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"holds a number of {len(digits):,} digits; {MAX_DIGITS} are read")
    return int(digits)


def noun(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is not JSON: {error.msg} at character {error.colno:,}"
    return str(error)
