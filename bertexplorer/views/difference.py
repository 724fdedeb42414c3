"""Difference: two results of one analysis, number by number, starting with the largest differences."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bertexplorer.charts.marks import Bar, Bars, Figure, Mark, Panel, StyledWords, TextLines, Tick
from bertexplorer.charts.style import clip, share
from bertexplorer.views.protocols import (
    Aligning,
    Analysis,
    Comparable,
    FigureModule,
    Listing,
    OfHeads,
    SometimesShares,
    Summarised,
    ViewResult,
)

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

    Pair = tuple[Checkpoint, Checkpoint]  # those of the first and of the second result

DRAWN = 16  # rows
LABEL = 40  # characters of a name
SHARES = {"accuracy", "is_next", "kept", "probability", "right", "share", "weight"}  # measures printed in per cent
WORDS = {"token", "from", "to"}  # columns that name the token at a position
SCORES = ("change_score", "score")  # columns that replace MEASURE where the answer is a score
ROUNDED = 5  # decimals of differences that are put in order: rounding moves a flow by a few of its units of 1e-6
Key = tuple[object, ...]  # what a row is about


def draw(
    analysis: Analysis, first: ViewResult, second: ViewResult, names: tuple[str, str], checkpoints: Pair | None = None
) -> Figure | None:
    """Draw a bar for each of the numbers that differ most, with the second result as a line across it; None if
    *analysis* does not name its main number.

    If a row is not listed on one side, the analysis may look up its number in that result with one of *checkpoints*."""
    if not isinstance(analysis, Comparable):
        return None
    keys, ours, theirs = most_different(analysis, first, second, checkpoints)
    if not keys:
        return None
    shares = all(is_share(analysis, result) for result in (first, second))
    differing = [key for key in keys if differs(ours.get(key), theirs.get(key), shares)]
    keys = differing or keys
    if isinstance(analysis, OfHeads) and has_several_heads(analysis, keys):
        row_names = [analysis.name_row(*key) for key in keys]
    else:
        row_names = names_of(keys, analysis.KEYS)
    bars = []
    for key, name in zip(keys, distinct_names(row_names, LABEL), strict=True):
        text = format_change(ours.get(key), theirs.get(key), shares)
        ticks = [Tick(theirs[key])] if key in theirs else []
        bars.append(Bar(name, ours.get(key, math.nan), text, ticks=ticks))
    first_name, second_name = distinct_names(names, LABEL)
    legend = TextLines(
        [
            [StyledWords("■", "blue"), StyledWords(f" {first_name}")],
            [StyledWords("|", "orange"), StyledWords(f" {second_name}")],
        ]
    )
    marks: list[Mark] = [Bars(bars, above=True, axis=True, unit="share" if shares else ""), legend]
    measure = "score" if is_score(first, second) else analysis.MEASURE
    title = "what differs most" if differing else "nothing differs by as much as is shown"
    if measure != "value":  # which says nothing
        title = f"{title}: {measure.replace('_', ' ')}"
    return Figure([Panel(marks, title)])


def differs(ours: float | None, theirs: float | None, shares: bool) -> bool:
    """Whether two numbers are printed differently; one that is not listed differs from one that is."""
    if ours is None or theirs is None:
        return True
    return format_value(ours, shares) != format_value(theirs, shares)


def is_score(first: ViewResult, second: ViewResult) -> bool:
    """Whether the answer of one of the results is a score, not a probability."""
    return any(getattr(result, "scored", False) for result in (first, second))


def most_different(
    analysis: Comparable, first: ViewResult, second: ViewResult, checkpoints: Pair | None
) -> tuple[list[Key], dict[Key, float], dict[Key, float]]:
    """(the keys of the DRAWN rows that differ most, the numbers of the first result by key, those of the second)."""
    ours, theirs = match_keys(analysis, measures_by_key(analysis, first), measures_by_key(analysis, second))
    lists_best = isinstance(analysis, Listing) or getattr(analysis, "BEST_ONLY", False)
    best_only = lists_best and not is_score(first, second)
    keys = sort_by_difference(ours, theirs, best_only=best_only)
    if has_several_heads(analysis, keys):  # the largest change of each, as heads change in many places at once
        largest: dict[object, Key] = {}
        for key in keys:
            largest.setdefault(key[0], key)
        keys = list(largest.values())
    keys = keys[:DRAWN]
    if checkpoints and isinstance(analysis, Listing):
        for numbers, result, checkpoint in zip((ours, theirs), (first, second), checkpoints, strict=True):
            for key in keys:
                if key not in numbers:
                    value = analysis.lookup(checkpoint, result, key)
                    if value is not None:
                        numbers[key] = value
        our_drawn = {key: ours[key] for key in keys if key in ours}
        their_drawn = {key: theirs[key] for key in keys if key in theirs}
        keys = sort_by_difference(our_drawn, their_drawn, best_only=best_only)
    return keys, ours, theirs


def has_several_heads(analysis: Comparable, keys: Sequence[Key]) -> bool:
    """Whether *keys* are of heads, and of more than one."""
    return isinstance(analysis, OfHeads) and len({key[0] for key in keys}) > 1


def draw_comparison(
    module: FigureModule,
    analysis: Analysis,
    first: ViewResult,
    second: ViewResult,
    names: tuple[str, str],
    checkpoints: Pair | None = None,
) -> Figure | None:
    """Draw two results as one figure, aligned by the module itself if it can align them."""
    aligned = module.align(first, second, names) if isinstance(module, Aligning) else None
    return aligned or draw(analysis, first, second, names, checkpoints)


def is_share(analysis: Comparable, result: ViewResult) -> bool:
    """Whether the numbers of *result* are shares: the analysis says so, whatever the numbers are."""
    if isinstance(analysis, SometimesShares):
        return analysis.is_share(result)
    return analysis.MEASURE in SHARES and not getattr(result, "scored", False)


def measures_by_key(analysis: Comparable, result: ViewResult) -> dict[Key, float]:
    """Row key -> its number; the first of several rows with the same key."""
    measures: dict[Key, float] = {}
    rows = analysis.summary_rows(result) if isinstance(analysis, Summarised) else analysis.rows(result)
    for row in rows:
        value = next((row[name] for name in (analysis.MEASURE, *SCORES) if name in row), None)
        if isinstance(value, int | float):
            measures.setdefault(tuple(row[key] for key in analysis.KEYS), float(value))
    return measures


def match_keys(
    analysis: Comparable, ours: dict[Key, float], theirs: dict[Key, float]
) -> tuple[dict[Key, float], dict[Key, float]]:
    """Both sides with a common key for rows at the same place. If a word was replaced by another, the rows differ in
    their tokens but agree in their positions; the key then names both tokens."""
    placed = [i for i, column in enumerate(analysis.KEYS) if column.endswith(("position", "place"))]
    if not placed or len(ours) != len(theirs) or ours.keys() == theirs.keys():
        return ours, theirs
    words = {i for i, column in enumerate(analysis.KEYS) if column in WORDS}

    def place(key: Key) -> Key:
        return tuple(part for i, part in enumerate(key) if i not in words)

    their_keys = {place(key): key for key in theirs}
    if len(their_keys) != len(theirs) or their_keys.keys() != {place(key) for key in ours}:
        return ours, theirs
    our_numbers: dict[Key, float] = {}
    their_numbers: dict[Key, float] = {}
    for key, number in ours.items():
        other = their_keys[place(key)]
        both = tuple(a if a == b else f"{a}/{b}" for a, b in zip(key, other, strict=True))
        our_numbers[both] = number
        their_numbers[both] = theirs[other]
    return our_numbers, their_numbers


def distinct_names(names: Sequence[str], size: int) -> list[str]:
    """*names* cut to *size* characters. The common beginning of long names that would then be alike is removed first,
    so that the difference stays visible."""
    alike: dict[str, list[str]] = {}  # long names by how they would be cut
    for name in names:
        if len(name) > size:
            alike.setdefault(clip(name, size), []).append(name)
    short = []
    for name in names:
        same = alike.get(clip(name, size), [])
        if len(set(same)) > 1:
            shared = os.path.commonprefix(same)
            start = shared.rfind(" ", 0, max(0, len(shared) - 8)) + 1  # a whole word before the difference
            if start:
                name = f"…{name[start:]}"
        short.append(clip(name, size))
    return short


def sort_by_difference(ours: dict[Key, float], theirs: dict[Key, float], *, best_only: bool) -> list[Key]:
    """The keys of either side, the largest difference first. A row without a counterpart comes after all others, unless
    the other side lists *best_only*: the difference is then at least that between the row's number and the last number
    of that list. Rows of one list differ in the last part of their keys. Differences that are equal but for rounding,
    as of one number from two passes, count as equal: such rows keep their order."""

    def order(key: Key) -> tuple[bool, float]:
        if key in ours and key in theirs:
            comes_last = False
            difference = abs(ours[key] - theirs[key])
        else:
            own, other = (ours, theirs) if key in ours else (theirs, ours)
            comes_last = True
            difference = abs(own[key])
            same_list = [value for there, value in other.items() if there[:-1] == key[:-1]]
            if best_only and same_list:
                comes_last = False
                difference = max(0.0, own[key] - min(same_list))
        return comes_last, -round(difference, ROUNDED)

    return sorted(dict.fromkeys([*ours, *theirs]), key=order)


def names_of(keys: list[Key], columns: tuple[str, ...]) -> list[str]:
    """Each key without the parts that all keys share. A number follows the name of its column, or directly the token
    whose position it is, as phones have no room for more."""
    every = range(len(keys[0]))
    varying = [i for i in every if len({key[i] for key in keys}) > 1] or list(every)
    position_of = {}  # column -> that of its position, if both vary
    for i in varying:
        name = f"{columns[i]}_position"
        if name in columns and columns.index(name) in varying:
            position_of[i] = columns.index(name)

    names = []
    for key in keys:
        parts = []
        for i in varying:
            if i in position_of.values() or key[i] == "":
                continue
            if i in position_of:
                parts.append(f"{key[i]} {key[position_of[i]]}")
            elif isinstance(key[i], int):
                parts.append(f"{columns[i].replace('_', ' ')} {key[i]}")
            else:
                parts.append(str(key[i]))
        names.append(" · ".join(parts) or "all")
    return names


def format_value(value: float, shares: bool) -> str:
    """A number, in per cent if these are *shares*."""
    if shares:
        return share(value) if value >= 0 else f"−{share(-value)}"
    return f"{value:.3g}".replace("-", "−")


def format_change(ours: float | None, theirs: float | None, shares: bool) -> str:
    """Both numbers, or “not listed” for a side without such a row."""
    sides = []
    for value in (ours, theirs):
        sides.append("not listed" if value is None else format_value(value, shares))
    return " → ".join(sides)
