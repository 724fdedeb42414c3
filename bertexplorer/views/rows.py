"""Rows of a file, for suites and probes: cells as texts, and the rows that cannot be used."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bertexplorer.charts.style import count, join_names
from bertexplorer.training.data.rows import RowProblem, UnusableRow

LISTED = 1000  # cases in the table

RowCells = Mapping[str, Any]
NumberedRow = tuple[int, RowCells]  # (line of the file, cells by column)
UNREAD = "\0unread"  # the only column of a row that its file's reader could not read; the cell says why


def split_readable(rows: Sequence[NumberedRow]) -> tuple[list[NumberedRow], list[RowProblem]]:
    """(the rows that their file's reader could read, the others)."""
    unread = [RowProblem(line, cells[UNREAD]) for line, cells in rows if UNREAD in cells]
    return [row for row in rows if UNREAD not in row[1]], unread


def table(path: Path) -> list[NumberedRow]:
    """The rows of a CSV that comes with the app, each with its line."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(enumerate(csv.DictReader(file), 2))


def as_list(cell: Any) -> list[Any]:
    """A cell as a list."""
    if isinstance(cell, list):
        return cell
    return [cell] if cell else []


def cell_text(cell: Any) -> str:
    """A cell as a text without the spaces around it."""
    return "" if cell is None else str(cell).strip()


def first_cell(cells: RowCells, *names: str) -> str:
    """The first of the columns *names* that holds a text. Raises UnusableRow if none does."""
    for name in names:
        text = cell_text(cells.get(name))
        if text:
            return text
    raise UnusableRow(f"has no {names[0]}")


def unusable_rows(rows: Sequence[RowProblem]) -> list[str]:
    """The rows that could not be used, with the reason."""
    return [f"Line {row.line:,} {row.what}" for row in rows[:LISTED]]


def unusable_note(rows: Sequence[RowProblem], done: str) -> str:
    """The number of rows that could not be *done*, and the reason for the first ones."""
    lines = join_names([f"line {row.line} {row.what}" for row in rows[:2]])
    return f"{count(len(rows), 'row')} could not be {done}: {lines}"
