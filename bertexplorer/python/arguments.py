"""Checks of what a program passes to the package: an argument of the wrong kind is named as Python spells it."""

from collections.abc import Iterable, Mapping
from typing import Any

from bertexplorer.errors import ExplorerError


def check_text(name: str, value: object) -> str:
    """*value*, the argument *name*. Raises ExplorerError unless it is a string."""
    if isinstance(value, str):
        return value
    advice = " Ask once for each text." if isinstance(value, list | tuple) else ""
    raise ExplorerError(f"{name}: got {value!r:.60}; wanted a string.{advice}")


def check_texts(name: str, values: Any) -> list[str]:
    """*values*, the argument *name*, as a list. Raises ExplorerError unless it is a list of strings, or the like."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ExplorerError(f"{name}: got {values!r:.60}; wanted a list of strings.")
    return [check_text(f"{name}[{i}]", value) for i, value in enumerate(values)]


def check_words(name: str, values: Any) -> list[str | tuple[int, int, int]]:
    """The words and spans of *values*, the argument *name*, as a list. Raises ExplorerError for anything else."""
    several = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    items = values if several else [values]
    checked: list[str | tuple[int, int, int]] = []
    for item in items:
        if isinstance(item, str):
            checked.append(item)
        elif isinstance(item, list | tuple) and [type(number) for number in item] == [int, int, int]:
            checked.append((item[0], item[1], item[2]))
        else:
            raise ExplorerError(
                f"{name}: got {values!r:.60}; wanted a word, a list of words, or a list of spans (side, start, end), "
                "such as [(0, 4, 7)]."
            )
    return checked


def check_span(name: str, span: tuple[int, int, int], lengths: tuple[int, int]) -> None:
    """Raises ExplorerError unless *span*, of the argument *name*, lies in the text (side 0), the pair (side 1), with
    these *lengths* in characters, or counts tokens (side 2)."""
    side, start, end = span
    if side not in (0, 1, 2) or not 0 <= start < end:
        raise ExplorerError(
            f"{name}: got {span}; wanted (side, start, end) with side 0 for the text or 1 for the pair, and start "
            "before end."
        )
    if side < 2 and end > lengths[side]:
        what = "the pair" if side else "the text"
        raise ExplorerError(f"{name}: got {span}, but {what} has {lengths[side]:,} characters.")


def check_rows(name: str, values: Any) -> list[Mapping[str, Any]]:
    """*values*, the argument *name*, as a list. Raises ExplorerError unless it is a list of dictionaries."""
    several = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    rows = list(values) if several else [values]
    for row in rows:
        if not isinstance(row, Mapping) or row is values:  # the second: a single dictionary
            raise ExplorerError(f"{name}: got {row!r:.60}; wanted a list of dictionaries.")
    return rows
