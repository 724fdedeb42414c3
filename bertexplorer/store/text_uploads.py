"""Uploads for views: files read as labelled texts or as rows of a suite, stored under a hash of owner and content.

A large file is parsed in a separate process, see `parsing`.
"""

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

from bertexplorer.answers.vectors import Line
from bertexplorer.errors import ExplorerError, describe
from bertexplorer.store.parsing import LARGE_BYTES, parse_apart
from bertexplorer.training.data import delimited
from bertexplorer.training.data.decode import decode, display_name
from bertexplorer.training.data.delimited import DELIMITERS, NO_DELIMITER, best_reading, is_header
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Table
from bertexplorer.views.rows import UNREAD
from bertexplorer.views.suite.cases import cases
from bertexplorer.wording import counted

MAX_LINES = 10_000
MAX_CELLS = 5_000_000  # of a table of lines
MAX_ROWS = 100_000
MAX_UPLOADS = 32  # of one owner; beyond this the oldest are deleted
PICKLES = (".pickle", ".pkl")
SMALLEST_SUITE = "good,bad⏎The dog sleeps.,The dog sleep."  # ⏎ ends a line
SUFFIXES = (".csv", ".tsv", ".txt")
TEXT_NAMES = ("text", "sentence", "line", "content", "document", "question", "review")  # in order of preference
LABEL_NAMES = ("label", "class", "category", "topic")
KEY = re.compile(r"[0-9a-f]{24}")
T = TypeVar("T", bound="Lines | Rows")
SuiteRows = tuple[tuple[int, dict[str, Any]], ...]  # (line, cells by column)
OWNER = re.compile(r"[0-9a-f]{32}|")


@dataclass(frozen=True)
class Lines:
    """The lines of a file, and a message about how it was read."""

    lines: tuple[Line, ...]
    summary: str


@dataclass(frozen=True)
class Rows:
    """The rows of a table, each with its line in the file, and a message about how it was read."""

    rows: SuiteRows
    summary: str


class Uploads(Generic[T]):
    """Uploads in a folder: the newest MAX_UPLOADS of each owner. Safe for many threads and processes.

    Anyone with a key may read the upload, so that links can restore a view of it. Keys cannot be guessed: the hash
    includes the owner, 128 random bits that only one browser knows. So even someone who has the same file cannot
    compute its key."""

    what: str  # the content, for messages

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def parse(content: bytes, filename: str) -> T:
        """Parse a file. Raises ExplorerError."""
        raise NotImplementedError

    def from_json(self, stored: dict[str, Any]) -> T:
        """The same from the JSON that `save` has stored."""
        raise NotImplementedError

    def save(self, content: bytes, filename: str, owner: str = "") -> tuple[str, str]:
        """Store a file for *owner*; return its key and a message about how it was read. Raises ExplorerError as `parse`
        does, and for a full disk."""
        suffix = Path(filename).suffix.lower()
        key = sha256(f"{owner}{suffix}\0".encode() + content).hexdigest()[:24]
        folder = self.folder_of(owner)
        target = folder / f"{key}.json"
        partial = target.with_suffix(f".{os.getpid()}-{os.urandom(4).hex()}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            summary = self.write(content, filename, partial)
            partial.replace(target)
            for old in sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)[:-MAX_UPLOADS]:
                old.unlink(missing_ok=True)
        except OSError as error:
            reason = describe(error)
            raise ExplorerError(f"The {self.what} cannot be saved on the server: {reason}. Make room there.") from error
        finally:
            with suppress(OSError):
                partial.unlink()
        return key, summary

    def write(self, content: bytes, filename: str, target: Path) -> str:
        """Parse a file and write the result as JSON to *target*; return the message about how it was read."""
        if len(content) <= LARGE_BYTES:
            return write_json(self.parse(content, filename), target)
        with TemporaryDirectory(dir=target.parent) as folder:
            source = Path(folder) / "upload"
            source.write_bytes(content)
            return parse_apart(filename, write_parsed, str(source), type(self).__name__, filename, str(target))

    def folder_of(self, owner: str) -> Path:
        """Raises ExplorerError for a malformed owner."""
        if not OWNER.fullmatch(owner):
            raise ExplorerError("The owner of an upload is not known. Reload the page.")
        return self.folder / owner if owner else self.folder

    def load(self, key: str) -> T:
        """The upload saved under *key*. Raises ExplorerError if it does not exist (any more)."""
        patterns = (f"{key}.json", f"*/{key}.json") if KEY.fullmatch(key) else ()
        target = next((path for pattern in patterns for path in self.folder.glob(pattern)), None)
        if target is None:
            raise ExplorerError(
                f"There are no uploaded {self.what} {key!r:.60} here (any more). Upload the file again."
            )
        return self.from_json(json.loads(target.read_text("utf-8")))


def read_file(path: Path, parse: Callable[[bytes, str], T]) -> T:
    """Read and *parse* the file *path*. Raises ExplorerError as *parse* does, and if the file cannot be read."""
    try:
        return parse(path.read_bytes(), path.name)
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read: {error.strerror}. Give the path of a file.") from error


class TextUploads(Uploads[Lines]):
    what = "lines"

    @staticmethod
    def parse(content: bytes, filename: str) -> Lines:
        return parse_lines(content, filename)

    def from_json(self, stored: dict[str, Any]) -> Lines:
        return Lines(tuple(Line(**line) for line in stored["lines"]), stored.get("summary", stored.get("told", "")))


class RowUploads(Uploads[Rows]):
    what = "rows"

    @staticmethod
    def parse(content: bytes, filename: str) -> Rows:
        return parse_rows(content, filename)

    def from_json(self, stored: dict[str, Any]) -> Rows:
        return Rows(
            tuple((line, cells) for line, cells in stored["rows"]),
            stored.get("summary", stored.get("told", "")),
        )


def write_json(parsed: Lines | Rows, target: Path) -> str:
    """Write *parsed* to *target*; return its message."""
    target.write_text(json.dumps(asdict(parsed)), "utf-8")
    return parsed.summary


def write_parsed(source: str, kind: str, filename: str, target: str) -> str:
    """Parse the file *source*, uploaded as *filename*, as an upload of *kind*, and write the result to *target*."""
    kinds: dict[str, type[Uploads[Any]]] = {"TextUploads": TextUploads, "RowUploads": RowUploads}
    return write_json(kinds[kind].parse(Path(source).read_bytes(), filename), Path(target))


def suite_rows(content: bytes, filename: str, header: bool, max_rows: int) -> tuple[Table, SuiteRows]:
    """A table, and its rows with their line numbers; unreadable rows are UNREAD. Raises ExplorerError as `read` does,
    and for rows that are not a suite."""
    table = read(content, filename, header=header, max_rows=max_rows, min_rows=1, example=SMALLEST_SUITE)
    direction = winobias_direction(filename) if table.kind == "text" else {}
    rows: list[tuple[int, dict[str, Any]]] = [(row.line, row.cells | direction) for row in table.rows]
    try:
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
        more = f"and the {table.left_out - 1:,} rows after it are" if table.left_out > 1 else "is"
        rows.append((table.beyond, {UNREAD: f"{more} beyond the limit of {max_rows:,} rows"}))
    return table, tuple(rows)


def winobias_direction(filename: str) -> dict[str, str]:
    """The cell that says whether the sentences of a file of WinoBias are the stereotypes; its name tells."""
    match = re.search("(pro|anti)[-_ ]?stereotyp", Path(filename).name, re.IGNORECASE)
    if not match:
        return {}
    return {"stereo_antistereo": "stereo" if match[1].lower() == "pro" else "antistereo"}


def parse_rows(content: bytes, filename: str, max_rows: int = MAX_ROWS) -> Rows:
    """The rows of a table: CSV, TSV, JSONL, JSON, or WinoBias's text. Raises ExplorerError as `read` does, for a
    pickle, and for a file that is not a suite."""
    if Path(filename).suffix.lower() in PICKLES:
        raise ExplorerError(
            f"{display_name(filename)} is a pickle, which may run code when it is opened, so it is not read. Save its "
            "pairs as CSV with the columns good, bad and category; the documentation on behaviour shows how."
        )
    try:
        table, rows = suite_rows(content, filename, True, max_rows)
    except ExplorerError as error:
        try:  # perhaps the columns have no names, as in LM_syneval
            table, rows = suite_rows(content, filename, False, max_rows)
        except ExplorerError:
            raise error from None
    problems = [f"{table.unit} {problem.line} {problem.what}" for problem in table.problems[:2]]
    more = f" {len(table.problems):,} cannot be used: {'; '.join(problems)}." if problems else ""
    return Rows(rows, table.summary + more)


def parse_lines(content: bytes, filename: str) -> Lines:
    """The lines of a TXT, or of a CSV or TSV: one per row, from the column of texts.

    Raises ExplorerError for a file that is empty or too large, is not text, is of another kind, or has more than
    10,000 lines."""
    suffix = Path(filename).suffix.lower()
    name = display_name(filename)
    if suffix not in SUFFIXES:
        kinds = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise ExplorerError(f"{name} is not a {kinds} file. Save it as one of these.")
    text, encoding = decode(content, name)
    if suffix == ".txt":
        check_count(io.StringIO(text, newline=""), name)
        lines, how = [Line(line.strip()) for line in split_lines(text)], "a line each"
    else:
        lines, how = parse_table(text, suffix, name)
    filled = tuple(line for line in lines if line.text)
    if not filled:
        raise ExplorerError(f"{name} contains no text. Give a file with a sentence on each line.")
    check_count((line.text for line in filled), name)
    dropped = len(lines) - len(filled)
    empty = f"; {counted(dropped, 'empty line')} dropped" if dropped else ""
    return Lines(filled, f"{counted(len(filled), 'line')} from {name}: {encoding}, {how}{empty}.")


def check_count(lines: Iterable[str], name: str) -> None:
    """Count the *lines* that are not blank. Raises ExplorerError at the first one beyond MAX_LINES."""
    filled = (line for line in lines if line.strip())
    if next(islice(filled, MAX_LINES, None), None) is not None:
        raise ExplorerError(f"{name} has more than {MAX_LINES:,} lines, which is the limit. Give part of it.")


def parse_table(text: str, suffix: str, name: str) -> tuple[list[Line], str]:
    """(a line for each row, how the file was read). Raises ExplorerError for a file without a row that can be read."""
    named, text = delimited.named_delimiter(text)
    delimiter = named or ("\t" if suffix == ".tsv" else delimited.guess_delimiter(text))
    try:
        rows, left_out = read_rows(text, delimiter)
    except ExplorerError as error:
        raise ExplorerError(f"{name}: {error}") from error
    width = max(map(len, rows), default=0)
    if width * len(rows) > MAX_CELLS:
        raise ExplorerError(f"{name} has {len(rows):,} rows of {width:,} cells; wanted {MAX_CELLS:,} cells at most.")
    cells = [[cell.strip() for cell in row] + [""] * (width - len(row)) for row in rows]
    filled = [row for row in cells if any(row)]
    has_header = bool(filled) and is_header(filled)
    body = filled[has_header:]
    if not body:
        if left_out:
            raise ExplorerError(f"{name} has no row of text{left_out}. Save it as CSV again.")
        return [], ""
    header = [cell.lower() for cell in filled[0]]
    column = find_column(header, TEXT_NAMES) if has_header else None
    if column is None:
        column = max(range(width), key=lambda i: sum(len(row[i]) for row in body))
    label = find_column(header, LABEL_NAMES) if has_header else None
    if label == column:
        label = None
    lines = [Line(row[column], "" if label is None else row[label]) for row in body]
    lines += [Line("")] * (len(cells) - len(filled) - bool(named))
    title = f"“{header[column][:30]}”" if has_header else f"column {column + 1} of {width}"
    delimiters = DELIMITERS.get(delimiter, "no signs")
    how = f"{delimiters}, text in {title}" if width > 1 else f"one column, text in {title}"
    if label is not None:
        how += f", labels in “{header[label][:30]}”"
    return lines, how + (", with a header" if has_header else ", no header") + left_out


def read_rows(text: str, delimiter: str) -> tuple[list[list[str]], str]:
    """(the rows, how quotes were read and which rows were left out). In a file of one column, a row that is not valid
    CSV is a text as it stands. Each line is one text where the commas are those of sentences: the rows differ in width,
    and no column has a usual name or there is only one."""
    first_records, remaining, note = best_reading(text, delimiter, MAX_LINES + 2)
    records = list(first_records)
    filled = sum(isinstance(row, list) and any(row) for _, _, row in records)
    for record in remaining:
        records.append(record)
        filled += isinstance(record[2], list) and any(record[2])
        if filled > MAX_LINES + 1:  # one may be the header
            raise ExplorerError(f"The table has more than {MAX_LINES:,} lines, which is the limit. Give part of it.")
    rows = [row for _, _, row in records if isinstance(row, list)]
    full = [row for row in rows if any(cell.strip() for cell in row)]
    first = full[0] if full else []
    named = has_known_name(first)
    if len({len(row) for row in full}) > 1 and (len(first) == 1 or (delimiter == "," and not named)):
        return [[line] for line in split_lines(text)], ""
    if delimiter == NO_DELIMITER:
        lines = split_lines(text)
        return [row if isinstance(row, list) else [lines[number - 1]] for number, _, row in records], note
    wide = [row for row in full if len(row) > len(first)] if named else []
    if wide:
        note += f"; {count_rows(wide)} with more cells than the first row left out (“{' '.join(wide[0])[:40]}”)"
    if broken := [f"line {number:,}: {row}" for number, _, row in records if isinstance(row, str)]:
        note += f"; {count_rows(broken)} left out ({'; '.join(broken[:3])}{'; …' if len(broken) > 3 else ''})"
    return [row for row in rows if len(row) <= len(first)] if named else rows, note


def count_rows(rows: Sequence[object]) -> str:
    return counted(len(rows), "row")


def split_lines(text: str) -> list[str]:
    """The lines of *text*, which end as on Windows, Unix or the first Macs, and nowhere else."""
    return re.split(r"\r\n|\n|\r", re.sub(r"(\r\n|\n|\r)\Z", "", text))


def has_known_name(row: Sequence[str]) -> bool:
    """Whether a cell of *row* is a usual name for a column of texts or labels."""
    return any(cell.strip().lower() in (*TEXT_NAMES, *LABEL_NAMES) for cell in row)


def find_column(header: Sequence[str], names: Sequence[str]) -> int | None:
    """The column with the first of *names* that exists."""
    return next((header.index(name) for name in names if name in header), None)
