"""Similarity: how similar two texts are in meaning, as the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer.options import Option
from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow, cell_text, convert_rows, parse_number
from bertexplorer.training.ranking import words_in_common
from bertexplorer.training.task import Baselines, Column, Task


@dataclass(frozen=True)
class Options:
    pooling: Annotated[
        Literal["mean", "cls"], Option("Pooling", info="the mean over the tokens, or the vector of [CLS]")
    ] = "mean"


@dataclass(frozen=True)
class Example:
    line: int
    texts: tuple[str, str]
    score: float


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Example], list[RowProblem]]:
    """A row without both texts or without a numeric score is a problem."""

    def convert(row: Row) -> Example:
        first = cell_text(row.cells.get("text_a", "")).strip()
        second = cell_text(row.cells.get("text_b", "")).strip()
        cell = cell_text(row.cells.get("score", "")).strip()
        score = parse_number(cell)
        if not first:
            raise UnusableRow("has no first text")
        if not second:
            raise UnusableRow("has no second text")
        if not cell:
            raise UnusableRow("has no score")
        if score is None:
            raise UnusableRow(f"has the score {cell[:40]!r}; wanted a number")
        return Example(row.line, (first, second), score)

    return convert_rows(rows, convert)


def inputs(example: Example) -> list[tuple[str, ...]]:
    """Each text alone."""
    return [(text,) for text in example.texts]


def baselines(train: Sequence[Example], dev: Sequence[Example], options: Options) -> Baselines:
    """The share of words in common."""
    shares = np.array([words_in_common(*example.texts) for example in dev])
    metrics = correlations(shares, np.array([example.score for example in dev]))
    return {metric: ("words in common", value) for metric, value in metrics.items()}


def correlations(predicted: Float[np.ndarray, " n"], gold: Float[np.ndarray, " n"]) -> dict[str, float]:
    """Spearman's of the ranks and Pearson's of the values; 0 if either side is constant, where they are undefined."""
    from scipy.stats import pearsonr, spearmanr

    if min(np.ptp(predicted), np.ptp(gold)) == 0:
        return {"spearman": 0.0, "pearson": 0.0}
    return {
        "spearman": float(spearmanr(predicted, gold).statistic),
        "pearson": float(pearsonr(predicted, gold).statistic),
    }


TASK = Task(
    name="similarity",
    title="Similarity",
    about="How similar two texts are in meaning, learned from scores that people gave.",
    columns=(
        Column("text_a", "First text", "text"),
        Column("text_b", "Second text", "text"),
        Column("score", "Score", "number", "a number; the highest means the same"),
    ),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="similarity:Similarity",
    metric="spearman",
    metrics={"spearman": "Spearman correlation", "pearson": "Pearson correlation", "loss": "Loss"},
    per_cent=("spearman", "pearson"),
    baselines=baselines,
    defaults={"epochs": 4.0, "batch": 16},
    can=("answers", "traces", "two texts", "vectors"),
)
