"""Features: other columns of a row beside its text, as numbers. Numbers are standardised; a category has a place for
each of its values. Torch is not imported."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

from bertexplorer.training.data.rows import number, written

PREFIX = "feature:"  # of their names in a row's cells
MOST = 100  # values of a category that have a place, the commonest


@dataclass(frozen=True)
class Feature:
    """How a column becomes numbers. *values*: of a category; none: it is a number."""

    name: str
    mean: float = 0.0
    deviation: float = 1.0
    values: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return len(self.values) or 1


def beside(cells: Mapping[str, Any]) -> dict[str, str]:
    """The columns of a row that stand beside its text."""
    return {name.removeprefix(PREFIX): written(cell).strip() for name, cell in cells.items() if name.startswith(PREFIX)}


def learnt(rows: Sequence[Mapping[str, str]]) -> list[Feature]:
    """How to read the columns that *rows* have: a number if every cell that is not empty holds one."""
    found = []
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row[name] for row in rows if row.get(name)]
        numbers = [value for cell in cells if (value := number(cell)) is not None]
        if not cells:
            continue
        if len(numbers) == len(cells):
            found.append(Feature(name, fmean(numbers), pstdev(numbers) or 1.0))
        else:
            found.append(Feature(name, values=tuple(value for value, _ in Counter(cells).most_common(MOST))))
    return found


def encoded(features: Sequence[Feature], row: Mapping[str, str]) -> list[float]:
    """A row's numbers, one after the other. What is empty or was never seen counts as the mean, or as no value."""
    out: list[float] = []
    for feature in features:
        cell = row.get(feature.name, "")
        if feature.values:
            out += [float(cell == value) for value in feature.values]
        else:
            value = number(cell)
            out.append(0.0 if value is None else (value - feature.mean) / feature.deviation)
    return out
