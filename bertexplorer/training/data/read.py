"""Read an uploaded file as a Table, or explain what is wrong with it."""

import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data import delimited, jsonl
from bertexplorer.training.data.decode import decode, display_name
from bertexplorer.training.data.rows import MAX_COLUMNS, Entry, ParsedFile, Row, RowProblem, Table, length_problem
from bertexplorer.wording import counted, plural

MAX_ROWS = 50_000
MAX_LINES = 2_000_000
FEWEST = 2  # rows: one for training, one for validation
SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".label": "label"}
SUFFIXES |= dict.fromkeys((".conll", ".iob", ".iob2", ".bio", ".conll03", ".conllu"), "conll")
SMALLEST = {  # the smallest usable file of each kind; ⏎ ends a line
    "csv": "text,label⏎I liked it,positive⏎I did not,negative",
    "jsonl": '{"text": "I liked it", "label": "positive"}⏎{"text": "I did not", "label": "negative"}',
    "json": '[{"text": "I liked it", "label": "positive"}, {"text": "I did not", "label": "negative"}]',
    "conll": "Ada B-person⏎writes O⏎⏎Bonn B-place⏎sleeps O",
    "squad": '{"data": [{"paragraphs": [{"context": "Ada writes.", "qas": [{"id": "1", "question": "Who?", '
    '"answers": [{"text": "Ada", "answer_start": 0}]}, …]}]}]}',
    "label": "HUM:ind Who writes ?⏎LOC:city Where is that ?",
    "text": "I liked it.⏎I did not.",
}
CONLL_TAG = re.compile(r"O|[BIESLUM][-_]\S+")
ConllLine = tuple[int, list[str]]  # its number and its fields


def read(
    content: bytes,
    filename: str,
    *,
    delimiter: str = "",
    header: bool | None = None,
    max_rows: int = MAX_ROWS,
    min_rows: int = FEWEST,
    example: str = "",
) -> Table:
    """The rows of a file, recognised by name and content: CSV, TSV, JSONL, JSON (a list, or SQuAD), CoNLL, TREC's
    .label, or plain text with a paragraph per line. A *delimiter* makes it a CSV; *header* says whether a CSV has
    column names, None detects it; *example* is the smallest usable file, for messages. Rows that cannot be used are
    problems with their line. At most *max_rows* rows are read. Raises ExplorerError if nothing can be used: an empty
    file, only a header, fewer than *min_rows* rows, no text, an archive, a web page, more than 25 MB, 2,000,000 lines
    or 50 columns."""
    name = display_name(filename)
    text, encoding = decode(content, name)
    kind = "csv" if delimiter else kind_of(text, Path(filename).suffix.lower())
    example = example or SMALLEST[kind]
    if not text.strip():
        raise ExplorerError(f"{name} is empty. {smallest_example(example)}")
    lines = text.count("\n") + text.count("\r")
    if "\r\n" in text[:10_000]:
        lines //= 2
    if lines > MAX_LINES:
        raise ExplorerError(f"{name} has {lines:,} lines; the limit is {MAX_LINES:,}. Give part of it.")
    if kind == "csv":
        parsed = delimited.parse_table(text, name, delimiter=delimiter, header=header, max_rows=max_rows)
    elif kind == "conll":
        parsed = parse_conll(text, name)
    elif kind == "json":
        parsed = jsonl.document(text, name)
        kind = "squad" if parsed.unit == "question" else kind
    elif kind == "jsonl":
        parsed = jsonl.lines(text, max_rows)
    else:
        parsed = parse_labelled(text) if kind == "label" else parse_paragraphs(text)
    return build_table(parsed, name, kind, encoding=encoding, max_rows=max_rows, min_rows=min_rows, example=example)


def kind_of(text: str, suffix: str) -> str:
    """csv, jsonl, json, conll, label or text. The suffix decides if it is specific; JSON is recognised by its first
    character."""
    first = text.lstrip()[:1]
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if suffix == ".json" or (not suffix and first in ("[", "{")):
        return "jsonl" if first == "{" and not is_single_object(text) else "json"
    if is_conll(text):
        return "conll"
    return "csv" if suffix == ".tsv" or delimited.is_tabbed(text) else "text"


def is_single_object(text: str) -> bool:
    """Whether a text that starts with a brace is a single object rather than one object per line."""
    first_line = next(line for line in io.StringIO(text, newline="") if line.strip())
    try:
        value = jsonl.parse_strict(first_line)
    except ValueError:
        return not first_line.rstrip().endswith("}")
    return not text[text.index(first_line) + len(first_line) :].strip() and isinstance(value, dict) and "data" in value


def build_table(
    parsed: ParsedFile, name: str, kind: str, *, encoding: str, max_rows: int, min_rows: int, example: str
) -> Table:
    """A table of the entries within the limits. Raises ExplorerError for too few rows and too many columns."""
    # 1. The rows
    rows: list[Row] = []
    problems: list[RowProblem] = []
    columns = dict.fromkeys(parsed.columns)
    entries = iter(parsed.entries)
    for line, cells in islice(entries, max_rows):
        problem = cells if isinstance(cells, str) else length_problem(cells)
        if isinstance(cells, str) or problem:
            problems.append(RowProblem(line, problem))
            continue
        columns |= dict.fromkeys(cells)
        if len(columns) > MAX_COLUMNS:
            raise ExplorerError(f"{name} has more than {MAX_COLUMNS} columns by {parsed.unit} {line:,}. Drop some.")
        rows.append(Row(line, cells))

    # 2. Are they enough?
    if len(rows) < min_rows:
        usable = f"{len(rows) or 'no'} {plural('row', len(rows))} that can be used"
        header = f" below its header ({', '.join(columns)[:100]})" if "with a header" in parsed.how else ""
        first = f": {parsed.unit} {problems[0].line} {problems[0].what}" if problems else ""
        raise ExplorerError(
            f"{name} holds {usable}{header}; wanted at least {min_rows}{first}. {smallest_example(example)}"
        )

    # 3. How they were read
    count = len(rows) + len(problems)  # problems are counted elsewhere
    summary = f"{counted(count, 'row')} from {name}: {encoding}, {parsed.how}"
    first_beyond = left_out = 0
    beyond = next(entries, None)
    if beyond is not None:
        first_beyond = beyond[0]
        left_out = 1 + sum(1 for _ in entries)
        unread = f"{plural('row', left_out)} from {parsed.unit} {first_beyond:,} on"
        summary += f"; {left_out:,} {unread} left out, beyond the limit of {max_rows:,}"
    filled = tuple(Row(row.line, {column: row.cells.get(column, "") for column in columns}) for row in rows)
    return Table(
        columns=tuple(columns),
        rows=filled,
        problems=tuple(problems),
        summary=f"{summary}.",
        kind=kind,
        left_out=left_out,
        beyond=first_beyond,
        unit=parsed.unit,
    )


def parse_paragraphs(text: str) -> ParsedFile:
    """Plain text: a row per line that is not blank."""
    lines = enumerate(io.StringIO(text, newline=""), 1)
    entries = ((number, {"text": line.strip()}) for number, line in lines if line.strip())
    return ParsedFile(entries, "one paragraph per line", ("text",))


def parse_labelled(text: str) -> ParsedFile:
    """TREC's question types (Li and Roth, 2002), `DESC:manner How did …`: a row per line."""

    def read_lines() -> Iterator[Entry]:
        for number, line in enumerate(io.StringIO(text, newline=""), 1):
            if not line.strip():
                continue
            label, _, content = line.strip().partition(" ")
            coarse, colon, _ = label.partition(":")
            if colon and content.strip():
                yield number, {"label": coarse, "fine": label, "text": content.strip()}
            else:
                yield number, "is not a COARSE:fine label followed by a text"

    return ParsedFile(read_lines(), "a label and a text on each line", ("label", "fine", "text"))


def smallest_example(example: str) -> str:
    """A sentence for messages."""
    return f"The smallest usable file (⏎ ends a line): {example}"


def parse_conll(text: str, name: str) -> ParsedFile:
    """CoNLL, one token and its tag per line, a blank line between sentences (Tjong Kim Sang and De Meulder, 2003): a
    row per sentence, at its first line, with "tokens" from the first field and "tags" from the last. A sentence with a
    line of a different number of fields is a problem. Raises ExplorerError if the lines have one field."""
    width = common_width(text)
    if width == 1:
        raise ExplorerError(f"{name} has one field per line; wanted a token and its tag, separated by a tab or space.")
    return ParsedFile(
        conll_entries(text, width), f"CoNLL, {width} fields per line, the last is the tag", ("tokens", "tags")
    )


def conll_entries(text: str, width: int) -> Iterator[Entry]:
    """The sentences; lines before one that begin with # and are of another width are comments."""
    sentence: list[ConllLine] = []
    for number, line in enumerate(io.StringIO(text + "\n\n", newline=""), 1):
        fields = conll_fields(line)
        is_comment = line.startswith("#") and not sentence and len(fields) != width
        if is_comment or fields[:1] == ["-DOCSTART-"]:
            continue
        if fields:
            sentence.append((number, fields))
        elif sentence:
            first_line = sentence[0][0]
            yield first_line, sentence_cells(sentence, width)
            sentence = []


def sentence_cells(sentence: list[ConllLine], width: int) -> dict[str, list[str]] | str:
    """The cells of a sentence, or the reason why it cannot be used."""
    for number, fields in sentence:
        if len(fields) != width:
            several = "s" if len(fields) > 1 else ""
            return f"line {number} of this sentence has {len(fields)} field{several}, expected {width}"
        if not fields[0].strip() or not fields[-1].strip():
            return f"line {number} of this sentence has no {'tag' if fields[0].strip() else 'token'}"
    return {"tokens": [fields[0] for _, fields in sentence], "tags": [fields[-1].strip() for _, fields in sentence]}


def conll_fields(line: str) -> list[str]:
    """The fields of a line, split at tabs if there are any; none for a blank line."""
    line = line.rstrip("\r\n")
    if not line.strip():
        return []
    return line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))


def common_width(text: str) -> int:
    """The most frequent number of fields among the first lines."""
    rows = filter(None, map(conll_fields, islice(io.StringIO(text, newline=""), 5_000)))
    return max(Counter(map(len, rows)).items(), key=lambda item: item[1], default=(2, 0))[0]


def is_conll(text: str) -> bool:
    """Whether the lines seem to be tokens with tags: nearly all end in O or B-…, with blank lines in between."""
    rows = [conll_fields(line) for line in islice(io.StringIO(text, newline=""), 2_000)]
    filled = [row for row in rows if row]
    tagged = sum(len(row) > 1 and bool(CONLL_TAG.fullmatch(row[-1].strip())) for row in filled)
    return len(filled) > 3 and len(filled) < len(rows) and tagged > 0.95 * len(filled)
