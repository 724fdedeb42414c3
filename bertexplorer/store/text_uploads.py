"""Uploads of views: files as texts with labels, or as rows of a suite, stored under a hash of owner and content."""

import csv
import io
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from bertexplorer.analysis.suite_cases import UNREAD, cases
from bertexplorer.analysis.vectors import Line
from bertexplorer.errors import ExplorerError
from bertexplorer.store import syneval
from bertexplorer.training.data.decode import decode, display_name
from bertexplorer.training.data.delimited import DELIMITERS, guess_delimiter, is_header
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Table

MAX_LINES = 10_000
MAX_ROWS = 100_000
KEPT = 32  # uploads of one owner; beyond this the oldest are deleted
SUFFIXES = (".csv", ".tsv", ".txt")
TEXT_NAMES = ("text", "sentence", "line", "content", "document", "question", "review")  # the first that exists is used
LABEL_NAMES = ("label", "class", "category", "topic")
KEY = re.compile(r"[0-9a-f]{24}")
T = TypeVar("T")
SuiteRows = tuple[tuple[int, dict[str, Any]], ...]  # (line, cells by column)
OWNER = re.compile(r"[0-9a-f]{32}|")


@dataclass(frozen=True)
class Lines:
    """The lines of a file, and a sentence on how it was read."""

    lines: tuple[Line, ...]
    summary: str


@dataclass(frozen=True)
class Rows:
    """The rows of a table, each with its line in the file, and a sentence on how it was read."""

    rows: SuiteRows
    summary: str


class Uploads(Generic[T]):
    """Uploads in a folder: the newest KEPT of each owner. Safe to call from many threads and processes.

    Anyone with a key may read its content, so that a link can restore a view of it. Keys cannot be guessed: the hash
    includes the owner, 128 random bits that only one browser knows. So even someone with the same file cannot compute
    its key."""

    what: str  # in the words of people

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def parse(self, content: bytes, filename: str) -> T:
        """What the file holds. Raises ExplorerError."""
        raise NotImplementedError

    def held(self, stored: dict[str, Any]) -> T:
        """The same, from the JSON that was stored."""
        raise NotImplementedError

    def save(self, content: bytes, filename: str, owner: str = "") -> str:
        """Store a file for *owner* and return its key. Raises ExplorerError as `parse` does, and for a full disk."""
        found = self.parse(content, filename)
        kind = Path(filename).suffix.lower()
        key = sha256(f"{owner}{kind}\0".encode() + content).hexdigest()[:24]
        folder = self.of(owner)
        target = folder / f"{key}.json"
        part = target.with_suffix(f".{os.getpid()}-{os.urandom(4).hex()}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(asdict(found)), "utf-8")  # type: ignore[call-overload]
            part.replace(target)
            for old in sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)[:-KEPT]:
                old.unlink(missing_ok=True)
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            raise ExplorerError(f"The {self.what} cannot be kept in {folder}: {error}. Make room there.") from error
        return key

    def of(self, owner: str) -> Path:
        """The folder of one owner. Raises ExplorerError for a malformed owner."""
        if not OWNER.fullmatch(owner):
            raise ExplorerError("The owner of an upload is not known. Reload the page.")
        return self.folder / owner if owner else self.folder

    def load(self, key: str) -> T:
        """The upload saved under *key*. Raises ExplorerError if it does not exist (any more)."""
        places = (f"{key}.json", f"*/{key}.json") if KEY.fullmatch(key) else ()
        target = next((found for place in places for found in self.folder.glob(place)), None)
        if target is None:
            raise ExplorerError(
                f"There are no uploaded {self.what} {key!r:.60} here (any more). Upload the file again."
            )
        return self.held(json.loads(target.read_text("utf-8")))


def read_file(path: Path, parse: Callable[[bytes, str], T]) -> T:
    """What *parse* makes of the file *path*. Raises ExplorerError as it does, and if there is no such file."""
    try:
        return parse(path.read_bytes(), path.name)
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read: {error.strerror}. Give the path of a file.") from error


class TextUploads(Uploads[Lines]):
    what = "lines"

    def parse(self, content: bytes, filename: str) -> Lines:
        return parse(content, filename)

    def held(self, stored: dict[str, Any]) -> Lines:
        return Lines(tuple(Line(**line) for line in stored["lines"]), stored.get("summary", stored.get("told", "")))


class RowUploads(Uploads[Rows]):
    what = "rows"

    def parse(self, content: bytes, filename: str) -> Rows:
        return parse_rows(content, filename)

    def held(self, stored: dict[str, Any]) -> Rows:
        return Rows(
            tuple((line, cells) for line, cells in stored["rows"]),
            stored.get("summary", stored.get("told", "")),
        )


def suite_rows(content: bytes, filename: str, header: bool, most: int) -> tuple[Table, SuiteRows]:
    """A table and its rows with their lines, those that could not be read as UNREAD. Raises ExplorerError as `read`
    does, and for rows that are not a suite."""
    table = read(content, filename, header=header, max_rows=most, min_rows=1)
    rows: list[tuple[int, dict[str, Any]]] = [(row.line, row.cells) for row in table.rows]
    cases(rows)
    rows += [(one.line, {UNREAD: one.what}) for one in table.problems]
    rows.sort(key=lambda row: row[0])
    if table.left_out:
        more = f"and the {table.left_out - 1:,} rows after it are" if table.left_out > 1 else "is"
        rows.append((table.beyond, {UNREAD: f"{more} beyond the limit of {most:,} rows"}))
    return table, tuple(rows)


def parse_rows(content: bytes, filename: str, most: int = MAX_ROWS) -> Rows:
    """The rows of a table: CSV, TSV, JSONL, JSON, WinoBias's text, or LM_syneval's pickles. Raises ExplorerError as
    `read` does, and for a file that is no suite."""
    if Path(filename).suffix.lower() in syneval.SUFFIXES:
        return pickled_rows(content, filename, most)
    try:
        table, rows = suite_rows(content, filename, True, most)
    except ExplorerError as error:
        try:  # without column names, as LM_syneval is
            table, rows = suite_rows(content, filename, False, most)
        except ExplorerError:
            raise error from None
    problems = [f"{table.unit} {one.line} {one.what}" for one in table.problems[:2]]
    more = f" {len(table.problems):,} cannot be used: {'; '.join(problems)}." if problems else ""
    return Rows(rows, table.summary + more)


def pickled_rows(content: bytes, filename: str, most: int) -> Rows:
    """The pairs of a file of LM_syneval, numbered from 1. Raises ExplorerError as `syneval` does."""
    name = display_name(filename)
    rows: list[tuple[int, dict[str, Any]]] = list(enumerate(islice(syneval.syneval(content, name), most + 1), start=1))
    if len(rows) > most:
        rows[most:] = [(most + 1, {UNREAD: f"and the rows after it are beyond the limit of {most:,} rows"})]
    cases(rows)
    count = min(len(rows), most)
    return Rows(tuple(rows), f"{count:,} row{'s' * (count != 1)} from {name}: the format of LM_syneval.")


def parse(content: bytes, filename: str) -> Lines:
    """The lines of a CSV or TSV (one per row, from the column of texts) or of a TXT.

    Raises ExplorerError for a file that is empty or too large, is not text, is of another kind, or has more than
    10,000 lines."""
    suffix = Path(filename).suffix.lower()
    name = display_name(filename)
    if suffix not in SUFFIXES:
        kinds = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise ExplorerError(f"{name} is not a {kinds} file. Save it as one of these.")
    text, encoding = decode(content, name)
    if suffix == ".txt":
        lines, how = [Line(line.strip()) for line in re.split(r"\r\n|\n|\r", text)], "a line each"
    else:
        lines, how = table(text, suffix, name)
    kept = tuple(line for line in lines if line.text)
    if not kept:
        raise ExplorerError(f"{name} holds no text. Give a file with a sentence on each line.")
    if len(kept) > MAX_LINES:
        raise ExplorerError(f"{name} holds {len(kept):,} lines; the limit is {MAX_LINES:,}. Give part of it.")
    dropped = len(lines) - len(kept) - (suffix == ".txt" and text.endswith(("\n", "\r")))
    empty = f"; {dropped:,} empty {'lines' if dropped > 1 else 'line'} dropped" if dropped else ""
    return Lines(kept, f"{len(kept):,} line{'s' * (len(kept) > 1)} from {name}: {encoding}, {how}{empty}.")


def table(text: str, suffix: str, name: str) -> tuple[list[Line], str]:
    """(a line for each row, how the file was read)."""
    delimiter = "\t" if suffix == ".tsv" else guess_delimiter(text)
    try:
        found = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise ExplorerError(f"{name} cannot be read as a table: {error}. Save it as CSV again.") from error
    full = [row for row in found if any(cell.strip() for cell in row)]
    first = full[0] if full else []
    odd = [row for row in full if len(row) > len(first)]
    uneven = len({len(row) for row in full}) > 1
    if uneven and (len(first) == 1 or (delimiter == "," and not known(first))):
        found, odd = [[line] for line in text.splitlines()], []  # the commas belong to sentences: each line is one text
    elif known(first):
        found = [row for row in found if len(row) <= len(first)]
    width = max(map(len, found), default=0)
    cells = [[cell.strip() for cell in row] + [""] * (width - len(row)) for row in found]
    filled = [row for row in cells if any(row)]
    if not filled:
        return [], ""
    head = [cell.lower() for cell in filled[0]]
    headed = is_header(filled)
    body = filled[1:] if headed else filled
    column = named(head, TEXT_NAMES) if headed else None
    if column is None:
        column = max(range(width), key=lambda i: sum(len(row[i]) for row in body))
    label = named(head, LABEL_NAMES) if headed else None
    if label == column:
        label = None
    lines = [Line(row[column], "" if label is None else row[label]) for row in body]
    lines += [Line("")] * (len(cells) - len(filled))
    title = f"“{head[column][:30]}”" if headed else f"column {column + 1} of {width}"
    signs = DELIMITERS.get(delimiter, "no signs")
    how = f"{signs}, text in {title}" if width > 1 else f"one column, text in {title}"
    if label is not None:
        how += f", labels in “{head[label][:30]}”"
    ragged = (
        f"; {len(odd):,} with more cells than the first row left out (“{' '.join(odd[0])[:40]}”)"
        if odd and known(first)
        else ""
    )
    return lines, how + (", with a header" if headed else ", no header") + ragged


def known(row: Sequence[str]) -> bool:
    """Whether a cell of the row is a usual name for a column of texts or labels."""
    return any(cell.strip().lower() in (*TEXT_NAMES, *LABEL_NAMES) for cell in row)


def named(head: Sequence[str], names: Sequence[str]) -> int | None:
    """The column with the first of *names* that exists."""
    return next((head.index(name) for name in names if name in head), None)
