"""Re-ranking: query and passage are read together, and candidates are sorted by their scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from bertexplorer.options import Option
from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow, cell_text, convert_rows, parse_relevance
from bertexplorer.training.ranking import BM25, rank_by_score, ranking_metrics
from bertexplorer.training.task import Baselines, Column, Task
from bertexplorer.training.tasks.classification import inputs

METRICS = {
    "ndcg_10": "NDCG@10",
    "ndcg_10_before": "NDCG@10 before",
    "mrr_10": "MRR@10",
    "mrr_10_before": "MRR@10 before",
    "loss": "Loss",
}


@dataclass(frozen=True)
class Options:
    balance: Annotated[bool, Option("Balance classes", info="relevant passages weigh as much as the others")] = False


@dataclass(frozen=True)
class Example:
    line: int
    texts: tuple[str, str]  # query and passage
    relevance: float


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Example], list[RowProblem]]:
    """A row without both texts or without a numeric relevance is a problem."""

    def convert(row: Row) -> Example:
        query = cell_text(row.cells.get("query", "")).strip()
        passage = cell_text(row.cells.get("passage", "")).strip()
        cell = row.cells.get("relevance", "")
        grade = parse_relevance(cell)
        if not query:
            raise UnusableRow("has no query")
        if not passage:
            raise UnusableRow("has no passage")
        if not cell_text(cell).strip():
            raise UnusableRow("has no relevance")
        if grade is None:
            raise UnusableRow(f"has the relevance {cell_text(cell)[:40]!r}; wanted a number")
        return Example(row.line, (query, passage), grade)

    return convert_rows(rows, convert)


def baselines(train: Sequence[Example], dev: Sequence[Example], options: Options) -> Baselines:
    """The order of BM25 over the validation passages."""
    queries = candidates_by_query(dev)
    metrics = []
    for candidates, order in zip(queries.values(), bm25_orders(queries), strict=True):
        grades = grades_of(candidates)
        if any(grades):
            metrics.append(ranking_metrics([grades[i] for i in order], grades))
    if not metrics:
        return {}
    return {key: ("BM25", float(np.mean([row[key] for row in metrics]))) for key in ("ndcg_10", "mrr_10")}


def candidates_by_query(examples: Sequence[Example]) -> dict[str, list[Example]]:
    """Query -> its candidates. A repeated passage counts once, with its highest relevance."""
    candidates: dict[str, dict[str, Example]] = defaultdict(dict)
    for example in sorted(examples, key=lambda example: -example.relevance):
        candidates[example.texts[0]].setdefault(example.texts[1], example)
    queries = {}
    for query, by_passage in candidates.items():
        queries[query] = sorted(by_passage.values(), key=lambda example: example.line)
    return queries


def grades_of(candidates: Sequence[Example]) -> list[float]:
    return [example.relevance for example in candidates]


def bm25_orders(queries: Mapping[str, Sequence[Example]]) -> list[list[int]]:
    """The order of BM25 for each query's candidates; those without a word in common come last."""
    passages = {example.texts[1]: None for candidates in queries.values() for example in candidates}
    index_of = {passage: i for i, passage in enumerate(passages)}
    index = BM25(list(passages))
    orders = []
    for query, candidates in queries.items():
        indices = [index_of[example.texts[1]] for example in candidates]
        orders.append(rank_by_score(index.scores(query)[indices], index.tie_ranks[indices]).tolist())
    return orders


TASK = Task(
    name="reranking",
    title="Re-ranking",
    about="Puts the passages that a search found in order, by reading each together with the query.",
    columns=(
        Column("query", "Query", "text"),
        Column("passage", "Passage", "text"),
        Column("relevance", "Relevance", "number", "0: does not answer; 1, or a grade: does"),
    ),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="reranking:Reranker",
    metric="ndcg_10",
    metrics=METRICS,
    baselines=baselines,
    defaults={"epochs": 4.0, "batch": 16, "max_tokens": 256},
    can=("answers", "suspects", "traces", "two texts", "judgements"),
    split_by=("query",),
    candidates=50,
)
