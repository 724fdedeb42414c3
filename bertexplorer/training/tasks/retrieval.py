"""Retrieval: find the passages that answer a query by the cosine of vectors that one encoder gives to both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from bertexplorer.options import Option
from bertexplorer.training.data.rows import (
    Row,
    RowProblem,
    UnusableRow,
    cell_parts,
    cell_text,
    convert_rows,
    parse_relevance,
)
from bertexplorer.training.ranking import BM25, TOP, ranking_metrics
from bertexplorer.training.task import Baselines, Column, Task

METRICS = {"mrr_10": "MRR@10", "ndcg_10": "NDCG@10", "recall_10": "Recall@10", "loss": "Loss"}


@dataclass(frozen=True)
class Options:
    pooling: Annotated[
        Literal["mean", "cls"], Option("Pooling", info="the mean over the tokens, or the vector of [CLS]")
    ] = "mean"
    scale: Annotated[
        float, Option("Scale", 1.0, 1000.0, "of the cosines in the loss; higher: only the hardest negatives count")
    ] = 20.0
    collection: Annotated[
        int, Option("Maximum collection", 0, 10_000_000, "passages searched in an evaluation; 0: all")
    ] = 10_000


@dataclass(frozen=True)
class Example:
    line: int
    query: str  # empty: the passage only extends the collection
    passage: str
    relevance: float = 1.0
    negatives: tuple[str, ...] = ()


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Example], list[RowProblem]]:
    """A row without a passage is a problem, and one without a query unless its relevance is 0."""

    def convert(row: Row) -> Example:
        query, passage = (cell_text(row.cells.get(column, "")).strip() for column in ("query", "passage"))
        cell = row.cells.get("relevance", "")
        grade = parse_relevance(cell) if cell_text(cell).strip() else 1.0
        if not passage:
            raise UnusableRow("has no passage")
        if grade is None:
            raise UnusableRow(f"has the relevance {cell_text(cell)[:40]!r}; wanted a number")
        if not query and grade:
            raise UnusableRow("has no query")
        return Example(row.line, query, passage, grade, cell_parts(row.cells.get("negatives", "")))

    return convert_rows(rows, convert)


def inputs(example: Example) -> list[tuple[str, ...]]:
    """The query and each passage, alone."""
    return [(text,) for text in (example.query, example.passage, *example.negatives) if text]


def relevance_by_query(examples: Sequence[Example]) -> dict[str, dict[str, float]]:
    """Query -> passage -> relevance above 0."""
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for example in examples:
        if example.relevance:
            passages = grades[example.query]
            passages[example.passage] = max(example.relevance, passages.get(example.passage, 0.0))
    return dict(grades)


def all_passages(examples: Sequence[Example]) -> list[str]:
    """All passages, those that answer a query first."""
    relevant = [example.passage for example in examples if example.relevance]
    others = [text for example in examples for text in (example.passage, *example.negatives)]
    return list(dict.fromkeys([*relevant, *others]))


def search_collection(dev: Sequence[Example], others: Sequence[str], options: Options) -> list[str]:
    """The collection to search: the passages of *dev* and *others*. The limit never drops one that answers a query."""
    passages = list(dict.fromkeys([*all_passages(dev), *others]))
    answers = len({example.passage for example in dev if example.relevance})
    return passages[: max(answers, options.collection)] if options.collection else passages


def baselines(train: Sequence[Example], dev: Sequence[Example], options: Options) -> Baselines:
    """BM25 over the same passages."""
    collection = search_collection(dev, all_passages(train), options)
    index = BM25(collection)
    metrics = []
    for query, grades in relevance_by_query(dev).items():
        ranked_grades = [grades.get(collection[i], 0.0) for i in index.order(query)[:TOP]]
        metrics.append(ranking_metrics(ranked_grades, list(grades.values())))
    if not metrics:
        return {}
    return {metric: ("BM25", float(np.mean([row[metric] for row in metrics]))) for metric in metrics[0]}


TASK = Task(
    name="retrieval",
    title="Retrieval",
    about="Finds the passages that answer a query, by the similarity of their vectors.",
    columns=(
        Column("query", "Query", "text"),
        Column("passage", "Passage", "text", "one that answers the query"),
        Column("negatives", "Wrong passages", "text", "a list, or with | between them", optional=True),
        Column("relevance", "Relevance", "number", "0: the passage only extends the collection", optional=True),
    ),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="retrieval:Retriever",
    metric="mrr_10",
    metrics=METRICS,
    per_cent=("recall_10",),
    baselines=baselines,
    can=("answers", "two texts", "vectors", "judgements"),
    split_by=("query",),
)
