"""Slices: kinds of rows on which a classifier is right less often, or more often, than on the others.

Each slice is compared with the rows outside it by Fisher's exact test, and all tests together are corrected (Holm,
1979). Slices overlap: if rows with numbers are wrong, so are those with the word "out" in "9 out of 10". So the
clearest one is taken first, and a further one only if it is still worse among the rows that are left."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from bertexplorer.answers.bootstrap import Interval, holm
from bertexplorer.engine import progress
from bertexplorer.training.finetuning.compare import wilson
from bertexplorer.training.ranking import words

FEWEST = 10  # rows of a slice, and outside it
WORDS = 300  # that are tested, the most frequent ones
SIGNIFICANT = 0.05
NAMED = 5  # slices that are taken one after the other, at most
NUMBER = re.compile(r"\d")
NAME = re.compile(r"(?<![.!?:\n\"“] )(?<!^)(?<!\")\b[A-Z][a-z’'-]+")  # a capital that begins no sentence


class Traits(NamedTuple):
    """What is known of each of n rows before its answer: its *text*, *label*, *category* ("": none), how many *tokens*
    are read, how many are *unknown*, and how many are *left_out* beyond the limit."""

    text: str
    label: str
    category: str
    tokens: int
    unknown: int
    left_out: int


class Members(NamedTuple):
    """A kind of rows, and which of the n rows are of it. *kind*: label, category, length, cut, unknown, number, name or
    word."""

    kind: str
    name: str
    inside: Bool[np.ndarray, " n"]


@dataclass(frozen=True)
class Slice:
    """A kind of rows beside all others. *p*: of Fisher's exact test, two-sided, corrected for all slices; *named*: its
    place among those that are worse on their own, 1 the first; 0 if it is none of them."""

    kind: str
    name: str
    rows: tuple[int, ...]  # indices
    right: float  # share of them, 0 to 1
    interval: Interval  # 95 %, Wilson
    others: float  # share of the other rows that is right
    p: float
    named: int = 0

    @property
    def worse(self) -> bool:
        """Whether it is right less often than the others by more than chance."""
        return self.right < self.others and self.p < SIGNIFICANT

    @property
    def better(self) -> bool:
        """Whether it is right more often than the others by more than chance."""
        return self.right > self.others and self.p < SIGNIFICANT


def find_slices(members: Sequence[Members], right: Bool[np.ndarray, " n"]) -> tuple[Slice, ...]:
    """A Slice for each of *members* that has FEWEST rows, as do the others; the smallest p first. *right*: whether each
    row is."""
    everything = np.ones(len(right), dtype=bool)
    tested = distinct([kind for kind in members if testable(kind, everything)], right)
    corrected = corrected_p([kind.inside for kind in tested], right)
    order = naming_order(tested, right)
    slices = []
    for i, kind in enumerate(tested):
        own = right[kind.inside]
        slices.append(
            Slice(
                kind=kind.kind,
                name=kind.name,
                rows=tuple(np.flatnonzero(kind.inside).tolist()),
                right=float(own.mean()),
                interval=Interval(*wilson(float(own.mean()), len(own))),
                others=float(right[~kind.inside].mean()),
                p=corrected[i],
                named=1 + order.index(i) if i in order else 0,
            )
        )
    slices.sort(key=lambda part: (part.p, part.right - part.others, part.kind, part.name))
    return tuple(slices)


def distinct(members: Sequence[Members], right: Bool[np.ndarray, " n"]) -> list[Members]:
    """*members* without those of which one test says all: of two with the same rows, the second; of two of which each
    has the rows that the other has not, the one that is right more often."""
    by_split: dict[bytes, Members] = {}  # two sides, whichever is inside -> the kind
    for kind in members:
        split = kind.inside if kind.inside[0] else ~kind.inside
        before = by_split.setdefault(split.tobytes(), kind)
        if right[kind.inside].mean() < right[before.inside].mean():
            by_split[split.tobytes()] = kind
    return list(by_split.values())


def testable(kind: Members, among: Bool[np.ndarray, " n"]) -> bool:
    """Whether *among* these rows there are FEWEST inside and outside."""
    inside = int((kind.inside & among).sum())
    return min(inside, int(among.sum()) - inside) >= FEWEST


def fisher(inside: Bool[np.ndarray, " n"], right: Bool[np.ndarray, " n"]) -> float:
    """The p of Fisher's exact test, two-sided: how likely such unequal shares of right rows inside and outside would
    be if it made no difference."""
    from scipy.stats import fisher_exact

    table = [[int((right & side).sum()), int((~right & side).sum())] for side in (inside, ~inside)]
    return float(fisher_exact(table).pvalue)


def corrected_p(kinds: Sequence[Bool[np.ndarray, " n"]], right: Bool[np.ndarray, " n"]) -> list[float]:
    """The p of each of *kinds*, corrected for all of them."""
    values = []
    for inside in kinds:
        progress.check()
        values.append(fisher(inside, right))
    return holm(values)


def naming_order(members: Sequence[Members], right: Bool[np.ndarray, " n"]) -> list[int]:
    """The indices of slices that are worse than the others by more than chance, each among the rows of none before
    it."""
    left = np.ones(len(right), dtype=bool)  # the rows of no slice so far
    order: list[int] = []
    while len(order) < NAMED:
        tested = [i for i, kind in enumerate(members) if testable(kind, left)]
        corrected = corrected_p([members[i].inside[left] for i in tested], right[left])
        worse = []
        for i, p in zip(tested, corrected, strict=True):
            inside = members[i].inside
            gap = float(right[left & ~inside].mean() - right[left & inside].mean())
            if gap > 0 and p < SIGNIFICANT:
                worse.append((p, -gap, i))
        if not worse:
            break
        _, _, clearest = min(worse)
        order.append(clearest)
        left &= ~members[clearest].inside
    return order


def members_of(rows: Sequence[Traits]) -> list[Members]:
    """The kinds of rows that are looked at: labels, categories, rows that are cut, that have unknown tokens, numbers or
    names, quarters by length, and frequent words. Words that occur in the same rows are one kind."""
    kinds: list[Members] = []
    kinds += of_values("label", [row.label for row in rows])
    kinds += of_values("category", [row.category for row in rows])
    kinds.append(Members("cut", "longer than is read", np.array([row.left_out > 0 for row in rows])))
    kinds.append(Members("unknown", "unknown tokens", np.array([row.unknown > 0 for row in rows])))
    kinds.append(Members("number", "a number", np.array([bool(NUMBER.search(row.text)) for row in rows])))
    kinds.append(Members("name", "a name", np.array([bool(NAME.search(row.text)) for row in rows])))
    kinds += by_length(np.array([row.tokens for row in rows]))
    return kinds + by_word([row.text for row in rows])


def of_values(kind: str, values: Sequence[str]) -> Iterable[Members]:
    """One kind for each of the different *values*, without ""."""
    column = np.array(values)
    return [Members(kind, value, column == value) for value in dict.fromkeys(values) if value]


def by_length(tokens: Int[np.ndarray, " n"]) -> list[Members]:
    """The quarters of the rows from the shortest to the longest, as far as their lengths differ."""
    ends = np.unique(np.quantile(tokens, [0.25, 0.5, 0.75, 1], method="lower"))
    quarters = []
    start = int(tokens.min())
    for end in ends.astype(int).tolist():
        name = f"{start} to {end} tokens" if end > start else f"{end} tokens"
        quarters.append(Members("length", name, (tokens >= start) & (tokens <= end)))
        start = end + 1
    return quarters


def by_word(texts: Sequence[str]) -> list[Members]:
    """The WORDS words that occur in most texts, in FEWEST of them or more. Digits are no words here."""
    places: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        for word in dict.fromkeys(words(text)):
            if not NUMBER.search(word):
                places.setdefault(word, []).append(i)
    frequent = sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))[:WORDS]
    by_rows: dict[tuple[int, ...], list[str]] = {}  # words that occur in the same rows are one kind
    for word, occurrences in frequent:
        if len(occurrences) >= FEWEST:
            by_rows.setdefault(tuple(occurrences), []).append(word)
    kinds = []
    for same_rows, together in by_rows.items():
        inside = np.zeros(len(texts), dtype=bool)
        inside[list(same_rows)] = True
        name = ", ".join(f"“{word}”" for word in together[:3])
        if len(together) > 3:
            name = f"{name} and {len(together) - 3} more"
        kinds.append(Members("word", name, inside))
    return kinds
