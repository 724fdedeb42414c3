"""Labels of rows: their names in order, and wrong ones that are planted to test whether they are found."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from bertexplorer.errors import ExplorerError
from bertexplorer.wording import plural

MAX_LABELS = 1000


class Labelled(Protocol):
    """A row with labels."""

    @property
    def labels(self) -> tuple[str, ...]:
        """One, or any number."""


def plant_wrong_labels(train: Sequence[Any], options: Any) -> tuple[list[Any], dict[int, tuple[str, ...]]]:
    """(the rows, the share options.planted of them with a wrong label; the index of each of these -> its true labels).
    The same rows get the same wrong labels in every call."""
    share = getattr(options, "planted", 0.0)
    if not share:
        return list(train), {}
    rng = random.Random(0)
    all_labels = label_names(train)
    rows = list(train)
    true_labels = {}
    for index in sorted(rng.sample(range(len(train)), round(share * len(train)))):
        true_labels[index] = train[index].labels
        wrong = [label for label in all_labels if label not in true_labels[index]]
        rows[index] = replace(train[index], labels=(rng.choice(wrong or all_labels),))
    return rows, true_labels


def label_names(train: Sequence[Labelled]) -> tuple[str, ...]:
    """All labels, numbers in numeric and words in alphabetical order. Raises ExplorerError for fewer than 2 or too
    many."""
    labels = {label for example in train for label in example.labels}
    if not 2 <= len(labels) <= MAX_LABELS:
        raise ExplorerError(
            f"The training rows have {len(labels):,} different {plural('label', len(labels))}; wanted 2 to "
            f"{MAX_LABELS:,}. Check which column holds the label."
        )

    def numbers_first(label: str) -> tuple[bool, int, str]:
        is_number = label.isdecimal()
        return not is_number, int(label) if is_number else 0, label

    return tuple(sorted(labels, key=numbers_first))
