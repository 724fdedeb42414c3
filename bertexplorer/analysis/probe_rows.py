"""Rows of a probe: words or sentences with a label, read from the columns of a file and found in their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bertexplorer.analysis.occurrences import pattern, uncased
from bertexplorer.analysis.suite_cases import Cells, Row, Unfit, Unusable, first, legible, table, words
from bertexplorer.analysis.vectors import positions
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Span, Text, Tokenizer
from bertexplorer.settings import ASSETS

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

Task = Literal["part of speech", "number", "tense", "length", "word order"]
Unit = Literal["word", "sentence"]
FOLDER = ASSETS / "probes"
MOST_GIVEN = 10_000  # rows
FEWEST = 20  # rows to split
TEXTS, DOCUMENTS = ("text", "sentence"), ("document", "group")


@dataclass(frozen=True)
class Example:
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
class Read:
    """What a file holds for a checkpoint. The first three are n long and in the order of the file."""

    unit: Unit
    examples: tuple[Example, ...]
    encodings: tuple[Encoding, ...]
    positions: tuple[tuple[int, ...], ...]  # of the tokens whose vectors are averaged
    types: tuple[str, ...]  # the word, or the sentence, as the checkpoint tells them apart
    unusable: tuple[Unusable, ...]
    left_out: int  # rows beyond the number that was asked for


Found = tuple[Example, Encoding, tuple[int, ...]]  # a row, its tokens, the positions whose vectors are averaged


def built_in(task: Task) -> list[Row]:
    """The rows of a task that comes with the app, each with its line."""
    return table(FOLDER / f"{task.replace(' ', '-')}.csv")


def read(checkpoint: Checkpoint, rows: Sequence[Row], most: int) -> Read:
    """*most* of the rows, with their tokens. Rows of words have the columns text, word, label and, for its nth
    occurrence, nth; rows of sentences have text and label. Both may have a document. Raises ExplorerError for rows
    without these columns, for too few or too many, for a single label, and for a label that cannot be split."""
    rows, unusable = legible(rows)
    unit = unit_of(rows)
    found: list[Found] = []
    for line, cells in rows:
        lower = {str(name).lower(): cell for name, cell in cells.items()}
        try:
            found.append(example(checkpoint.tokenizer, unit, line, lower))
        except Unfit as error:
            unusable.append(Unusable(line, str(error)))
    found, lonely = together([*found])
    unusable = sorted([*unusable, *lonely], key=lambda one: one.line)
    kept = [found[i] for i in spread([one.label for one, _, _ in found], most)]
    check([one for one, _, _ in kept], unusable)
    same = uncased(checkpoint.tokenizer)
    types = tuple(name.casefold() if same else name for name in (one.word or one.text for one, _, _ in kept))
    examples, encodings, places = zip(*kept, strict=True)
    return Read(unit, examples, encodings, places, types, tuple(unusable), len(found) - len(kept))


def together(found: list[Found]) -> tuple[list[Found], list[Unusable]]:
    """(the rows whose label can be both learned and tested, the others); all and none if fewer than two labels can."""
    documents: dict[str, set[str]] = {}
    for one, _, _ in found:
        documents.setdefault(one.label, set()).add(one.document)
    if sum(len(held) > 1 for held in documents.values()) < 2:
        return found, []
    lonely = [
        Unusable(one.line, f"has the label {one.label!r:.40}, which occurs in no other document")
        for one, _, _ in found
        if len(documents[one.label]) == 1
    ]
    return [row for row in found if len(documents[row[0].label]) > 1], lonely


def unit_of(rows: Sequence[Row]) -> Unit:
    """Whether the rows are about words or sentences. Raises ExplorerError if they are about neither, or too many."""
    if len(rows) > MOST_GIVEN:
        raise ExplorerError(f"{len(rows):,} rows were given; the limit is {MOST_GIVEN:,}. Give fewer.")
    columns = {str(name).lower() for _, cells in rows for name in cells}
    if not (columns & {*TEXTS} and "label" in columns):
        given = f"The columns {', '.join(sorted(columns))[:200]}" if columns else "No rows"
        raise ExplorerError(
            f"{given} cannot be probed. Wanted: text and label for sentences; text, word and label for words; also "
            "document, whose rows stay together."
        )
    return "word" if "word" in columns else "sentence"


def example(tokenizer: Tokenizer, unit: Unit, line: int, cells: Cells) -> tuple[Example, Encoding, tuple[int, ...]]:
    """(a row, its tokens, the positions whose vectors are averaged). Raises Unfit."""
    text, label = first(cells, *TEXTS), first(cells, "label")
    try:
        encoding = tokenizer.encode(Text(text))
    except ExplorerError as error:
        raise Unfit(f"cannot be read: {error}") from error
    if encoding.left_out:
        size = len(encoding) + encoding.left_out
        raise Unfit(f"has {size:,} tokens; the checkpoint reads {tokenizer.max_tokens:,}")
    word = first(cells, "word") if unit == "word" else ""
    start, end = place(tokenizer, encoding.texts[0], word, cells) if word else (0, len(encoding.texts[0]))
    spots = positions(encoding, Span(0, start, end)) if word else tuple(range(len(encoding)))
    if all(encoding.special[spot] for spot in spots):
        raise Unfit("is outside the vocabulary" if not word else f"has the word {word!r:.40}, outside the vocabulary")
    document = next((name for column in DOCUMENTS if (name := words(cells.get(column)))), f"text {text}")
    return Example(line, encoding.texts[0], word, label, document, start, end), encoding, spots


def place(tokenizer: Tokenizer, text: str, word: str, cells: Cells) -> tuple[int, int]:
    """The characters of the nth occurrence of *word* as a whole word. Raises Unfit if it is not there."""
    nth = words(cells.get("nth")) or "1"
    if not (nth.isascii() and nth.isdigit() and int(nth[:6]) >= 1):
        raise Unfit(f"has nth = {nth!r:.40}; wanted a whole number from 1")
    found = [match.span() for match in pattern(tokenizer, word).finditer(text)]
    if len(found) < int(nth[:6]):
        times = f"{len(found)} time{'s' * (len(found) != 1)}"
        raise Unfit(f"has {word!r:.40} {times} in its text; wanted number {nth:.6}")
    return found[int(nth[:6]) - 1]


def spread(labels: Sequence[str], most: int) -> list[int]:
    """The places of *most* rows: as many of each label as possible, drawn at random (seed 0), in their order."""
    seen: Counter[str] = Counter()
    order = []
    for i in np.random.default_rng(0).permutation(len(labels)).tolist():
        order.append((seen[labels[i]], i))
        seen[labels[i]] += 1
    return sorted(i for _, i in sorted(order)[:most])


def check(examples: Sequence[Example], unusable: Sequence[Unusable]) -> None:
    """Raises ExplorerError if a probe cannot be trained and tested on *examples*."""
    if len(examples) < FEWEST:
        why = f" Line {unusable[0].line} {unusable[0].what}." if unusable else ""
        raise ExplorerError(f"{len(examples)} rows can be used; wanted {FEWEST} at least.{why} Give more rows.")
    counts = Counter(one.label for one in examples)
    if len(counts) == 1:
        raise ExplorerError(f"All rows have the label {examples[0].label!r:.40}. Give rows of two labels at least.")
    for label, count in counts.items():
        if count == 1:
            raise ExplorerError(f"The label {label!r:.40} occurs once. Give more rows of it, or leave it out.")
        if len({one.document for one in examples if one.label == label}) == 1:
            raise ExplorerError(
                f"The label {label!r:.40} occurs in one document only, so it cannot be both learned and tested. Give "
                "it a second document."
            )
