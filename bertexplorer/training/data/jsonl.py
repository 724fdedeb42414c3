"""JSON Lines, read strictly, and JSON files with a list of the same objects."""

import io
import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data import squad
from bertexplorer.training.data.rows import MAX_COLUMNS, Cells, Entry, ParsedFile

MAX_DEPTH = 8  # lists within lists
MAX_DIGITS = 300
MAX_ITEMS = 2_000_000


def lines(text: str, max_lines: int) -> ParsedFile:
    """An object per line of *text*; any other line is a problem. Lines beyond *max_lines* are not parsed."""
    return ParsedFile(line_entries(text, max_lines), "JSON, one object per line")


def line_entries(text: str, max_lines: int) -> Iterator[Entry]:
    numbered = ((n, line.strip()) for n, line in enumerate(io.StringIO(text, newline=""), 1) if line.strip())
    for line, content in islice(numbered, max_lines):
        try:
            yield line, cells(parse_strict(content))
        except ValueError as error:
            yield line, error_reason(error)
    yield from ((line, "is beyond the limit") for line, _ in numbered)


def document(text: str, name: str) -> ParsedFile:
    """The objects of a JSON file: a list of them, or SQuAD's layout. Raises ExplorerError for any other file."""
    try:
        content = parse_strict(text)
    except ValueError as error:
        location = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ExplorerError(
            f"{name} cannot be read{location}: it {error_reason(error)}. Save it again as JSON or JSONL."
        ) from error
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        if squad.is_squad(content["data"]):
            return ParsedFile(squad.question_entries(content["data"]), "SQuAD JSON", squad.COLUMNS, unit="question")
        content = content["data"]
    if isinstance(content, list) and len(content) > MAX_ITEMS:
        raise ExplorerError(f"{name} has {len(content):,} items; the limit is {MAX_ITEMS:,}. Give part of it.")
    if not isinstance(content, list):
        raise ExplorerError(
            f'{name} holds {type_name(content)}; wanted a list of objects, as [{{"text": "…", "label": "…"}}, …], '
            "or one object on each line."
        )
    return ParsedFile(item_entries(content), "a JSON list of objects", unit="item")


def item_entries(items: list[Any]) -> Iterator[Entry]:
    for number, item in enumerate(items, 1):
        try:
            yield number, cells(item)
        except ValueError as error:
            yield number, error_reason(error)


def parse_strict(text: str) -> Any:
    """Strict JSON. Raises ValueError for NaN, infinite or huge numbers, repeated names in an object, and deep
    nesting."""
    try:
        return json.loads(
            text,
            object_pairs_hook=unique_names,
            parse_constant=reject_constant,
            parse_float=parse_finite,
            parse_int=parse_integer,
        )
    except RecursionError:
        raise ValueError(f"is nested too deeply; {MAX_DEPTH} levels are read") from None


def cells(item: Any) -> Cells:
    """An object as cells: texts unchanged, numbers and booleans as JSON, null as "", lists and objects unchanged.
    Raises ValueError with the reason if it cannot be used."""
    if not isinstance(item, dict):
        raise ValueError(f"is {type_name(item)}, not an object in {{braces}}")
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
    result = {name.strip() or f"column {i}": cell_value(value) for i, (name, value) in enumerate(item.items(), 1)}
    if len(result) < len(item):
        raise ValueError("has two names that differ by spaces only")
    if "answers" in result:
        result["answers"] = squad.flatten_answers(result["answers"])
    return result


def cell_value(value: Any) -> Any:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def too_deep(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(too_deep(part, levels - 1) for part in inside)


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"names {repeated!r:.60} twice")
    return result


def reject_constant(word: str) -> Any:
    raise ValueError(f"holds {word}, which is not JSON")


def parse_finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"holds a number that is too large, {digits:.20}")
    return number


def parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"holds a number of {len(digits):,} digits; {MAX_DIGITS} are read")
    return int(digits)


def type_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def error_reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is not JSON: {error.msg} at character {error.colno:,}"
    return str(error)
