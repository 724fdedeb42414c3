"""Pair classification: one label for two texts, such as paraphrase or entailment."""

from collections.abc import Sequence
from typing import Any

from bertexplorer.training.data.rows import Row
from bertexplorer.training.task import Column, Task
from bertexplorer.training.tasks import classification
from bertexplorer.training.tasks.classification import (
    METRICS,
    PER_CENT,
    Options,
    baselines,
    inputs,
)


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Any], list[Any]]:
    """As in classification, with two texts."""
    return classification.examples(rows, options, ("text_a", "text_b"))


TASK = Task(
    name="pair-classification",
    title="Pair classification",
    about="One label for two texts: does the second follow from the first, do both mean the same, is it an answer?",
    columns=(
        Column("text_a", "First text", "text"),
        Column("text_b", "Second text", "text"),
        Column("label", "Label", "labels"),
    ),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="classification:Classifier",
    metric="accuracy",
    metrics=METRICS,
    per_cent=PER_CENT,
    baselines=baselines,
    defaults={"epochs": 6.0},
    can=("answers", "suspects", "traces"),
    features=True,
    adapter_head="sequence_classifier",
)
