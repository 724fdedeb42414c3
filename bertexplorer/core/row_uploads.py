"""Uploaded rows: a table as the rows of a suite or a probe. Those that cannot be read stay, with the reason."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertexplorer.answers.vectors import LabelledLine
from bertexplorer.diagnosis.pairs import is_pair_table
from bertexplorer.errors import ExplorerError
from bertexplorer.store.text_uploads import LABEL_NAMES, MAX_LINES, UploadedLines, Uploads, read_file, write_json
from bertexplorer.training.data.collection_files import read_folder, read_zip
from bertexplorer.training.data.decode import display_name
from bertexplorer.training.data.guess import usual_columns
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, Table
from bertexplorer.views.rows import UNREAD
from bertexplorer.views.suite.cases import cases

MAX_ROWS = 100_000
PICKLES = (".pickle", ".pkl")
SEVERAL_WORDS = re.compile(r"\w\s+\w")  # a cell of one word is a label, a category or an answer
SMALLEST = "text,label⏎A good film.,positive (of Not found: query,passage⏎who sings,A choir sings.)"  # ⏎ ends a line
SuiteRows = tuple[tuple[int, dict[str, Any]], ...]  # (line, cells by column)


@dataclass(frozen=True)
class UploadedRows:
    """The rows of a table, each with its line in the file, and a message about how it was read."""

    rows: SuiteRows
    summary: str

    @property
    def content(self) -> SuiteRows:
        return self.rows


def read_rows(path: Path) -> UploadedRows:
    """The rows of a file, or of the folder of a test collection. Raises ExplorerError."""
    if os.path.isdir(path):  # False also for what cannot be a path
        return collection(*read_folder(path))
    return read_file(path, parse_rows)


def lines_of(uploaded: UploadedRows) -> UploadedLines:
    """The texts of rows: each cell of several words is a line. The label of a row with one text is that of the line.
    Raises ExplorerError for more than MAX_LINES."""
    lines: list[LabelledLine] = []
    for line, cells in uploaded.rows:
        named = {str(name).lower(): cell for name, cell in cells.items() if name != UNREAD}
        texts = [cell for cell in named.values() if isinstance(cell, str) and SEVERAL_WORDS.search(cell)]
        label = ""
        if len(texts) == 1:
            label = next((str(named[name]) for name in LABEL_NAMES if named.get(name)), "")
        lines += [LabelledLine(text, label, line) for text in texts]
    if len(lines) > MAX_LINES:
        raise ExplorerError(
            f"The rows have {len(lines):,} texts; the page reads {MAX_LINES:,} at once. Upload part of them, or use "
            "the command line."
        )
    return UploadedLines(tuple(lines), uploaded.summary)


def write_rows(source: str, filename: str, target: str) -> str:
    """Parse the file *source*, uploaded as *filename*, and write its rows to *target*; return the message."""
    return write_json(parse_rows(Path(source).read_bytes(), filename), Path(target))


class RowUploads(Uploads[UploadedRows]):
    what = "rows"
    write_file = staticmethod(write_rows)

    @staticmethod
    def parse(content: bytes, filename: str) -> UploadedRows:
        return parse_rows(content, filename)

    def from_json(self, stored: dict[str, Any]) -> UploadedRows:
        return UploadedRows(
            tuple((line, cells) for line, cells in stored["rows"]),
            stored.get("summary", stored.get("told", "")),
        )


def suite_rows(content: bytes, filename: str, header: bool, max_rows: int) -> tuple[Table, SuiteRows]:
    """A table, and its rows with their line numbers; unreadable rows are UNREAD. *header*: whether the first line names
    the columns. Raises ExplorerError as `read` does, and for rows that are neither a suite, nor a collection of queries
    and passages, nor pairs, nor labelled texts."""
    table = read(content, filename, header=header, max_rows=max_rows, min_rows=1, example=SMALLEST)
    direction = winobias_direction(filename) if table.kind == "text" else {}
    rows: list[tuple[int, dict[str, Any]]] = [(row.line, row.cells | direction) for row in table.rows]
    columns = table.columns
    try:
        is_collection = len(usual_columns(columns, ["query", "passage"])) == 2  # Not found reads it
        is_labelled = len(usual_columns(columns, ["text", "label"])) == 2  # Error analysis
        if not (is_collection or is_labelled or is_pair_table(columns)):  # Threshold reads pairs
            cases(rows)
    except ExplorerError as error:
        if table.kind != "text":
            raise
        raise ExplorerError(
            f"{display_name(filename)} has no columns, so it is not a suite. Give a CSV, TSV, JSONL or JSON file whose "
            "columns are those of a suite, such as good and bad."
        ) from error
    rows += [(problem.line, {UNREAD: problem.what}) for problem in table.problems]
    rows.sort(key=lambda row: row[0])
    if table.left_out:
        subject = "is"
        if table.left_out > 1:
            subject = f"and the {table.left_out - 1:,} rows after it are"
        rows.append((table.beyond, {UNREAD: f"{subject} beyond the limit of {max_rows:,} rows"}))
    return table, tuple(rows)


def winobias_direction(filename: str) -> dict[str, str]:
    """The cell that says whether the sentences of a file of WinoBias are the stereotypes; its name tells."""
    match = re.search("(pro|anti)[-_ ]?stereotyp", Path(filename).name, re.IGNORECASE)
    if not match:
        return {}
    direction = "stereo" if match[1].lower() == "pro" else "antistereo"
    return {"stereo_antistereo": direction}


def collection(rows: Sequence[Row], summary: str, max_rows: int = MAX_ROWS) -> UploadedRows:
    """The rows of a test collection. Raises ExplorerError for too many."""
    if len(rows) > max_rows:
        raise ExplorerError(f"The collection has {len(rows):,} rows; the limit is {max_rows:,}. Give part of it.")
    return UploadedRows(tuple((row.line, row.cells) for row in rows), summary)


def parse_rows(content: bytes, filename: str, max_rows: int = MAX_ROWS) -> UploadedRows:
    """The rows of a table: CSV, TSV, JSONL, JSON, or WinoBias's text; or of the ZIP of a test collection. Raises
    ExplorerError as `read` and `read_zip` do, for a pickle, and for a file that is not a suite."""
    suffix = Path(filename).suffix.lower()
    if suffix == ".zip":
        rows_of_zip, summary = read_zip(content, filename)
        return collection(rows_of_zip, summary, max_rows)
    if suffix in PICKLES:
        raise ExplorerError(
            f"{display_name(filename)} is a pickle, which may run code when it is opened, so it is not read. Save its "
            "pairs as CSV with the columns good, bad and category; the documentation on behaviour shows how."
        )
    try:
        table, rows = suite_rows(content, filename, header=True, max_rows=max_rows)
    except ExplorerError as error:
        try:  # perhaps the columns have no names, as in LM_syneval
            table, rows = suite_rows(content, filename, header=False, max_rows=max_rows)
        except ExplorerError:
            raise error from None
    summary = table.summary
    if table.problems:
        first = "; ".join(f"{table.unit} {problem.line} {problem.what}" for problem in table.problems[:2])
        summary = f"{summary} {len(table.problems):,} cannot be used: {first}."
    return UploadedRows(rows, summary)
