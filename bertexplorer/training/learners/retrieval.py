"""Retrieval: one encoder for queries and passages, trained so that each query is closest to its own passage."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.training.embedding import Embedder, GroupBatch, join_items
from bertexplorer.training.finetuning.batch_sampler import batches_without_conflicts
from bertexplorer.training.learner import Learner
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.ranking import TOP, rank_by_score, ranking_metrics, tie_ranks
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.retrieval import (
    METRICS,
    Example,
    Options,
    all_passages,
    relevance_by_query,
    search_collection,
)
from bertexplorer.training.texts import Item
from bertexplorer.wording import counted

WRONG_PASSAGES = 31  # wrong passages in the loss of an evaluation, as in a batch of 32
MAX_INDEXED = 2_000  # passages that the playground searches
ORDER_STREAM = 4  # stream of random numbers
QUERIES = 256  # compared with all passages at once


class PassageIndex(nn.Module):
    """The vectors of the passages that the playground searches; not trained."""

    vectors: Tensor

    def __init__(self, vectors: Float[Tensor, "n d"]) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors)


class Retriever(Embedder):
    """One encoder for queries and passages. Each query is trained to be closer to its own passage than to all others of
    the batch (Henderson et al., 2017, section 4.4: multiple negatives ranking), including its hard negatives."""

    weights = {"passage": 1.0}

    def __init__(
        self, checkpoint: Checkpoint, options: Options, indexed: Sequence[str], train: Sequence[Example] = ()
    ) -> None:
        super().__init__(checkpoint, options)
        self.passages, self.indexed = list(indexed), list(indexed)
        self.pairs, self.relevance = [example for example in train if example.relevance], relevance_by_query(train)
        self.index = PassageIndex(torch.zeros(0, checkpoint.config.hidden_size))
        self.extra["collection"] = self.index
        self.left_out = 0

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        """Raises ExplorerError if no query has a wrong passage to compare with."""
        right = {example.passage for example in train if example.relevance}
        if len(right) < 2 and not (right and any(example.negatives for example in train)):
            raise ExplorerError(
                f"The training rows have {counted(len(right), 'passage')} that answer a query; "
                "wanted at least 2 different ones."
            )
        return cls(checkpoint, options, all_passages(train), train)

    @classmethod
    def restore(
        cls, checkpoint: Checkpoint, options: Any, state: Mapping[str, Any], tensors: Mapping[str, Tensor]
    ) -> Learner:
        learner = cls(checkpoint, options, state["passages"])
        learner.set_max_tokens(state["max_tokens"])
        learner.index.vectors = tensors["collection.vectors"]
        learner.left_out = state["left_out"]
        return learner

    def state(self) -> dict[str, Any]:
        return super().state() | {"passages": self.indexed[: len(self.index.vectors)], "left_out": self.left_out}

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """The examples with a relevant passage; the others only extend the collection."""
        relevance = relevance_by_query(examples)
        texts = [
            (
                example.query,
                example.passage,
                *(text for text in example.negatives if text not in relevance[example.query]),
            )
            for example in examples
            if example.relevance
        ]
        items = iter(self.tokenizer.items([(text,) for group in texts for text in group]))
        return [join_items([next(items) for _ in group]) for group in texts]

    def order(self, lengths: Sequence[int], batch: int, seed: int, epoch: int) -> list[list[int]]:
        """Batches in which no passage answers another row's query. A row that fits nowhere waits for another epoch.
        Raises ExplorerError for batches of 1 without hard negatives."""
        if batch < 2 and not all(example.negatives for example in self.pairs):
            raise ExplorerError("A batch of 1 has no wrong passages. Set Batch to 2 or more.")
        rng = np.random.default_rng([seed, ORDER_STREAM, epoch])
        answers = [set(self.relevance[pair.query]) for pair in self.pairs]
        texts = [{pair.passage, *pair.negatives} for pair in self.pairs]
        return batches_without_conflicts(texts, answers, rng.permutation(len(texts)).tolist(), batch)

    def collate(self, items: Sequence[Any]) -> GroupBatch:
        right = [item.parts[1] for item in items]
        wrong = [part for item in items for part in item.parts[2:]]
        parts = (self.pad([item.parts[0] for item in items]), self.pad([*right, *wrong]))
        return GroupBatch(parts, torch.arange(len(items)))

    def losses(self, batch: GroupBatch) -> dict[str, Loss]:
        queries, passages = (self.embed(part) for part in batch.parts)
        return {"passage": cross_entropy(self.options.scale * queries @ passages.T, batch.targets)}

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Exact search, for each query of *examples*, in their passages and those of the training rows. The loss
        compares with 31 passages drawn at random, always the same."""
        relevance = relevance_by_query(examples)
        if not relevance:
            raise ExplorerError("No validation query has a passage that answers it. Check the relevance column.")
        collection = search_collection(examples, self.passages, self.options)
        vectors = self.vectors(collection)
        self.indexed, self.left_out = collection, max(0, len(collection) - MAX_INDEXED)
        self.index.vectors = torch.from_numpy(vectors[:MAX_INDEXED].copy())
        rows, queries = [], list(relevance)
        lines = {example.query: example.line for example in reversed(examples)}
        index_of, tie_order = {passage: i for i, passage in enumerate(collection)}, tie_ranks(collection)
        for start in range(0, len(queries), QUERIES):
            part = queries[start : start + QUERIES]
            for query, scores in zip(part, self.vectors(part) @ vectors.T, strict=True):
                relevant = [index_of[passage] for passage in relevance[query]]
                row = {"line": lines[query], "query": query, "gold": collection[relevant[0]]}
                rows.append(
                    row
                    | describe_ranking(scores, collection, tie_order, relevance[query])
                    | {"loss": self.mean_loss(scores, relevant)}
                )
        metrics = {metric: float(np.mean([row[metric] for row in rows])) for metric in METRICS}
        total = len(dict.fromkeys([*all_passages(examples), *self.passages]))
        size = {"queries": len(queries), "passages": len(collection), "left out": total - len(collection)}
        return Evaluation(metrics, rows, {"Collection": [size]})

    def mean_loss(self, scores: Float[np.ndarray, " n"], relevant: Sequence[int]) -> float:
        """The mean loss of a query's relevant passages, each against the same others."""
        others = np.random.default_rng(0).choice(
            len(scores), min(WRONG_PASSAGES + len(relevant), len(scores)), replace=False
        )
        rivals = np.setdiff1d(others, relevant, assume_unique=True)[:WRONG_PASSAGES]
        logits = self.options.scale * scores.astype(float)
        return float(np.mean([np.logaddexp.reduce([logits[i], *logits[rivals]]) - logits[i] for i in relevant]))

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The nearest passages to the query, among those of the input, one per line, or else among those saved with the
        run."""
        return [self.search(cells.get("query", "").strip(), cells.get("passage", "")) for cells in inputs]

    def search(self, query: str, passages: str) -> dict[str, Any]:
        if not query:
            raise ExplorerError("The query is empty. Type what you look for.")
        texts = [line.strip() for line in passages.splitlines() if line.strip()]
        vectors = self.vectors(texts) if texts else self.index.vectors.numpy()
        texts = texts or self.indexed[: len(vectors)]
        if not texts:
            raise ExplorerError("There is no passage to search. Type some, one per line.")
        cosines = vectors @ self.vectors([query])[0]
        ranked = [{"passage": texts[i], "cosine": float(cosines[i])} for i in np.argsort(-cosines)[:TOP]]
        return {"ranked": ranked, "searched": len(texts), "left_out": 0 if passages.strip() else self.left_out}


def describe_ranking(
    scores: Float[np.ndarray, " n"],
    collection: Sequence[str],
    tie_order: Int[np.ndarray, " n"],
    grades: Mapping[str, float],
) -> dict[str, Any]:
    """Metrics of the order of *collection* by *scores*, with its first three passages. *tie_order*: see `tie_ranks`."""
    order = rank_by_score(scores, tie_order)
    ranked_grades = [grades.get(collection[i], 0.0) for i in order]
    top = [
        {"passage": collection[i], "cosine": float(scores[i]), "relevance": grades.get(collection[i], 0.0)}
        for i in order[:3]
    ]
    metrics = ranking_metrics(ranked_grades[:TOP], list(grades.values()))
    rank = next(rank for rank, grade in enumerate(ranked_grades, 1) if grade)
    row = {"predicted": top[0]["passage"], "right": ranked_grades[0] > 0, "rank": rank, "score": metrics["ndcg_10"]}
    return row | metrics | {"relevant": len(grades), "ranked": top}
