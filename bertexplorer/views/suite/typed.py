"""Pairs as they are typed: two sentences with | between them, or one sentence with alternatives in braces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal

from bertexplorer.errors import ExplorerError
from bertexplorer.views.rows import NumberedRow
from bertexplorer.views.suite.cases import SLOT

Meaning = Literal["the first is right", "the first is the stereotype"]
COLUMNS: dict[Meaning, tuple[str, str]] = {  # of a file that says the same
    "the first is right": ("good", "bad"),
    "the first is the stereotype": ("stereotype", "other"),
}
MAX_PAIRS = 1000


def typed_rows(typed: str, meaning: Meaning) -> list[NumberedRow]:
    """A row for each pair in *typed*, with the line that it stands in.

    "A cat sleeps. | A cat sleep." is a pair. So is "The {nurse|doctor} left.", whose first braces hold the two words
    that differ; further braces make a pair for each way to choose among them, and name its category. Raises
    ExplorerError for a line that is neither, and for more than MAX_PAIRS.

        typed_rows("{She|He} is a {nurse|cook}.", "the first is the stereotype")[1][1]["other"]"""
    first_column, second_column = COLUMNS[meaning]
    rows: list[NumberedRow] = []
    for number, line in enumerate(typed.splitlines(), 1):
        if not line.strip():
            continue
        for first, second, category in pairs_of(line.strip(), number):
            if len(rows) == MAX_PAIRS:  # before the next: a short line may give millions
                raise ExplorerError(f"The lines give more than {MAX_PAIRS:,} pairs. Remove some, or upload a file.")
            rows.append((number, {first_column: first, second_column: second, "category": category}))
    if not rows:
        raise ExplorerError("No pairs were typed. Write one on each line, such as: {She|He} is a doctor.")
    return rows


def pairs_of(line: str, number: int) -> Iterator[tuple[str, str, str]]:
    """(first sentence, second sentence, category) for each pair of a *line*. Raises ExplorerError if it has none.
    *number*: of the line, from 1."""
    parts = SLOT.split(line)  # text, slot, text, slot, …, text
    slots = [[choice.strip() for choice in slot.split("|")] for slot in parts[1::2]]
    if any(brace in part for part in parts[::2] for brace in "{}"):
        raise ExplorerError(f"Line {number} is {line!r:.60}; a brace has no partner, or no | within. Write {{She|He}}.")
    if not slots:
        sentences = [sentence.strip() for sentence in line.split("|")]
        if len(sentences) != 2 or not all(sentences):
            raise ExplorerError(
                f"Line {number} is {line!r:.60}; wanted two sentences with | between them, or two words in braces, "
                "such as: {She|He} is a doctor."
            )
        yield sentences[0], sentences[1], ""
        return
    if len(slots[0]) != 2:
        raise ExplorerError(
            f"Line {number} has {len(slots[0])} words in its first braces; wanted two. Further braces may hold more."
        )
    for others in product(*slots[1:]):
        first, second = (fill(parts, (word, *others)) for word in slots[0])
        yield first, second, ", ".join(others)


def fill(parts: list[str], choices: tuple[str, ...]) -> str:
    """The sentence of *parts* with these *choices* in its braces."""
    filled = parts[0]
    for choice, text in zip(choices, parts[2::2], strict=True):
        filled += choice + text
    return " ".join(filled.split())
