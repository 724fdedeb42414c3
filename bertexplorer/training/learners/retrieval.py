"""Retrieval: one encoder for queries and passages, trained so that each query is closest to its own passage."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypedDict

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
from bertexplorer.training.task import EvaluatedRow, Evaluation
from bertexplorer.training.tasks.retrieval import (
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
SHOWN = 3  # passages of a query in the rows of an evaluation


class FoundPassage(TypedDict):
    passage: str
    cosine: float


class JudgedPassage(FoundPassage):
    relevance: float


class EvaluatedQuery(EvaluatedRow):
    """*gold*, *predicted*: a passage that answers the query, and the one that is ranked first; *score*: NDCG@10."""

    rank: int  # of the first passage that answers it, from 1
    mrr_10: float
    ndcg_10: float
    recall_10: float
    relevant: int  # number of passages that answer it
    ranked: list[JudgedPassage]  # the first three


class SearchResult(TypedDict):
    """The answer to a query."""

    ranked: list[FoundPassage]  # the nearest first
    searched: int  # number of passages
    left_out: int  # passages of the run's collection that were not saved with it


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
        """*indexed*: the passages to search, besides those of the rows to evaluate; *train*: whose pairs `order` puts
        into batches."""
        super().__init__(checkpoint, options)
        self.passages = list(indexed)
        self.pairs = [example for example in train if example.relevance]
        self.relevance = relevance_by_query(train)
        # What an evaluation leaves for the playground: passages, the vectors of the first of them, how many have none
        self.indexed = list(indexed)
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
        """Also "passages", those that the playground searches, and "left_out", the number of others."""
        return super().state() | {"passages": self.indexed[: len(self.index.vectors)], "left_out": self.left_out}

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """A Group of query, passage and wrong passages for each example with a relevant passage; the others only extend
        the collection."""
        relevance = relevance_by_query(examples)
        groups = []
        for example in examples:
            if example.relevance:
                wrong = [text for text in example.negatives if text not in relevance[example.query]]
                groups.append((example.query, example.passage, *wrong))
        items = iter(self.tokenizer.items([(text,) for group in groups for text in group]))
        return [join_items([next(items) for _ in group]) for group in groups]

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
        """Two parts: the queries; their passages in the same order, with all wrong passages after them."""
        queries = [item.parts[0] for item in items]
        right = [item.parts[1] for item in items]
        wrong = [part for item in items for part in item.parts[2:]]
        return GroupBatch((self.pad(queries), self.pad([*right, *wrong])), torch.arange(len(items)))

    def losses(self, batch: GroupBatch) -> dict[str, Loss]:
        """Cross-entropy of each query's own passage among all passages of the batch."""
        queries, passages = (self.embed(part) for part in batch.parts)
        return {"passage": cross_entropy(self.options.scale * queries @ passages.T, batch.targets)}

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Exact search, for each query of *examples*, in their passages and those of the training rows, which the
        playground searches from then on. The loss compares with 31 passages drawn at random, always the same. Raises
        ExplorerError if no passage answers a query."""
        relevance = relevance_by_query(examples)
        if not relevance:
            raise ExplorerError("No validation query has a passage that answers it. Check the relevance column.")

        # 1. The collection, whose first passages stay with the run
        collection = search_collection(examples, self.passages, self.options)
        vectors = self.vectors(collection)
        self.indexed = collection
        self.index.vectors = torch.from_numpy(vectors[:MAX_INDEXED].copy())
        self.left_out = max(0, len(collection) - MAX_INDEXED)

        # 2. Query by query
        rows: list[EvaluatedQuery] = []
        queries = list(relevance)
        lines = {example.query: example.line for example in reversed(examples)}  # the first of each query
        index_of = {passage: i for i, passage in enumerate(collection)}
        tie_order = tie_ranks(collection)
        for start in range(0, len(queries), QUERIES):
            part = queries[start : start + QUERIES]
            for query, scores in zip(part, self.vectors(part) @ vectors.T, strict=True):
                grades = relevance[query]
                loss = self.mean_loss(scores, [index_of[passage] for passage in grades])
                row = evaluate_query(query, grades, collection, scores, tie_order, line=lines[query], loss=loss)
                rows.append(row)

        # 3. Together
        metrics = {
            "mrr_10": float(np.mean([row["mrr_10"] for row in rows])),
            "ndcg_10": float(np.mean([row["ndcg_10"] for row in rows])),
            "recall_10": float(np.mean([row["recall_10"] for row in rows])),
            "loss": float(np.mean([row["loss"] for row in rows])),
        }
        total = len(dict.fromkeys([*all_passages(examples), *self.passages]))
        size = {"queries": len(queries), "passages": len(collection), "left out": total - len(collection)}
        return Evaluation(metrics, rows, {"Collection": [size]})

    def mean_loss(self, scores: Float[np.ndarray, " n"], relevant: Sequence[int]) -> float:
        """The mean loss of a query's *relevant* passages, as indices into *scores*, each against the same others."""
        count = min(WRONG_PASSAGES + len(relevant), len(scores))
        drawn = np.random.default_rng(0).choice(len(scores), count, replace=False)
        rivals = np.setdiff1d(drawn, relevant, assume_unique=True)[:WRONG_PASSAGES]
        logits = self.options.scale * scores.astype(float)
        losses = [np.logaddexp.reduce([logits[i], *logits[rivals]]) - logits[i] for i in relevant]
        return float(np.mean(losses))

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[SearchResult]:
        """*inputs*: queries, each with the passages to search, one per line, or without any."""
        return [self.search(cells.get("query", "").strip(), cells.get("passage", "")) for cells in inputs]

    def search(self, query: str, passages: str) -> SearchResult:
        """The passages that are nearest to *query*, among *passages*, one per line, or else among those saved with the
        run. Raises ExplorerError without a query or a passage."""
        if not query:
            raise ExplorerError("The query is empty. Type what you look for.")
        texts = [line.strip() for line in passages.splitlines() if line.strip()]
        left_out = 0
        if texts:
            vectors = self.vectors(texts)
        else:
            vectors = self.index.vectors.numpy()
            texts = self.indexed[: len(vectors)]
            left_out = self.left_out
        if not texts:
            raise ExplorerError("There is no passage to search. Type some, one per line.")
        cosines = vectors @ self.vectors([query])[0]
        ranked: list[FoundPassage] = []
        for i in np.argsort(-cosines)[:TOP]:
            ranked.append({"passage": texts[i], "cosine": float(cosines[i])})
        return {"ranked": ranked, "searched": len(texts), "left_out": left_out}


def evaluate_query(
    query: str,
    grades: Mapping[str, float],
    collection: Sequence[str],
    scores: Float[np.ndarray, " n"],
    tie_order: Int[np.ndarray, " n"],
    *,
    line: int,
    loss: float,
) -> EvaluatedQuery:
    """The ranking of *collection* by *scores*. *grades*: a passage that answers *query* -> its relevance; *tie_order*:
    see `tie_ranks`."""
    order = rank_by_score(scores, tie_order)
    ranked_grades = [grades.get(collection[i], 0.0) for i in order]
    metrics = ranking_metrics(ranked_grades[:TOP], list(grades.values()))
    ranked: list[JudgedPassage] = []
    for i, grade in zip(order[:SHOWN], ranked_grades, strict=False):
        ranked.append({"passage": collection[i], "cosine": float(scores[i]), "relevance": grade})
    return {
        "line": line,
        "query": query,
        "gold": next(iter(grades)),
        "predicted": collection[order[0]],
        "right": ranked_grades[0] > 0,
        "rank": next(rank for rank, grade in enumerate(ranked_grades, 1) if grade),
        "score": metrics["ndcg_10"],
        "mrr_10": metrics["mrr_10"],
        "ndcg_10": metrics["ndcg_10"],
        "recall_10": metrics["recall_10"],
        "relevant": len(grades),
        "ranked": ranked,
        "loss": loss,
    }
