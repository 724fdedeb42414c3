"""Sentence classification: [CLS] -> dense -> one logit per label; one label per text, or any number. Other columns of a
row can be learned from as well: numbers are standardised, categories one-hot encoded."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev
from typing import Annotated, Any, Literal

from bertexplorer.errors import ExplorerError
from bertexplorer.options import Option
from bertexplorer.training.data.rows import Row, UnusableRow, cell_parts, cell_text, convert_rows, parse_number
from bertexplorer.training.task import Ability, Column
from bertexplorer.wording import plural

TITLE = "Sentence classification"
ABOUT = "One label for a text, such as its sentiment, its topic, or whether it is good English; or several labels."
COLUMNS = (
    Column("text", "Text", "text"),
    Column("label", "Label", "labels", "several labels in a cell are separated by |"),
)
METRIC, HIGHER = "accuracy", True
METRICS = {
    "accuracy": "Accuracy",
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
    "mcc": "Matthews correlation",
    "calibration": "Calibration error",
    "loss": "Loss",
}
LEARNER, ROWS = "classification:Classifier", "classification"
USES_FEATURES = True
CAN: frozenset[Ability] = frozenset({"answers", "suspects", "traces"})
ADAPTER_HEAD = "sequence_classifier"
CANDIDATES = 0
SPLIT_BY: tuple[str, ...] = ()
DEFAULTS: dict[str, Any] = {}
MAX_LABELS = 1000
PREFIX = "feature:"  # of the names of such columns in a row's cells
MAX_VALUES = 100  # values of a category that are encoded, the most frequent


@dataclass(frozen=True)
class Options:
    labels: Annotated[
        Literal["one", "several"], Option("Labels per text", info="several: each label is predicted independently")
    ] = "one"
    balance: Annotated[bool, Option("Balance classes", info="rare classes weigh as much as frequent ones")] = False
    planted: Annotated[
        float, Option("Planted wrong labels", 0.0, 0.5, "share of the training rows, to test whether they are found")
    ] = 0.0


@dataclass(frozen=True)
class Example:
    line: int
    texts: tuple[str, ...]  # one, or a pair
    labels: tuple[str, ...]  # one, or any number
    features: Mapping[str, str] = field(default_factory=dict)  # other columns


def examples(rows: Sequence[Row], options: Options, columns: Sequence[str] = ("text",)) -> tuple[list[Any], list[Any]]:
    """A row without a text, or without its label if it must have one, is a problem."""

    def convert(row: Row) -> Example:
        texts = tuple(cell_text(row.cells.get(column, "")).strip() for column in columns)
        cell, several = row.cells.get("label", ""), options.labels == "several"
        label = cell_text(cell).strip()
        if several:
            labels = cell_parts(cell)
        else:
            labels = (label,) if label else ()
        empty = [column for column, text in zip(columns, texts, strict=True) if not text]
        if empty:
            raise UnusableRow(f"has no {' and no '.join(empty).replace('_', ' ')}")
        if not labels and not several:
            raise UnusableRow("has no label")
        return Example(row.line, texts, labels, feature_cells(row.cells))

    return convert_rows(rows, convert)


def inputs(example: Any) -> list[tuple[str, ...]]:
    """The text, or the pair."""
    return [example.texts]


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


def label_names(train: Sequence[Example]) -> tuple[str, ...]:
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


def baselines(train: Sequence[Example], dev: Sequence[Example], options: Options) -> dict[str, tuple[str, float]]:
    """Always the most frequent label (or set of labels) of *train*."""
    if not train or not dev:
        return {}
    most = Counter(frozenset(example.labels) for example in train).most_common(1)[0][0]
    share = sum(set(example.labels) == most for example in dev) / len(dev)
    return {"accuracy": (f"always “{', '.join(sorted(most)) or 'none'}”", share)}


@dataclass(frozen=True)
class Feature:
    """How a column becomes numbers. *values*: of a category; empty for a number."""

    name: str
    mean: float = 0.0
    deviation: float = 1.0
    values: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return len(self.values) or 1


def feature_cells(cells: Mapping[str, Any]) -> dict[str, str]:
    """The feature columns of a row, by name."""
    return {
        name.removeprefix(PREFIX): cell_text(cell).strip() for name, cell in cells.items() if name.startswith(PREFIX)
    }


def fit_features(rows: Sequence[Mapping[str, str]]) -> list[Feature]:
    """A Feature for each column of *rows*: a number if every non-empty cell is one, else a category."""
    features = []
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row[name] for row in rows if row.get(name)]
        numbers = [value for cell in cells if (value := parse_number(cell)) is not None]
        if not cells:
            continue
        if len(numbers) == len(cells):
            features.append(Feature(name, fmean(numbers), pstdev(numbers) or 1.0))
        else:
            features.append(Feature(name, values=tuple(value for value, _ in Counter(cells).most_common(MAX_VALUES))))
    return features


def encode_features(features: Sequence[Feature], row: Mapping[str, str]) -> list[float]:
    """The numbers of a row, concatenated. An empty cell counts as the mean, an unknown category as all zeros."""
    out: list[float] = []
    for feature in features:
        cell = row.get(feature.name, "")
        if feature.values:
            out += [float(cell == value) for value in feature.values]
        else:
            value = parse_number(cell)
            out.append(0.0 if value is None else (value - feature.mean) / feature.deviation)
    return out
