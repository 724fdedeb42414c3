"""Forty everyday sentences whose words are related by hand, to measure which heads follow grammar.

They were written for this project and are never trained on. `assets/relations.tsv` has a row for each: its words,
separated by spaces, and a column for each relation, as `from>to`; `the.2` is the second *the*. Compare a head with the
best fixed distance: one that always looks one word to the right finds many nouns after their determiner.
"""

import csv
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from bertexplorer.settings import ASSETS

TABLE = ASSETS / "relations.tsv"

RELATIONS = {
    "det": "determiner → noun",
    "adj": "adjective → noun",
    "subj": "verb → subject",
    "obj": "verb → object",
    "prep": "preposition → object",
    "pron": "pronoun → antecedent",
}


class RelatedSentence(NamedTuple):
    """A sentence and its relations: name -> (from, to), 0-based words, split at spaces."""

    text: str
    pairs: dict[str, tuple[tuple[int, int], ...]]


def read_row(row: Mapping[str, str]) -> RelatedSentence:
    """A row of the table. Raises ValueError if an arrow names a word that the sentence lacks."""
    words = row["sentence"].lower().split()

    def place(name: str) -> int:
        word, _, number = name.partition(".")
        nth = int(number or 1)
        places = [i for i, other in enumerate(words) if other == word]
        if nth > len(places):
            raise ValueError(f"{name!r} is not in {row['sentence']!r}.")
        return places[nth - 1]

    pairs = {}
    for relation in RELATIONS:
        ends = [arrow.split(">") for arrow in row[relation].split()]
        pairs[relation] = tuple((place(start), place(end)) for start, end in ends)
    return RelatedSentence(row["sentence"], pairs)


@cache
def related_sentences() -> tuple[RelatedSentence, ...]:
    """The forty sentences."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(read_row(row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
