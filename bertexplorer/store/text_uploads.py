"""Uploads for views, such as a file read as labelled texts, stored under a hash of owner and content.

A large file is parsed in a separate process, see `parsing`.
"""

import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from bertexplorer.answers.vectors import LabelledLine
from bertexplorer.errors import ExplorerError, describe
from bertexplorer.store.parsing import LARGE_BYTES, parse_apart
from bertexplorer.training.data import delimited, jsonl
from bertexplorer.training.data.decode import decode, display_name
from bertexplorer.training.data.delimited import DELIMITERS, NO_DELIMITER, best_reading, is_header
from bertexplorer.wording import counted

MAX_LINES = 10_000
MAX_CELLS = 5_000_000  # of a table of lines
MAX_UPLOADS = 32  # of one owner; beyond this the oldest are deleted
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".txt")
TEXT_NAMES = ("text", "sentence", "line", "content", "document", "question", "review")  # in order of preference
LABEL_NAMES = ("label", "class", "category", "topic")
KEY = re.compile(r"[0-9a-f]{24}")
T = TypeVar("T", bound="Parsed")
OWNER = re.compile(r"[0-9a-f]{32}|")


class Parsed(Protocol):
    """What is stored of an upload: a dataclass, with a message about how the file was read."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def summary(self) -> str:
        """The message."""

    @property
    def content(self) -> Any:
        """What a view is given of it."""


@dataclass(frozen=True)
class UploadedLines:
    """The lines of a file, and a message about how it was read."""

    lines: tuple[LabelledLine, ...]
    summary: str

    @property
    def content(self) -> tuple[LabelledLine, ...]:
        return self.lines


class Uploads(Generic[T]):
    """Uploads in a folder: the newest MAX_UPLOADS of each owner. Safe for many threads and processes.

    Anyone with a key may read the upload, so that links can restore a view of it. Keys cannot be guessed: the hash
    includes the owner, 128 random bits that only one browser knows. So even someone who has the same file cannot
    compute its key."""

    what: str  # the content, for messages
    write_file: Callable[[str, str, str], str]  # as `write_lines`, a function that another process can import

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
            by_age = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
            for old in by_age[:-MAX_UPLOADS]:
                old.unlink(missing_ok=True)
        except OSError as error:
            reason = describe(error)
            raise ExplorerError(f"The {self.what} cannot be saved on the server: {reason}. Make room there.") from error
        finally:
            with suppress(OSError):  # it has its name, or was never written
                partial.unlink()
        return key, summary

    def write(self, content: bytes, filename: str, target: Path) -> str:
        """Parse a file and write the result as JSON to *target*; return the message about how it was read."""
        is_zip = filename.lower().endswith(".zip")  # what is in it may be large
        if len(content) <= LARGE_BYTES and not is_zip:
            return write_json(self.parse(content, filename), target)
        with TemporaryDirectory(dir=target.parent) as folder:
            source = Path(folder) / "upload"
            source.write_bytes(content)
            return parse_apart(filename, self.write_file, str(source), filename, str(target))

    def folder_of(self, owner: str) -> Path:
        """The folder of the uploads of *owner*, "" for none. Raises ExplorerError for a malformed owner."""
        if not OWNER.fullmatch(owner):
            raise ExplorerError("The owner of an upload is not known. Reload the page.")
        return self.folder / owner if owner else self.folder

    def find(self, key: str) -> Path | None:
        """The file of the upload saved under *key*; None if it does not exist (any more)."""
        if not KEY.fullmatch(key):
            return None
        for pattern in (f"{key}.json", f"*/{key}.json"):
            for path in self.folder.glob(pattern):
                return path
        return None

    def load(self, key: str) -> T:
        """The upload saved under *key*. Raises ExplorerError if it does not exist (any more)."""
        target = self.find(key)
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


def write_json(parsed: Parsed, target: Path) -> str:
    """Write *parsed* to *target*; return its message."""
    target.write_text(json.dumps(asdict(parsed)), "utf-8")
    return parsed.summary


def write_lines(source: str, filename: str, target: str) -> str:
    """Parse the file *source*, uploaded as *filename*, and write its lines to *target*; return the message."""
    return write_json(parse_lines(Path(source).read_bytes(), filename), Path(target))


class TextUploads(Uploads[UploadedLines]):
    """Uploaded files of lines."""

    what = "lines"
    write_file = staticmethod(write_lines)

    @staticmethod
    def parse(content: bytes, filename: str) -> UploadedLines:
        return parse_lines(content, filename)

    def from_json(self, stored: dict[str, Any]) -> UploadedLines:
        lines = tuple(LabelledLine(**line) for line in stored["lines"])
        summary = stored.get("summary", stored.get("told", ""))  # the second: as older versions called it
        return UploadedLines(lines, summary)


def parse_lines(content: bytes, filename: str, most: int = MAX_LINES) -> UploadedLines:
    """The lines of a TXT, or of a CSV, TSV or JSONL: one per row, from the column of texts.

    Raises ExplorerError for a file that is empty or too large, is not text, is of another kind, or has more than
    *most* lines."""
    suffix = Path(filename).suffix.lower()
    name = display_name(filename)
    if suffix not in SUFFIXES:
        kinds = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise ExplorerError(f"{name} is not a {kinds} file. Save it as one of these.")
    text, encoding = decode(content, name)
    if suffix == ".txt":
        check_count(io.StringIO(text, newline=""), name, most)
        lines = [LabelledLine(line.strip(), line=number) for number, line in enumerate(split_lines(text), 1)]
        how = "a line each"
    elif suffix in (".jsonl", ".ndjson"):
        check_count(io.StringIO(text, newline=""), name, most)
        lines, how = parse_objects(text, name, most)
    else:
        lines, how = parse_table(text, suffix, name, most)
    filled = tuple(line for line in lines if line.text)
    if not filled:
        raise ExplorerError(f"{name} contains no text. Give a file with a sentence on each line.")
    check_count((line.text for line in filled), name, most)
    summary = f"{counted(len(filled), 'line')} from {name}: {encoding}, {how}"
    if dropped := len(lines) - len(filled):
        summary += f"; {counted(dropped, 'empty line')} dropped"
    return UploadedLines(filled, f"{summary}.")


def check_count(lines: Iterable[str], name: str, most: int) -> None:
    """Count the *lines* that are not blank. Raises ExplorerError at the first one beyond *most*."""
    filled = (line for line in lines if line.strip())
    if next(islice(filled, most, None), None) is not None:
        raise ExplorerError(f"{name} has more than {most:,} lines, which is the limit. Give part of it.")


def parse_objects(text: str, name: str, most: int) -> tuple[list[LabelledLine], str]:
    """(a line for each object of JSON Lines, how the file was read). Raises ExplorerError for a file without one."""
    # 1. The objects, and the lines that are none.
    objects: list[tuple[int, dict[str, str]]] = []
    broken: list[tuple[int, str]] = []
    characters: Counter[str] = Counter()  # of each name
    for number, cells in jsonl.line_entries(text, most):
        if isinstance(cells, str):
            broken.append((number, cells))
            continue
        texts: dict[str, str] = {}
        for cell, value in cells.items():
            if isinstance(value, str):
                texts[cell.lower()] = value.strip()
                characters[cell.lower()] += len(value)
        objects.append((number, texts))
    if broken and not objects:
        number, what = broken[0]
        raise ExplorerError(f"{name} has no object on a line: line {number:,} {what}. Save it as JSON Lines again.")
    # 2. Which of their values are the texts, and which the labels.
    longest = max(characters, key=characters.__getitem__, default="")
    column = next((usual for usual in TEXT_NAMES if usual in characters), longest)
    label = next((usual for usual in LABEL_NAMES if usual in characters and usual != column), "")
    lines = []
    for number, texts in objects:
        lines.append(LabelledLine(texts.get(column, ""), texts.get(label, ""), number))
    how = f"JSON, one object per line, text in “{column[:30]}”"
    if label:
        how += f", labels in “{label[:30]}”"
    return lines, how + left_out_note(broken)


def parse_table(text: str, suffix: str, name: str, most: int) -> tuple[list[LabelledLine], str]:
    """(a line for each row, how the file was read). Raises ExplorerError for a file without a row that can be read."""
    # 1. The rows with text.
    named, text = delimited.named_delimiter(text)
    delimiter = named or ("\t" if suffix == ".tsv" else delimited.guess_delimiter(text))
    try:
        rows, left_out = read_rows(text, delimiter, most)
    except ExplorerError as error:
        raise ExplorerError(f"{name}: {error}") from error
    width = max((len(row) for _, row in rows), default=0)
    if width * len(rows) > MAX_CELLS:
        raise ExplorerError(f"{name} has {len(rows):,} rows of {width:,} cells; wanted {MAX_CELLS:,} cells at most.")
    filled = padded_rows(rows, width)
    blank = len(rows) - len(filled)
    if named:  # a line names the delimiter, and is left blank
        blank -= 1
    # 2. The header, and which columns hold the texts and the labels.
    has_header = bool(filled) and is_header([cells for _, cells in filled])
    header = [cell.lower() for cell in filled[0][1]] if has_header else []
    body = filled[1:] if has_header else filled
    if not body:
        if left_out:
            raise ExplorerError(f"{name} has no row of text{left_out}. Save it as CSV again.")
        return [], ""
    column = find_column(header, TEXT_NAMES)
    if column is None:  # the one with most text
        column = max(range(width), key=lambda i: sum(len(cells[i]) for _, cells in body))
    label = find_column(header, LABEL_NAMES)
    if label == column:
        label = None
    # 3. The lines.
    lines = []
    for number, cells in body:
        lines.append(LabelledLine(cells[column], "" if label is None else cells[label], number))
    lines += [LabelledLine("")] * blank
    how = DELIMITERS.get(delimiter, "no signs") if width > 1 else "one column"
    how += f", text in “{header[column][:30]}”" if has_header else f", text in column {column + 1} of {width}"
    if label is not None:
        how += f", labels in “{header[label][:30]}”"
    how += ", with a header" if has_header else ", no header"
    return lines, how + left_out


def padded_rows(rows: Sequence[tuple[int, list[str]]], width: int) -> list[tuple[int, list[str]]]:
    """Those of *rows*, each with its line, that have text: their cells stripped, and *width* of them."""
    padded = []
    for number, row in rows:
        cells = [cell.strip() for cell in row] + [""] * (width - len(row))
        if any(cells):
            padded.append((number, cells))
    return padded


def read_rows(text: str, delimiter: str, most: int) -> tuple[list[tuple[int, list[str]]], str]:
    """(the rows, each with its line, how quotes were read and which rows were left out). In a file of one column, a row
    that is not valid CSV is a text as it stands. Each line is one text where the commas are those of sentences: the
    rows differ in width, and no column has a usual name or there is only one."""
    # 1. The records: a list of cells, or what is wrong with the row.
    first_records, remaining, note = best_reading(text, delimiter, most + 2)
    rows: list[tuple[int, list[str]]] = []
    broken: list[tuple[int, str]] = []
    filled = 0
    for number, _, cells in chain(first_records, remaining):
        if isinstance(cells, str):
            broken.append((number, cells))
            continue
        rows.append((number, cells))
        filled += any(cells)
        if filled > most + 1:  # one may be the header
            raise ExplorerError(f"The table has more than {most:,} lines, which is the limit. Give part of it.")
    # 2. Files of which each line is a text.
    full = [cells for _, cells in rows if "".join(cells).strip()]
    first = full[0] if full else []
    named = has_known_name(first)
    widths = {len(cells) for cells in full}
    if len(widths) > 1 and (len(first) == 1 or (delimiter == "," and not named)):
        return [(number, [line]) for number, line in enumerate(split_lines(text), 1)], ""
    if delimiter == NO_DELIMITER:
        lines = split_lines(text)
        rows += [(number, [lines[number - 1]]) for number, _ in broken]
        return sorted(rows, key=lambda row: row[0]), note
    # 3. Tables, whose first row says how many cells a row has.
    if named:
        wide = [cells for cells in full if len(cells) > len(first)]
        rows = [(number, cells) for number, cells in rows if len(cells) <= len(first)]
        if wide:
            title = " ".join(wide[0])[:40]
            note += f"; {counted(len(wide), 'row')} with more cells than the first row left out (“{title}”)"
    return rows, note + left_out_note(broken)


def left_out_note(broken: Sequence[tuple[int, str]]) -> str:
    """How many rows were left out, with the lines and the reasons of the first three; "" for none."""
    if not broken:
        return ""
    reasons = "; ".join(f"line {number:,}: {what}" for number, what in broken[:3])
    if len(broken) > 3:
        reasons += "; …"
    return f"; {counted(len(broken), 'row')} left out ({reasons})"


def split_lines(text: str) -> list[str]:
    """The lines of *text*, which end as on Windows, Unix or the first Macs, and nowhere else."""
    return re.split(r"\r\n|\n|\r", re.sub(r"(\r\n|\n|\r)\Z", "", text))


def has_known_name(row: Sequence[str]) -> bool:
    """Whether a cell of *row* is a usual name for a column of texts or labels."""
    return any(cell.strip().lower() in (*TEXT_NAMES, *LABEL_NAMES) for cell in row)


def find_column(header: Sequence[str], names: Sequence[str]) -> int | None:
    """The column with the first of *names* that exists."""
    return next((header.index(name) for name in names if name in header), None)
