"""CSV and TSV, read strictly: a row of the wrong width is a problem and never shifted into place."""

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.guess import KNOWN, normalized_name
from bertexplorer.training.data.rows import MAX_COLUMNS, Entry, ParsedFile
from bertexplorer.wording import counted

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
NO_DELIMITER = "\x1f"  # the delimiter of a file with one column
MAX_BROKEN = 200  # unclosed quotes; the lines after each are read twice
QUOTED = re.compile(r'"(?:[^"]|"")*"')
NAMED = re.compile(r'"?sep=([^\w\s"]|\t)"?[ ]*(?=[\r\n])', re.IGNORECASE)  # Excel's first line, such as sep=;
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
Record = tuple[int, int, list[str] | str]  # first line, last line, its fields or why it cannot be read
Records = Iterator[Record]
REASONS = {
    "unexpected end": "a quote opens here and is never closed",
    "field larger": "a cell of more than 131,072 characters, or a quote that is never closed",
    "expected after": "there is text after a closing quote; a quote within a quoted cell is written twice",
}


def parse_table(
    text: str, name: str, *, delimiter: str = "", header: bool | None = None, max_rows: int = 50_000
) -> ParsedFile:
    """A row per record of *text*, all of one width. *delimiter* "" and *header* None are detected; without a header the
    columns are called "column 1" and so on. Raises ExplorerError for more than 50 columns, for a delimiter that is not
    one character, and for more than 200 unclosed quotes."""
    if delimiter != "\t" and (not delimiter.isprintable() or delimiter in ('"', " ") or len(delimiter) > 1):
        raise ExplorerError(f"The delimiter is {delimiter!r:.20}; wanted one character: comma, semicolon, tab or bar.")
    # 1. The records
    named, text = named_delimiter(text)
    delimiter = delimiter or named or guess_delimiter(text)
    reading = best_reading(text, delimiter, max_rows + 2)
    fields = filled_rows(reading.first)
    if not fields:
        unread = [(line, row) for line, _, row in reading.first if isinstance(row, str)]
        return ParsedFile(unread, "no row that can be read")

    # 2. The columns
    has_header = is_header(fields) if header is None else header
    width = len(fields[0]) if has_header else common_width(fields)
    if width > MAX_COLUMNS:
        raise ExplorerError(f"{name} has {width:,} columns; the limit is {MAX_COLUMNS}. Leave some out.")
    columns = column_names(fields[0] if has_header else [""] * width)

    # 3. How it was read, for people
    how = "one column"
    if width > 1:
        how = f"{DELIMITERS.get(delimiter, repr(delimiter))} between columns"
    if delimiter == named:
        how += ", as line 1 says"
    how += reading.quote_note
    if has_header:
        how += ", with a header"
        for note in repeated_names(fields[0]):
            how += f", {note}"
    else:
        how += ", no header"
    empty = sum(isinstance(row, list) and bool(row) and not any(row) for _, _, row in reading.first)
    if empty:
        how += f", {counted(empty, 'empty row')} skipped"
    return ParsedFile(entries(chain(reading.first, reading.others), columns, has_header), how, columns)


def filled_rows(records: Iterable[Record]) -> list[list[str]]:
    """The fields of the records that can be read and are not empty."""
    return [row for _, _, row in records if isinstance(row, list) and any(row)]


def entries(records: Iterator[Record], columns: Sequence[str], has_header: bool) -> Iterator[Entry]:
    """The cells of each record, skipping the header and empty records."""
    for line, last, row in records:
        if isinstance(row, str):
            yield line, row
        elif has_header and any(row):
            has_header = False
        elif len(row) == len(columns):
            if any(row):
                yield line, dict(zip(columns, row, strict=True))
        elif any(row):
            extent = f" (it continues to line {last}: is a quote left open?)" if last > line else ""
            yield line, f"has {counted(len(row), 'field')}, expected {len(columns)}{extent}"


class Reading(NamedTuple):
    """The records of a text."""

    first: list[Record]
    others: Records
    quote_note: str  # a remark on quotes, as part of a sentence


def best_reading(text: str, delimiter: str, max_records: int) -> Reading:
    """The reading of *text* with the fewest rows of an unusual width among the first *max_records*. Quotes in a
    tab-separated file are often part of the text, as in the GLUE files. Raises ExplorerError if every reading has more
    than 200 unclosed quotes."""
    # 1. The ways to read it
    quoted = partial(read_records, text, delimiter=delimiter, strict=True)
    tabbed = delimiter == "\t"
    if tabbed:
        ways = (partial(read_records, text, delimiter=delimiter, quoting=csv.QUOTE_NONE), quoted)
    else:
        ways = (quoted, partial(quoted, skipinitialspace=True))

    # 2. The one with the fewest faults; of equal ones the first, or the last of tabs
    best: Reading | None = None
    best_way = fewest = 0
    refusal: ExplorerError | None = None
    for number, read in enumerate(ways):
        remaining = read()
        try:
            first = list(islice(remaining, max_records))
        except ExplorerError as error:
            refusal = error
            continue
        rows = filled_rows(first)
        width = common_width(rows)
        unreadable = [row for _, _, row in first if isinstance(row, str)]
        uneven = [row for row in rows if len(row) != width]
        faults = len(unreadable) + len(uneven)
        if best is None or faults < fewest or (faults == fewest and tabbed):
            best = Reading(first, remaining, "")
            best_way = number
            fewest = faults
        if not fewest:
            break
    if best is None:
        assert refusal is not None  # every way was refused
        raise refusal

    # 3. Of tabs, whether the quotes are part of the text
    quotes_are_text = tabbed and best_way == 0
    if not quotes_are_text:
        return best
    starting_cells = [cell for row in filled_rows(best.first) for cell in row if cell.startswith('"')]
    if not all(map(QUOTED.fullmatch, starting_cells)):
        return best._replace(quote_note=", quotes are part of the text")
    return Reading(list(map(unquote, best.first)), map(unquote, best.others), "")


def read_records(text: str, **dialect: object) -> Iterator[Record]:
    """The records of *text*, blank lines as empty lists. After a broken record, reading resumes at its second line, so
    that an unclosed quote spoils no other row. *dialect*: as for csv.reader. Raises ExplorerError for more than 200
    unclosed quotes."""
    source = io.StringIO(text, newline="")
    again = deque[str]()  # lines to read once more
    consumed = list[str]()  # lines of the current record
    start = 1  # its first line
    failures = 0

    def recorded() -> Iterator[str]:
        while line := again.popleft() if again else source.readline():
            consumed.append(line)
            yield line

    reader = csv.reader(recorded(), **dialect)  # type: ignore[arg-type]
    while True:
        try:
            row: list[str] | str = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            failures += len(consumed) > 1
            if failures > MAX_BROKEN:
                raise ExplorerError(
                    f"More than {MAX_BROKEN} rows have quotes that are not closed, the last in line {start:,}. "
                    "Save the file as CSV again, or choose another delimiter."
                ) from error
            row = next((words for part, words in REASONS.items() if part in str(error)), str(error))
            again.extendleft(reversed(consumed[1:]))
            del consumed[1:]
            reader = csv.reader(recorded(), **dialect)  # type: ignore[arg-type]
        yield start, start + len(consumed) - 1, row
        start += len(consumed)
        consumed.clear()


def named_delimiter(text: str) -> tuple[str, str]:
    """(the delimiter that a first line such as sep=; names, *text* with that line empty); ("", *text*) without one."""
    match = NAMED.match(text)
    if not match:
        return "", text
    return match[1], text[match.end() :]


def guess_delimiter(text: str) -> str:
    """The delimiter under which most records are as wide as the first, with a width above 1; NO_DELIMITER if there is
    none."""
    start = "".join(islice(io.StringIO(text[:50_000], newline=""), 200))

    def score(sign: str) -> tuple[float, float]:
        """(the share of the records that are as wide as the first, the share that is wider than one field)."""
        quoting = csv.QUOTE_NONE if sign == "\t" else csv.QUOTE_MINIMAL
        records = read_records(start, delimiter=sign, quoting=quoting)
        rows = [row for _, _, row in records if isinstance(row, list) and row]
        if not rows or len(rows[0]) < 2:
            return 0.0, 0.0
        widths = Counter(map(len, rows))
        return widths[len(rows[0])] / len(rows), 1 - widths[1] / len(rows)

    best = max(DELIMITERS, key=score)
    return best if score(best) > (0, 0) else NO_DELIMITER


def is_tabbed(text: str) -> bool:
    """Whether a text is a table although its name does not say so: every line contains tabs, equally many."""
    lines = [line.strip() for line in islice(io.StringIO(text, newline=""), 200) if line.strip()]
    return len(lines) > 1 and lines[0].count("\t") > 0 and len({line.count("\t") for line in lines}) == 1


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of *rows* names the columns: it contains a known name, or a word where all other rows have a
    number, or a word that does not recur in a column of few values."""
    head, below = rows[0], rows[1:200]
    if len(head) > MAX_COLUMNS:
        return False
    like_names = len(head) > 1 and len(set(head)) == len(head) and max(map(len, head)) <= 60
    for i, cell in enumerate(head):
        values = [row[i] for row in below if i < len(row)]
        if not cell.strip() or cell in values or NUMBER.fullmatch(cell.strip()):
            continue
        above_numbers = values and all(NUMBER.fullmatch(value.strip()) for value in values)
        if normalized_name(cell) in KNOWN or above_numbers:
            return True
        above_labels = len(values) >= 4 and len(set(values)) <= len(values) / 2 and all(values)
        if like_names and above_labels:
            return True
    return False


def repeated_names(head: Sequence[str]) -> list[str]:
    """A remark for each name that several columns have."""
    counts = Counter(name for cell in head if (name := cell.strip()))
    return [
        f"{count} columns called “{name[:40]}”: the later ones are read as “{name[:40]} (2)” and so on"
        for name, count in counts.items()
        if count > 1
    ]


def column_names(head: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns: stripped, "column 2" for an empty one, "text (2)" for a repeated one."""
    names: list[str] = []
    for i, cell in enumerate(head):
        name = plain_name = cell.strip().strip("\ufeff").strip() or f"column {i + 1}"
        number = 1
        while name in names:
            number += 1
            name = f"{plain_name} ({number})"
        names.append(name)
    return tuple(names)


def common_width(rows: Sequence[Sequence[str]]) -> int:
    """The most frequent width."""
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def unquote(record: Record) -> Record:
    """*record* with its quoted cells without their quotes."""
    line, last, row = record
    if isinstance(row, str):
        return record
    cells = []
    for cell in row:
        is_quoted = QUOTED.fullmatch(cell)
        cells.append(cell[1:-1].replace('""', '"') if is_quoted else cell)
    return line, last, cells
