"""CoNLL: one token and its tag per line, a blank line between sentences (Tjong Kim Sang and De Meulder, 2003)."""

import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.rows import Entry, ParsedFile

COLUMNS = ("tokens", "tags")
TAG = re.compile(r"O|[BIESLUM][-_]\S+")
Line = tuple[int, list[str]]  # its number and its fields


def sentences(text: str, name: str) -> ParsedFile:
    """A row per sentence, at its first line: "tokens" from the first field, "tags" from the last. A sentence with a
    line of a different number of fields is a problem. Raises ExplorerError if the lines have one field."""
    width = common_width(text)
    if width == 1:
        raise ExplorerError(f"{name} has one field per line; wanted a token and its tag, separated by a tab or space.")
    return ParsedFile(entries(text, width), f"CoNLL, {width} fields per line, the last is the tag", COLUMNS)


def entries(text: str, width: int) -> Iterator[Entry]:
    sentence: list[Line] = []
    for number, line in enumerate(io.StringIO(text + "\n\n", newline=""), 1):
        fields = split_fields(line)
        if fields and fields[0] == "-DOCSTART-":
            continue
        if fields and not (line.startswith("#") and not sentence and len(fields) != width):  # a comment
            sentence.append((number, fields))
        elif not fields and sentence:
            yield sentence[0][0], sentence_cells(sentence, width)
            sentence = []


def sentence_cells(sentence: list[Line], width: int) -> dict[str, list[str]] | str:
    """The cells of a sentence, or the reason why it cannot be used."""
    for number, fields in sentence:
        if len(fields) != width:
            several = "s" * (len(fields) > 1)
            return f"line {number} of this sentence has {len(fields)} field{several}, expected {width}"
        if not fields[0].strip() or not fields[-1].strip():
            return f"line {number} of this sentence has no {'tag' if fields[0].strip() else 'token'}"
    return {"tokens": [fields[0] for _, fields in sentence], "tags": [fields[-1].strip() for _, fields in sentence]}


def split_fields(line: str) -> list[str]:
    """The fields of a line, split at tabs if there are any; none for a blank line."""
    line = line.rstrip("\r\n")
    if not line.strip():
        return []
    return line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))


def common_width(text: str) -> int:
    """The most frequent number of fields among the first lines."""
    rows = filter(None, map(split_fields, islice(io.StringIO(text, newline=""), 5_000)))
    return max(Counter(map(len, rows)).items(), key=lambda item: item[1], default=(2, 0))[0]


def is_conll(text: str) -> bool:
    """Whether the lines seem to be tokens with tags: nearly all end in O or B-…, with blank lines in between."""
    rows = [split_fields(line) for line in islice(io.StringIO(text, newline=""), 2_000)]
    filled = [row for row in rows if row]
    tagged = sum(len(row) > 1 and bool(TAG.fullmatch(row[-1].strip())) for row in filled)
    return len(filled) > 3 and len(filled) < len(rows) and tagged > 0.95 * len(filled)
