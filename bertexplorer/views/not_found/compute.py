"""Not found: which queries do not find the passage that answers them, and why, each cause checked by undoing it.

Each miss gets the first of these causes that helps once it is undone: cut, long, unreadable, near duplicate, hub,
names, words, prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.bootstrap import Interval, interval
from bertexplorer.answers.uploads import check_given
from bertexplorer.answers.vectors import NO_PROMPT, OWN_INFO, Pooling, departure, own_or_mean, prompt_name
from bertexplorer.diagnosis.collection import Collection, Searcher, read_collection
from bertexplorer.diagnosis.misses import CAUSES, UNEXPLAINED, Miss, explain
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.options import Option
from bertexplorer.training.ranking import ndcg, reciprocal_rank
from bertexplorer.views import facts
from bertexplorer.views.not_found.sets import Name, rows_of
from bertexplorer.views.rows import NumberedRow, split_readable

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Text

KEPT = 100  # of an order, as many as `top` may be
EXPLAINED = 200  # misses that are examined; further ones are counted
NEAREST = 10  # passages of a query that two checkpoints may share
KEYS, MEASURE = ("metric",), "value"


@dataclass(frozen=True)
class Options:
    set: Annotated[Name, Option("Collection", info="built in; or upload rows with query and passage")] = (
        "a handbook with faults"
    )
    top: Annotated[int, Option("Found means among the first", 1, 100)] = 3
    pooling: Annotated[Pooling, Option("A text's vector", info=OWN_INFO)] = "own"
    prompt: Annotated[str, Option("Prompt of a query", info=f"a name in the checkpoint's files, or {NO_PROMPT}")] = ""
    passage_prompt: Annotated[str, Option("Prompt of a passage", info="empty: as the files say")] = ""
    rows: Annotated[str, Option("Uploaded rows", info="empty: the built-in collection", by_page=True)] = ""


class Metric(NamedTuple):
    """The mean over the queries, with its 95 % interval, beside that of a search by words."""

    name: str
    value: float  # 0 to 1
    interval: Interval
    by_words: float


@dataclass(frozen=True)
class NotFound:
    """A collection of q queries that was searched."""

    name: str  # of the built-in collection, or "uploaded rows"
    collection: Collection
    top: int
    ranks: tuple[int, ...]  # of the nearest passage that answers each query, 1 the first
    ranks_by_words: tuple[int, ...]  # the same for BM25; 0: it finds none
    nearest: tuple[tuple[int, ...], ...]  # the first NEAREST passages of each query
    misses: tuple[Miss, ...]  # the first EXPLAINED, in the order of the queries
    metrics: tuple[Metric, ...]
    cut: int  # passages of which some tokens are not read
    departure: str  # how the vectors depart from the checkpoint's own

    @property
    def found(self) -> int:
        return sum(rank <= self.top for rank in self.ranks)

    def count(self, cause: str) -> int:
        return sum(miss.cause == cause for miss in self.misses)


def run(
    checkpoint: Checkpoint,
    text: Text | str = "",
    *,
    options: Options = Options(),
    rows: Sequence[NumberedRow] | None = None,
) -> NotFound:
    """Search the passages of *rows*, or of the built-in collection, for each query. *text* is not read.

    Raises ExplorerError for rows without the columns query and passage, for no query with an answer, for more than
    10,000 passages or 1,000 queries, and for a prompt that the files do not name."""
    check_given("rows", options.rows, rows)
    readable, _ = split_readable(rows or rows_of(options.set))
    collection = read_collection(readable)
    pooling = own_or_mean(checkpoint, options.pooling)
    searcher = Searcher(
        checkpoint,
        collection,
        prompt=prompt_name(options.prompt),
        passage_prompt=prompt_name(options.passage_prompt),
        pooling=pooling,
    )

    # 1. Where each query finds what answers it, by vectors and by words. Of an order, its beginning is kept.
    ranks: list[int] = []
    by_words: list[int] = []
    orders: list[list[int]] = []
    orders_by_words: list[list[int]] = []
    for query, relevant in enumerate(collection.relevant):
        progress.check()
        order = searcher.order(searcher.queries[query]).tolist()
        ranks.append(first_rank(order, relevant))
        orders.append(order[:KEPT])
        order = searcher.by_words.order(collection.queries[query])
        by_words.append(first_rank(order, relevant))
        orders_by_words.append(order[:KEPT])

    # 2. Why some do not.
    missed = [query for query, rank in enumerate(ranks) if rank > options.top][:EXPLAINED]
    misses: list[Miss] = []
    begun = 0
    for number, query in enumerate(missed):
        progress.check()
        if number > 1:  # as many tokens as for those before it
            progress.foresee((progress.done() - begun) // (number - 1) * (len(missed) - number))
        miss = explain(searcher, query, options.top)
        if miss:
            misses.append(miss)
        if number == 0:  # the first one computes what all need
            begun = progress.done()
    return NotFound(
        name="uploaded rows" if rows else options.set,
        collection=collection,
        top=options.top,
        ranks=tuple(ranks),
        ranks_by_words=tuple(by_words),
        nearest=tuple(tuple(order[:NEAREST]) for order in orders),
        misses=tuple(misses),
        metrics=measure(collection, orders, orders_by_words, options.top),
        cut=int((searcher.left_out > 0).sum()),
        departure=departure(checkpoint, pooling, checkpoint.config.num_layers, lengths=False),
    )


def first_rank(order: Sequence[int], relevant: Mapping[int, float]) -> int:
    """The rank of the first passage of *order* that is among the *relevant* ones; 0 if none is."""
    for rank, passage in enumerate(order, 1):
        if passage in relevant:
            return rank
    return 0


def measure(
    collection: Collection, orders: Sequence[Sequence[int]], orders_by_words: Sequence[Sequence[int]], top: int
) -> tuple[Metric, ...]:
    """Found among the first *top*; MRR and nDCG of the first ten."""

    def by_query(searched: Sequence[Sequence[int]]) -> Float[np.ndarray, "q 3"]:
        """The three numbers for each query."""
        rows = []
        for order, relevant in zip(searched, collection.relevant, strict=True):
            grades = [relevant.get(passage, 0.0) for passage in order]
            is_found = float(any(grades[:top]))
            rows.append((is_found, reciprocal_rank(grades), ndcg(grades, list(relevant.values()))))
        return np.array(rows)

    own = by_query(orders)
    words = by_query(orders_by_words)
    metrics = []
    for i, name in enumerate((f"found in {top}", "MRR@10", "nDCG@10")):
        value = float(own[:, i].mean())
        metrics.append(Metric(name, value, interval(own[:, i]), by_words=float(words[:, i].mean())))
    return tuple(metrics)


def rows(result: NotFound) -> list[dict[str, object]]:
    """A row for each query: the rank of what answers it, and why it was not found. Ranks count from 1."""
    misses = {miss.query: miss for miss in result.misses}
    table = []
    for query, rank in enumerate(result.ranks):
        miss = misses.get(query)
        passages = result.collection.passages
        table.append(
            {
                "query": result.collection.queries[query],
                "rank": rank,
                "rank_by_words": result.ranks_by_words[query] or "",
                "cause": miss.cause if miss else "",
                "rank_undone": miss.after if miss else "",
                "undone": miss.what if miss else "",
                "wanted": passages[miss.passage] if miss else "",
                "first": passages[miss.winner] if miss else "",
            }
        )
    return table


def summary_rows(result: NotFound) -> list[dict[str, object]]:
    """The metrics, each with its 95 % interval and that of a search by words."""
    return [
        {
            "metric": metric.name,
            "value": metric.value,
            "low": metric.interval.low,
            "high": metric.interval.high,
            "by_words": metric.by_words,
        }
        for metric in result.metrics
    ]


def tables(result: NotFound) -> dict[str, list[dict[str, object]]]:
    """The metrics; how many misses have each cause."""
    causes = [{"cause": cause, "misses": result.count(cause)} for cause in (*CAUSES, UNEXPLAINED)]
    return {"summary": summary_rows(result), "causes": causes}


class Facts(facts.Facts[NotFound]):
    def queries(self) -> float:
        """Queries that have an answer in the collection."""
        return len(self._result.ranks)

    def found(self) -> float:
        """Queries that find it."""
        return self._result.found

    def missed(self, cause: str = "") -> float:
        """Queries that do not, for this cause: cut, long, unreadable, near duplicate, hub, names, words, prompt or not
        explained; without one, for any."""
        if not cause:
            return len(self._result.misses)
        if cause not in (*CAUSES, UNEXPLAINED):
            raise ExplorerError(f"There is no cause {cause!r:.60}; wanted one of {', '.join((*CAUSES, UNEXPLAINED))}.")
        return self._result.count(cause)

    def found_by_words(self) -> float:
        """Queries that a search by words (BM25) answers."""
        return sum(0 < rank <= self._result.top for rank in self._result.ranks_by_words)
