"""Sentence classification: [CLS] -> dense -> one logit per label; one label per text, or any number. Other columns of a
row can be learned from as well: numbers are standardised, categories one-hot encoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from bertexplorer.options import Option
from bertexplorer.training.data.rows import Row, UnusableRow, cell_parts, cell_text, convert_rows
from bertexplorer.training.features import feature_cells
from bertexplorer.training.task import Baselines, Column, Task

METRICS = {
    "accuracy": "Accuracy",
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
    "mcc": "Matthews correlation",
    "calibration": "Calibration error",
    "loss": "Loss",
}
PER_CENT = ("accuracy", "macro_f1", "micro_f1", "mcc")


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


def baselines(train: Sequence[Example], dev: Sequence[Example], options: Options) -> Baselines:
    """Always the most frequent label (or set of labels) of *train*."""
    if not train or not dev:
        return {}
    most = Counter(frozenset(example.labels) for example in train).most_common(1)[0][0]
    share = sum(set(example.labels) == most for example in dev) / len(dev)
    return {"accuracy": (f"always “{', '.join(sorted(most)) or 'none'}”", share)}


TASK = Task(
    name="classification",
    title="Sentence classification",
    about="One label for a text, such as its sentiment, its topic, or whether it is good English; or several labels.",
    columns=(
        Column("text", "Text", "text"),
        Column("label", "Label", "labels", "several labels in a cell are separated by |"),
    ),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="classification:Classifier",
    metric="accuracy",
    metrics=METRICS,
    per_cent=PER_CENT,
    baselines=baselines,
    can=("answers", "suspects", "traces"),
    features=True,
    adapter_head="sequence_classifier",
)
