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
    rng, all_labels = random.Random(0), label_names(train)
    chosen = sorted(rng.sample(range(len(train)), round(share * len(train))))
    true_labels = {index: train[index].labels for index in chosen}
    wrong_labels = {
        i: rng.choice([label for label in all_labels if label not in labels] or all_labels)
        for i, labels in true_labels.items()
    }
    rows = [replace(row, labels=(wrong_labels[i],)) if i in wrong_labels else row for i, row in enumerate(train)]
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
    return tuple(
        sorted(labels, key=lambda label: (not label.isdecimal(), int(label) if label.isdecimal() else 0, label))
    )
