"""Rows: what was read of a file, what of it cannot be used, and its columns under the names that a task gives them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol, TypeVar

from bertexplorer.errors import ExplorerError

MAX_COLUMNS = 50
MAX_NAME = 200  # characters of a column's name
MAX_CELL = 10_000  # characters; of a list, those of its JSON
TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
Cells = dict[str, Any]
Example = TypeVar("Example")
Entry = tuple[int, Cells | str]  # (line, its cells or the reason why it has none)


@dataclass(frozen=True)
class Row:
    """One row. *line* counts from 1 in the uploaded file (where the row starts; see Table.unit). A cell is text as it
    was written; from JSON and CoNLL also a list or a dict, from SQuAD a bool."""

    line: int
    cells: Cells


@dataclass(frozen=True)
class Problem:
    """Why the row that starts at *line* cannot be used as it is."""

    line: int
    what: str


class Unfit(Exception):
    """Why a row cannot be used."""


@dataclass(frozen=True)
class Table:
    """A file as it was understood. Each row has all *columns*; *told* says in a sentence how the file was read."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    told: str
    kind: str  # csv, jsonl, json, conll, squad, label or text
    left_out: int = 0  # rows beyond the limit
    unit: str = "line"  # what Row.line counts: line, item (of a JSON list) or question (of a SQuAD file)


class Wanted(Protocol):
    """The column of a task, as far as it is looked at here."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def optional(self) -> bool: ...


@dataclass(frozen=True)
class Parsed:
    """A file taken apart, not yet held to the limits: *entries* ascend by line, *how* is a part of a sentence."""

    entries: Iterable[Entry]
    how: str
    columns: tuple[str, ...] = ()  # empty: the keys of the entries, in the order of their first appearance
    unit: str = "line"


def mapped(table: Table, mapping: Mapping[str, str], columns: Sequence[Wanted] = ()) -> list[Row]:
    """The rows with their cells under a task's names: *mapping* is {wanted name: column of the table}, "" for none.
    Raises ExplorerError for a column that the table has not, and for one of *columns* that is neither optional nor
    mapped."""
    chosen = {name: column for name, column in mapping.items() if column}
    there = ", ".join(f"“{column[:40]}”" for column in table.columns)
    for name, column in chosen.items():
        if column not in table.columns:
            raise ExplorerError(f"There is no column “{column[:40]}” for {name}; the file has {there}. Choose one.")
    for wanted in columns:
        if not wanted.optional and wanted.name not in chosen:
            raise ExplorerError(f"No column was chosen for {wanted.label}; the file has {there}. Choose one.")
    return [Row(row.line, {name: row.cells[column] for name, column in chosen.items()}) for row in table.rows]


def converted(rows: Sequence[Row], convert: Callable[[Row], Example]) -> tuple[list[Example], list[Problem]]:
    """(what *convert* makes of the rows, a problem for each row that it raises Unfit for)."""
    examples: list[Example] = []
    problems: list[Problem] = []
    for row in rows:
        try:
            examples.append(convert(row))
        except Unfit as error:
            problems.append(Problem(row.line, str(error)))
    return examples, problems


def written(cell: object) -> str:
    """A cell as text: itself, or its JSON."""
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)


def parts(cell: object) -> tuple[str, ...]:
    """The texts of a cell, each once: a list, or with | between them."""
    given = cell if isinstance(cell, list) else written(cell).split("|")
    return tuple(dict.fromkeys(text for part in given if (text := written(part).strip())))


def too_long(cells: Cells) -> str:
    """The reason why a row is refused for the length of a cell or a name; empty where it is not."""
    for name, cell in cells.items():
        if len(name) > MAX_NAME:
            return f"has a column whose name is {len(name):,} characters long; the limit is {MAX_NAME}"
        if (length := len(written(cell))) > MAX_CELL:
            return f"“{name[:40]}” has {length:,} characters; the limit is {MAX_CELL:,}"
    return ""


def number(cell: object) -> float | None:
    """None where the cell holds no finite number."""
    try:
        found = float(written(cell).strip().replace(",", "."))
    except ValueError:
        return None
    return found if isfinite(found) else None


def relevance(cell: object) -> float | None:
    """How relevant, 0 for not at all: a number (below 0 counts as 0), or yes, no, true, false."""
    said = TRUTH.get(written(cell).strip().casefold(), number(cell))
    return said if said is None else max(0.0, said)
