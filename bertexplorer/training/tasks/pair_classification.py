"""Pair classification: one label for two texts, such as paraphrase or entailment."""

from collections.abc import Sequence
from typing import Any

from bertexplorer.training.data.rows import Row
from bertexplorer.training.task import Ability, Column
from bertexplorer.training.tasks import classification
from bertexplorer.training.tasks.classification import (
    METRICS as METRICS,
    Options as Options,
    baselines as baselines,
    inputs as inputs,
)

TITLE = "Pair classification"
ABOUT = "One label for two texts: does the second follow from the first, do both mean the same, is it an answer?"
COLUMNS = (
    Column("text_a", "First text", "text"),
    Column("text_b", "Second text", "text"),
    Column("label", "Label", "labels"),
)
METRIC, HIGHER = "accuracy", True
LEARNER, ROWS = "classification:Classifier", "pair-classification"
USES_FEATURES = True
CAN: frozenset[Ability] = frozenset({"answers", "suspects", "traces"})
ADAPTER_HEAD = "sequence_classifier"
CANDIDATES = 0
SPLIT_BY: tuple[str, ...] = ()
DEFAULTS: dict[str, Any] = {"epochs": 6.0}


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Any], list[Any]]:
    """As in classification, with two texts."""
    return classification.examples(rows, options, ("text_a", "text_b"))
