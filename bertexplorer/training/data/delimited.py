"""CSV and TSV, read strictly: a row of the wrong width is a problem and never shifted into place."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.guess import KNOWN, plain
from bertexplorer.training.data.rows import MAX_COLUMNS, Entry, Parsed

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
NONE = "\x1f"  # the delimiter of a file with one column
MAX_BROKEN = 200  # unclosed quotes; each costs a second reading of what it swallowed
QUOTED = re.compile(r'"(?:[^"]|"")*"')
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
Record = tuple[int, int, list[str] | str]  # first line, last line, its fields or why it cannot be read
REASONS = {
    "unexpected end": "a quote opens here and is never closed",
    "field larger": "a cell of more than 131,072 characters, or a quote that is never closed",
    "expected after": "there is text after a closing quote; a quote within a quoted cell is written twice",
}


def table(text: str, name: str, *, delimiter: str = "", header: bool | None = None, most: int = 50_000) -> Parsed:
    """A row per record of *text*, all of one width. *delimiter* "" and *header* None are detected; without a header the
    columns are called "column 1" and so on. Raises ExplorerError for more than 50 columns, for a delimiter that is not
    one character, and for more than 200 unclosed quotes."""
    if delimiter != "\t" and (not delimiter.isprintable() or delimiter in ('"', " ") or len(delimiter) > 1):
        raise ExplorerError(f"The delimiter is {delimiter!r:.20}; wanted one character: comma, semicolon, tab or bar.")
    sign = delimiter or separator(text)
    found, later, literal = variant(text, sign, most + 2)
    fields = [row for _, _, row in found if isinstance(row, list) and any(row)]
    if not fields:
        return Parsed([(line, row) for line, _, row in found if isinstance(row, str)], "no row that can be read")
    headed = is_header(fields) if header is None else header
    width = len(fields[0]) if headed else usual(fields)
    if width > MAX_COLUMNS:
        raise ExplorerError(f"{name} has {width:,} columns; the limit is {MAX_COLUMNS}. Leave some out.")
    columns = titles(fields[0] if headed else [""] * width)
    how = (f"{DELIMITERS.get(sign, repr(sign))} between columns" if width > 1 else "one column") + literal
    how += ", with a header" if headed else ", no header"
    how += "".join(f", {note}" for note in repeated(fields[0])) if headed else ""
    empty = sum(isinstance(row, list) and bool(row) and not any(row) for _, _, row in found)
    how += f", {empty:,} empty row{'s' * (empty > 1)} skipped" if empty else ""
    return Parsed(entries(chain(found, later), columns, headed), how, columns)


def entries(found: Iterator[Record], columns: Sequence[str], headed: bool) -> Iterator[Entry]:
    """The cells of each record, skipping the header and empty records."""
    for line, last, row in found:
        if isinstance(row, str):
            yield line, row
        elif headed and any(row):
            headed = False
        elif len(row) == len(columns):
            if any(row):
                yield line, dict(zip(columns, row, strict=True))
        elif any(row):
            far = f" (it continues to line {last}: is a quote left open?)" if last > line else ""
            yield line, f"has {len(row)} field{'s' * (len(row) > 1)}, expected {len(columns)}{far}"


def variant(text: str, sign: str, most: int) -> tuple[list[Record], Iterator[Record], str]:
    """The reading of *text* with the fewest rows of an unusual width: (the first records, the others, a remark on
    quotes). Quotes in a tab-separated file are often part of the text, as in the GLUE files."""
    quoted = partial(records, text, delimiter=sign, strict=True)
    if sign != "\t":
        ways = (quoted, partial(quoted, skipinitialspace=True))
    else:
        ways = (partial(records, text, delimiter=sign, quoting=csv.QUOTE_NONE), quoted)
    least, chosen = -1, 0
    for i, way in enumerate(ways):
        rest = way()
        found = list(islice(rest, most))
        rows = [row for _, _, row in found if isinstance(row, list) and any(row)]
        width = usual(rows)
        odd = len([row for _, _, row in found if isinstance(row, str)]) + sum(len(row) != width for row in rows)
        if least < 0 or odd < least or (odd == least and sign == "\t"):
            least, chosen, kept, later = odd, i, found, rest
        if not least:
            break
    if sign != "\t" or chosen == 1:
        return kept, later, ""
    cells = [cell for _, _, row in kept if isinstance(row, list) for cell in row if cell.startswith('"')]
    if not all(map(QUOTED.fullmatch, cells)):
        return kept, later, ", quotes are part of the text"
    return list(map(unquoted, kept)), map(unquoted, later), ""


def records(text: str, **dialect: object) -> Iterator[Record]:
    """The records of *text*, blank lines as empty lists. After a broken record, reading resumes at its second line, so
    that an unclosed quote spoils no other row."""
    lines: Iterator[str] = io.StringIO(text, newline="")
    start, failed, read = 1, 0, list[str]()

    def watched(lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            read.append(line)
            yield line

    reader = csv.reader(watched(lines), **dialect)  # type: ignore[arg-type]
    while True:
        try:
            row: list[str] | str = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            failed += len(read) > 1
            if failed > MAX_BROKEN:
                raise ExplorerError(
                    f"More than {MAX_BROKEN} rows have quotes that are not closed, the last in line {start:,}. "
                    "Save the file as CSV again, or choose another delimiter."
                ) from error
            row = next((words for part, words in REASONS.items() if part in str(error)), str(error))
            lines = chain(read[1:], lines)
            del read[1:]
            reader = csv.reader(watched(lines), **dialect)  # type: ignore[arg-type]
        yield start, start + len(read) - 1, row
        start += len(read)
        read.clear()


def separator(text: str) -> str:
    """The delimiter under which most records are as wide as the first, with a width above 1; NONE if there is no such
    delimiter."""
    start = "".join(islice(io.StringIO(text[:50_000], newline=""), 200))

    def score(sign: str) -> tuple[float, float]:
        quoting = csv.QUOTE_NONE if sign == "\t" else csv.QUOTE_MINIMAL
        rows = [row for _, _, row in records(start, delimiter=sign, quoting=quoting) if isinstance(row, list) and row]
        if not rows or len(rows[0]) < 2:
            return 0.0, 0.0
        widths = Counter(map(len, rows))
        return widths[len(rows[0])] / len(rows), 1 - widths[1] / len(rows)

    best = max(DELIMITERS, key=score)
    return best if score(best) > (0, 0) else NONE


def is_tabbed(text: str) -> bool:
    """Whether a text is a table although its name does not say so: every line contains tabs, equally many."""
    lines = [line.strip() for line in islice(io.StringIO(text, newline=""), 200) if line.strip()]
    return len(lines) > 1 and lines[0].count("\t") > 0 and len({line.count("\t") for line in lines}) == 1


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of *rows* names the columns: it contains a known name, or a word where all other rows have a
    number, or a word that does not recur in a column of few values."""
    head, below = rows[0], rows[1:200]
    names = len(head) > 1 and len(set(head)) == len(head) and max(map(len, head)) <= 60
    for i, cell in enumerate(head):
        values = [row[i] for row in below if i < len(row)]
        if not cell.strip() or cell in values or NUMBER.fullmatch(cell.strip()):
            continue
        if plain(cell) in KNOWN or (values and all(NUMBER.fullmatch(value.strip()) for value in values)):
            return True
        if names and len(values) >= 4 and len(set(values)) <= len(values) / 2 and all(values):
            return True
    return False


def repeated(head: Sequence[str]) -> list[str]:
    """A remark for each name that several columns have."""
    counts = Counter(name for cell in head if (name := cell.strip()))
    return [
        f"{count} columns called “{name[:40]}”: the later ones are read as “{name[:40]} (2)” and so on"
        for name, count in counts.items()
        if count > 1
    ]


def titles(head: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns: stripped, "column 2" for an empty one, "text (2)" for a repeated one."""
    names: list[str] = []
    for i, cell in enumerate(head):
        name = cell.strip().strip("\ufeff").strip() or f"column {i + 1}"
        again = (other for n in range(2, len(head) + 2) if (other := f"{name} ({n})") not in names)
        names.append(next(again) if name in names else name)
    return tuple(names)


def usual(rows: Sequence[Sequence[str]]) -> int:
    """The most frequent width."""
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def unquoted(record: Record) -> Record:
    line, last, row = record
    if isinstance(row, str):
        return record
    return line, last, [c[1:-1].replace('""', '"') if QUOTED.fullmatch(c) else c for c in row]
