"""Features: further columns of a row that are learned from. Numbers are standardised, categories one-hot encoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

from bertexplorer.training.data.rows import cell_text, parse_number

FEATURE_PREFIX = "feature:"  # of the names of such columns in a row's cells
MAX_VALUES = 100  # values of a category that are encoded, the most frequent


@dataclass(frozen=True)
class Feature:
    """How a column becomes numbers: one if it is a number, else one for each of its values."""

    name: str
    mean: float = 0.0  # of a number
    deviation: float = 1.0
    values: tuple[str, ...] = ()  # of a category; empty for a number

    @property
    def width(self) -> int:
        """How many numbers it becomes."""
        return len(self.values) or 1


def feature_cells(cells: Mapping[str, Any]) -> dict[str, str]:
    """The feature columns of a row, by name."""
    return {
        name.removeprefix(FEATURE_PREFIX): cell_text(cell).strip()
        for name, cell in cells.items()
        if name.startswith(FEATURE_PREFIX)
    }


def fit_features(rows: Sequence[Mapping[str, str]]) -> list[Feature]:
    """A Feature for each column of *rows* that is not empty: a number if every cell with content is one, else a
    category."""
    features = []
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row[name] for row in rows if row.get(name)]
        if not cells:
            continue
        numbers = [number for number in map(parse_number, cells) if number is not None]
        if len(numbers) == len(cells):
            features.append(Feature(name, mean=fmean(numbers), deviation=pstdev(numbers) or 1.0))
        else:
            frequent = Counter(cells).most_common(MAX_VALUES)
            features.append(Feature(name, values=tuple(value for value, _ in frequent)))
    return features


def encode_features(features: Sequence[Feature], row: Mapping[str, str]) -> list[float]:
    """The numbers of a row, concatenated. An empty cell counts as the mean, an unknown category as all zeros."""
    numbers: list[float] = []
    for feature in features:
        cell = row.get(feature.name, "")
        if feature.values:
            numbers += [float(cell == value) for value in feature.values]
        else:
            number = parse_number(cell)
            numbers.append(0.0 if number is None else (number - feature.mean) / feature.deviation)
    return numbers
