"""Uploaded rows and lines: whether they are still stored, and a balanced sample of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bertexplorer.errors import ExplorerError


def check_given(kind: str, key: str, given: Sequence[object] | None) -> None:
    """Raises ExplorerError if the upload that *key* names ("": none) is gone, or if what was *given* is empty. *kind*:
    "rows" or "lines". None was given: the built-in ones are used."""
    if key and given is None:
        raise ExplorerError(f"The {kind} {key!r:.60} are no longer stored. Upload the file again.")
    if given is not None and not given:
        raise ExplorerError(f"No {kind} were given. Give at least one, or leave them out for the built-in ones.")


def balanced_sample(groups: Sequence[str], most: int, order: Iterable[int] | None = None) -> list[int]:
    """The indices of *most* entries, ascending: as many of each group as possible, in each group the first ones in
    *order*, or in the order of the entries. *groups*: that of each entry."""
    counts: Counter[str] = Counter()
    ranked = []
    for i in range(len(groups)) if order is None else order:
        ranked.append((counts[groups[i]], i))
        counts[groups[i]] += 1
    return sorted(i for _, i in sorted(ranked)[:most])
