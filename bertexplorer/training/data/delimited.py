"""CSV and TSV, read strictly: a row of the wrong width is a problem and never shifted into place."""

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice

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
    named, text = named_delimiter(text)
    delimiter = delimiter or named or guess_delimiter(text)
    first_records, other_records, quote_note = best_reading(text, delimiter, max_rows + 2)
    fields = [row for _, _, row in first_records if isinstance(row, list) and any(row)]
    if not fields:
        unread = [(line, row) for line, _, row in first_records if isinstance(row, str)]
        return ParsedFile(unread, "no row that can be read")

    has_header = is_header(fields) if header is None else header
    width = len(fields[0]) if has_header else common_width(fields)
    if width > MAX_COLUMNS:
        raise ExplorerError(f"{name} has {width:,} columns; the limit is {MAX_COLUMNS}. Leave some out.")
    columns = column_names(fields[0] if has_header else [""] * width)

    # How it was read, for people
    how = "one column"
    if width > 1:
        how = f"{DELIMITERS.get(delimiter, repr(delimiter))} between columns"
    if delimiter == named:
        how += ", as line 1 says"
    how += quote_note
    if has_header:
        how += "".join([", with a header", *(f", {note}" for note in repeated_names(fields[0]))])
    else:
        how += ", no header"
    empty = sum(isinstance(row, list) and bool(row) and not any(row) for _, _, row in first_records)
    if empty:
        how += f", {counted(empty, 'empty row')} skipped"
    return ParsedFile(entries(chain(first_records, other_records), columns, has_header), how, columns)


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


def best_reading(text: str, delimiter: str, max_records: int) -> tuple[list[Record], Iterator[Record], str]:
    """The reading of *text* with the fewest rows of an unusual width: (the first records, the others, a remark on
    quotes). Quotes in a tab-separated file are often part of the text, as in the GLUE files. Raises ExplorerError if
    every reading has more than 200 unclosed quotes."""
    quoted = partial(read_records, text, delimiter=delimiter, strict=True)
    if delimiter != "\t":
        readings = (quoted, partial(quoted, skipinitialspace=True))
    else:
        readings = (partial(read_records, text, delimiter=delimiter, quoting=csv.QUOTE_NONE), quoted)
    fewest, chosen = -1, 0
    refusal: ExplorerError | None = None
    for i, reading in enumerate(readings):
        remaining = reading()
        try:
            first_records = list(islice(remaining, max_records))
        except ExplorerError as error:
            refusal = error
            continue
        rows = [row for _, _, row in first_records if isinstance(row, list) and any(row)]
        width = common_width(rows)
        faults = sum(isinstance(row, str) for _, _, row in first_records) + sum(len(row) != width for row in rows)
        if fewest < 0 or faults < fewest or (faults == fewest and delimiter == "\t"):
            fewest = faults
            chosen = i
            best_records = first_records
            best_remaining = remaining
        if not fewest:
            break
    if refusal and fewest < 0:
        raise refusal
    if delimiter != "\t" or chosen == 1:
        return best_records, best_remaining, ""
    cells = [cell for _, _, row in best_records if isinstance(row, list) for cell in row if cell.startswith('"')]
    if not all(map(QUOTED.fullmatch, cells)):
        return best_records, best_remaining, ", quotes are part of the text"
    return list(map(unquote, best_records)), map(unquote, best_remaining), ""


def read_records(text: str, **dialect: object) -> Iterator[Record]:
    """The records of *text*, blank lines as empty lists. After a broken record, reading resumes at its second line, so
    that an unclosed quote spoils no other row."""
    source, again = io.StringIO(text, newline=""), deque[str]()
    start = 1
    failures = 0
    consumed = list[str]()

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
    return (match[1], text[match.end() :]) if match else ("", text)


def guess_delimiter(text: str) -> str:
    """The delimiter under which most records are as wide as the first, with a width above 1; NO_DELIMITER if there is
    none."""
    start = "".join(islice(io.StringIO(text[:50_000], newline=""), 200))

    def score(sign: str) -> tuple[float, float]:
        quoting = csv.QUOTE_NONE if sign == "\t" else csv.QUOTE_MINIMAL
        rows = [
            row for _, _, row in read_records(start, delimiter=sign, quoting=quoting) if isinstance(row, list) and row
        ]
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
    names = len(head) > 1 and len(set(head)) == len(head) and max(map(len, head)) <= 60
    for i, cell in enumerate(head):
        values = [row[i] for row in below if i < len(row)]
        if not cell.strip() or cell in values or NUMBER.fullmatch(cell.strip()):
            continue
        if normalized_name(cell) in KNOWN or (values and all(NUMBER.fullmatch(value.strip()) for value in values)):
            return True
        if names and len(values) >= 4 and len(set(values)) <= len(values) / 2 and all(values):
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
        name = cell.strip().strip("\ufeff").strip() or f"column {i + 1}"
        numbered = (other for n in range(2, len(head) + 2) if (other := f"{name} ({n})") not in names)
        names.append(next(numbered) if name in names else name)
    return tuple(names)


def common_width(rows: Sequence[Sequence[str]]) -> int:
    """The most frequent width."""
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def unquote(record: Record) -> Record:
    line, last, row = record
    if isinstance(row, str):
        return record
    return line, last, [c[1:-1].replace('""', '"') if QUOTED.fullmatch(c) else c for c in row]
