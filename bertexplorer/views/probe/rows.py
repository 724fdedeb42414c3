"""Rows of a probe: words or sentences with a label, read from the columns of a file and located in their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from bertexplorer.answers.uploads import balanced_sample
from bertexplorer.answers.vectors import piece_positions
from bertexplorer.answers.word_occurrences import is_uncased, word_pattern
from bertexplorer.errors import ExplorerError, first_clause
from bertexplorer.model.text import Encoding, Span, Text, Tokenizer
from bertexplorer.settings import ASSETS
from bertexplorer.training.data.rows import RowProblem, UnusableRow
from bertexplorer.views.rows import NumberedRow, RowCells, cell_text, first_cell, split_readable, table
from bertexplorer.wording import counted

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

Task = Literal["part of speech", "number", "tense", "length", "word order"]
Unit = Literal["word", "sentence"]
FOLDER = ASSETS / "probes"
MAX_GIVEN = 10_000  # rows
FEWEST = 20  # rows to split
TEXTS, DOCUMENTS = ("text", "sentence"), ("document", "group")


@dataclass(frozen=True)
class ProbeRow:
    """One row. *start*, *end*: the characters of the word in *text*; of a sentence, all. *document*: rows with the same
    one are never split; without such a column it is the text."""

    line: int
    text: str
    word: str  # "" for a sentence
    label: str
    document: str
    start: int
    end: int


@dataclass(frozen=True)
class ProbeData:
    """The usable rows of a file for a checkpoint. The first three tuples are n long and in the order of the file."""

    unit: Unit
    examples: tuple[ProbeRow, ...]
    encodings: tuple[Encoding, ...]
    positions: tuple[tuple[int, ...], ...]  # of the tokens whose vectors are averaged
    types: tuple[str, ...]  # the word, or the sentence, as the checkpoint tells them apart
    unusable: tuple[RowProblem, ...]
    left_out: int  # rows beyond the requested number


class LocatedRow(NamedTuple):
    """A row, and where its word or sentence is in its tokens."""

    example: ProbeRow
    encoding: Encoding
    positions: tuple[int, ...]  # of the tokens whose vectors are averaged


def built_in(task: Task) -> list[NumberedRow]:
    """The rows of a task that comes with the app, each with its line."""
    return table(FOLDER / f"{task.replace(' ', '-')}.csv")


def read_rows(checkpoint: Checkpoint, rows: Sequence[NumberedRow], most: int) -> ProbeData:
    """*most* of the rows at random (seed 0), as many of each label as possible, with their tokens.

    Rows of words have the columns text, word, label and, for the word's nth occurrence, nth; rows of sentences have
    text and label. Both may have a document. Raises ExplorerError for rows without these columns, for too few or too
    many, for a single label, and for a label that cannot be split."""
    # 1. The rows whose words are in their texts.
    rows, unusable = split_readable(rows)
    unit = unit_of(rows)
    located: list[LocatedRow] = []
    for line, cells in rows:
        lower = {str(name).lower(): cell for name, cell in cells.items()}
        try:
            located.append(locate_row(checkpoint.tokenizer, unit, line, lower))
        except UnusableRow as error:
            unusable.append(RowProblem(line, str(error)))
    # 2. Those whose label can be both learned and tested, and a sample of them.
    located, dropped = drop_lone_labels(located)
    unusable = sorted([*unusable, *dropped], key=lambda problem: problem.line)
    labels = [row.example.label for row in located]
    order = np.random.default_rng(0).permutation(len(located)).tolist()
    sampled = [located[i] for i in balanced_sample(labels, most, order)]
    check_trainable([row.example for row in sampled], unusable)
    # 3. Their words, or sentences, as the checkpoint tells them apart.
    types = [row.example.word or row.example.text for row in sampled]
    if is_uncased(checkpoint.tokenizer):
        types = [name.casefold() for name in types]
    return ProbeData(
        unit=unit,
        examples=tuple(row.example for row in sampled),
        encodings=tuple(row.encoding for row in sampled),
        positions=tuple(row.positions for row in sampled),
        types=tuple(types),
        unusable=tuple(unusable),
        left_out=len(located) - len(sampled),
    )


def drop_lone_labels(located: list[LocatedRow]) -> tuple[list[LocatedRow], list[RowProblem]]:
    """(the rows whose label can be both learned and tested, the others); all and none if fewer than two labels can."""
    documents: dict[str, set[str]] = {}
    for row in located:
        documents.setdefault(row.example.label, set()).add(row.example.document)
    in_several = {label for label, names in documents.items() if len(names) > 1}
    if len(in_several) < 2:
        return located, []
    usable = []
    dropped = []
    for row in located:
        label = row.example.label
        if label in in_several:
            usable.append(row)
        else:
            why = f"has the label {label!r:.40}, which occurs in no other document"
            dropped.append(RowProblem(row.example.line, why))
    return usable, dropped


def unit_of(rows: Sequence[NumberedRow]) -> Unit:
    """Whether the rows are about words or sentences. Raises ExplorerError if they are about neither, or too many."""
    if len(rows) > MAX_GIVEN:
        raise ExplorerError(f"{len(rows):,} rows were given; the limit is {MAX_GIVEN:,}. Give fewer.")
    columns = {str(name).lower() for _, cells in rows for name in cells}
    if not (columns & {*TEXTS} and "label" in columns):
        received = f"The columns {', '.join(sorted(columns))[:200]}" if columns else "No rows"
        raise ExplorerError(
            f"{received} cannot be probed. Wanted: text and label for sentences; text, word and label for words; also "
            "document, whose rows stay together."
        )
    return "word" if "word" in columns else "sentence"


def locate_row(tokenizer: Tokenizer, unit: Unit, line: int, cells: RowCells) -> LocatedRow:
    """A row with its tokens. Raises UnusableRow for a text that cannot be read as a whole, and for a word that is not
    in it."""
    text = first_cell(cells, *TEXTS)
    label = first_cell(cells, "label")
    try:
        encoding = tokenizer.encode(Text(text))
    except ExplorerError as error:
        raise UnusableRow(f"cannot be read: {first_clause(error)}") from error
    if encoding.left_out:
        size = len(encoding) + encoding.left_out
        raise UnusableRow(f"has {size:,} tokens; the checkpoint reads {tokenizer.max_tokens:,}")
    word = ""
    start, end = 0, len(encoding.texts[0])
    positions = tuple(range(len(encoding)))
    if unit == "word":
        word = first_cell(cells, "word")
        start, end = find_word(tokenizer, encoding.texts[0], word, cells)
        positions = piece_positions(encoding, Span(0, start, end))
    if all(encoding.special[i] for i in positions):
        if word:
            raise UnusableRow(f"has the word {word!r:.40}, outside the vocabulary")
        raise UnusableRow("is outside the vocabulary")
    documents = [cell_text(cells.get(column)) for column in DOCUMENTS]
    example = ProbeRow(
        line=line,
        text=encoding.texts[0],
        word=word,
        label=label,
        document=next(filter(None, documents), f"text {text}"),
        start=start,
        end=end,
    )
    return LocatedRow(example, encoding, positions)


def find_word(tokenizer: Tokenizer, text: str, word: str, cells: RowCells) -> tuple[int, int]:
    """The characters of the nth occurrence of *word* as a whole word. Raises UnusableRow if it is not there."""
    typed = cell_text(cells.get("nth")) or "1"
    is_number = typed.isascii() and typed.isdigit()
    nth = int(typed[:6]) if is_number else 0  # no text has a word a million times
    if nth < 1:
        raise UnusableRow(f"has nth = {typed!r:.40}; wanted a whole number from 1")
    spans = [match.span() for match in word_pattern(tokenizer, word).finditer(text)]
    if len(spans) < nth:
        times = counted(len(spans), "time")
        raise UnusableRow(f"has {word!r:.40} {times} in its text; wanted number {typed:.6}")
    return spans[nth - 1]


def check_trainable(examples: Sequence[ProbeRow], unusable: Sequence[RowProblem]) -> None:
    """Raises ExplorerError if a probe cannot be trained and tested on *examples*."""
    if len(examples) < FEWEST:
        why = f" Line {unusable[0].line} {unusable[0].what}." if unusable else ""
        usable = counted(len(examples), "row")
        raise ExplorerError(f"{usable} can be used; wanted {FEWEST} at least.{why} Give more rows.")
    counts = Counter(example.label for example in examples)
    if len(counts) == 1:
        raise ExplorerError(f"All rows have the label {examples[0].label!r:.40}. Give rows of two labels at least.")
    for label, count in counts.items():
        if count == 1:
            raise ExplorerError(f"The label {label!r:.40} occurs once. Give more rows of it, or leave it out.")
        if len({example.document for example in examples if example.label == label}) == 1:
            raise ExplorerError(
                f"The label {label!r:.40} occurs in one document only, so it cannot be both learned and tested. Give "
                "it a second document."
            )
