"""Rows of a file, their problems, and their columns under the names of a task."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol, TypeVar

from bertexplorer.errors import ExplorerError, Hint

CHOOSE: Hint = {"page": "Choose one.", "cli": "Name it with --map NAME=COLUMN."}
MAX_COLUMNS = 50
MAX_NAME = 200  # characters of a column's name
MAX_CELL = 10_000  # characters; of a list, those of its JSON
TRUTH_VALUES = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
Example = TypeVar("Example")
Entry = tuple[int, dict[str, Any] | str]  # (line, its cells or the reason why it has none)


@dataclass(frozen=True)
class Row:
    """One row. *line* counts from 1 in the uploaded file (where the row starts; see Table.unit). A cell is text as in
    the file; from JSON and CoNLL also a list or a dict, from SQuAD a bool."""

    line: int
    cells: dict[str, Any]


@dataclass(frozen=True)
class RowProblem:
    """The reason why the row that starts at *line* cannot be used."""

    line: int
    what: str


class UnusableRow(Exception):
    """Why a row cannot be used."""


@dataclass(frozen=True)
class Table:
    """A file as it was read. Each row has all *columns*; *summary*: a sentence on how the file was read."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    problems: tuple[RowProblem, ...]
    summary: str
    kind: str  # csv, jsonl, json, conll, squad, label or text
    left_out: int = 0  # rows beyond the limit
    beyond: int = 0  # line of the first of them
    unit: str = "line"  # what Row.line counts: line, item (of a JSON list) or question (of a SQuAD file)


class ColumnSpec(Protocol):
    """A column that a task needs."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def optional(self) -> bool: ...


@dataclass(frozen=True)
class ParsedFile:
    """A parsed file before the limits are checked: *entries* in the order of their lines; *how* is part of a
    sentence."""

    entries: Iterable[Entry]
    how: str
    columns: tuple[str, ...] = ()  # empty: the keys of the entries, in the order of their first appearance
    unit: str = "line"


def map_columns(table: Table, mapping: Mapping[str, str], columns: Sequence[ColumnSpec] = ()) -> list[Row]:
    """The rows with their cells under a task's names. *mapping*: {column of the task: column of the table}, "" for
    none. Raises ExplorerError for an unknown column, and if a required one of *columns* is not mapped."""
    chosen_columns = {name: column for name, column in mapping.items() if column}
    available = ", ".join(f"“{column[:40]}”" for column in table.columns)
    for name, column in chosen_columns.items():
        if column not in table.columns:
            raise ExplorerError(f"There is no column “{column[:40]}” for {name}; the file has {available}.", CHOOSE)
    for spec in columns:
        if not spec.optional and spec.name not in chosen_columns:
            raise ExplorerError(f"No column was chosen for {spec.label}; the file has {available}.", CHOOSE)
    rows = []
    for row in table.rows:
        rows.append(Row(row.line, {name: row.cells[column] for name, column in chosen_columns.items()}))
    return rows


def convert_rows(rows: Sequence[Row], convert: Callable[[Row], Example]) -> tuple[list[Example], list[RowProblem]]:
    """(the examples that *convert* makes of the rows, a problem for each row for which it raises UnusableRow)."""
    examples: list[Example] = []
    problems: list[RowProblem] = []
    for row in rows:
        try:
            examples.append(convert(row))
        except UnusableRow as error:
            problems.append(RowProblem(row.line, str(error)))
    return examples, problems


def cell_text(cell: object) -> str:
    """A cell as text: itself, or its JSON."""
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)


def cell_parts(cell: object) -> tuple[str, ...]:
    """The distinct texts of a cell: of a list, or separated by |."""
    values = cell if isinstance(cell, list) else cell_text(cell).split("|")
    texts = [cell_text(value).strip() for value in values]
    return tuple(dict.fromkeys(text for text in texts if text))


def length_problem(cells: dict[str, Any]) -> str:
    """Why a row is rejected for the length of a cell or a name; "" if it is not."""
    for name, cell in cells.items():
        if len(name) > MAX_NAME:
            return f"has a column whose name is {len(name):,} characters long; the limit is {MAX_NAME}"
        length = len(cell_text(cell))
        if length > MAX_CELL:
            return f"“{name[:40]}” has {length:,} characters; the limit is {MAX_CELL:,}"
    return ""


def parse_number(cell: object) -> float | None:
    """The number in a cell, such as 3.8 or 3,8; None if it does not hold a finite number."""
    text = cell_text(cell).strip().replace(",", ".")
    if "_" in text:  # float reads 1_000 as 1000
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def parse_relevance(cell: object) -> float | None:
    """Relevance, 0 for not relevant: a number (negative counts as 0), or yes, no, true, false; None otherwise."""
    grade = TRUTH_VALUES.get(cell_text(cell).strip().casefold(), parse_number(cell))
    return grade if grade is None else max(0.0, grade)
