"""Re-ranking: the encoder over query and passage together, with one logit for the relevance."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.initialise import with_heads
from bertexplorer.training.learner import Traceable
from bertexplorer.training.objective import Loss
from bertexplorer.training.ranking import BM25, rank_by_score, ranking_metrics, tie_ranks
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.reranking import METRICS, Example, Options, bm25_orders, candidates_by_query, grades_of
from bertexplorer.training.texts import Item, TextBatch, hidden_states

LABEL = "relevance"
SHOWN = 10  # candidates per query in the rows of an evaluation
MOVES = {1: "better", 0: "the same", -1: "worse"}  # sign of the gain -> where the relevant passages went


class Reranker(Traceable):
    """The encoder with one logit for the relevance of a passage to a query (Nogueira and Cho, 2019)."""

    weights = {"relevance": 1.0}
    heads = ("sequence_classifier",)
    saved = ("highest", "weight")
    max_tokens = 256
    accepts_answer = False

    def __init__(self, checkpoint: Checkpoint, options: Options, highest: float, weight: float = 1.0) -> None:
        """*highest*: relevance that counts as 1; *weight*: of a relevant passage in the loss."""
        super().__init__(checkpoint, options)
        self.highest, self.weight = highest, weight
        self.first_only = checkpoint.sequence_classifier.first_only

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        """Raises ExplorerError if all passages are relevant, or none is."""
        right = sum(example.relevance > 0 for example in train)
        if right in (0, len(train)):
            raise ExplorerError(
                f"Of {len(train):,} training rows {'none answers' if not right else 'all answer'} the query; "
                "wanted some with relevance 0 and some above. Check which column it is, or add passages that do not "
                "answer."
            )
        checkpoint = with_heads(checkpoint, ["sequence_classifier"], seed=seed, labels=(LABEL,), problem="regression")
        weight = (len(train) - right) / right if options.balance else 1.0
        return cls(checkpoint, options, max(example.relevance for example in train), weight)

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """The target is the relevance divided by the highest grade in training."""
        targets = [min(1.0, example.relevance / self.highest) for example in examples]
        return self.tokenizer.items([example.texts for example in examples], targets)

    def targets(self, items: Sequence[Item]) -> Float[Tensor, " b"]:
        return torch.tensor([item.target or 0.0 for item in items], dtype=torch.float32)

    def logits(self, batch: TextBatch) -> Float[Tensor, " b"]:
        last = hidden_states(self.modules["encoder"], batch)
        mask = batch.mask if last.shape[1] > 1 else None
        return cast(Tensor, self.modules["sequence_classifier"](last, mask)).float().squeeze(-1)

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        """Binary cross-entropy against the target. Correct: above ½ exactly if the passage is relevant."""
        logits = self.logits(batch)
        right = ((logits.detach() > 0) == (batch.targets > 0)).sum()
        return {"relevance": Loss(self.terms(logits, batch).sum(), len(batch.targets), right)}

    def row_losses(self, batch: TextBatch) -> Float[Tensor, " b"]:
        return self.terms(self.logits(batch), batch)

    def terms(self, logits: Float[Tensor, " b"], batch: TextBatch) -> Float[Tensor, " b"]:
        scale = logits.new_tensor(self.weight)
        return F.binary_cross_entropy_with_logits(logits, batch.targets, pos_weight=scale, reduction="none")

    def example_to_explain(self, cells: Mapping[str, str], answer: str) -> tuple[str, Example]:
        """Of several passages, one per line, the one that it ranks first."""
        first = self.predict([cells])[0]["ranked"][0]["passage"]
        return "relevant", Example(0, (cells["query"].strip(), first), self.highest)

    def describe_example(self, example: Example) -> tuple[tuple[str, ...], str]:
        return example.texts, f"{example.relevance:g}"

    def scores(self, items: Sequence[Item]) -> Float[np.ndarray, " n"]:
        """The logit of each item."""
        return np.array(self.in_batches(items, lambda _, batch: self.logits(batch).tolist()))

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Each query with its passages in the new order and in that of BM25. Queries without a relevant passage count
        only in the loss, as no order of their passages is better than another. Raises ExplorerError if there are no
        others."""
        queries = candidates_by_query(examples)
        items = self.read([example for candidates in queries.values() for example in candidates])
        scores, targets = self.scores(items), np.array([item.target for item in items])
        losses = nats_per_passage(scores, targets)

        # 1. Query by query
        rows: list[dict[str, Any]] = []
        moved = Counter[str]()
        start = 0
        for (query, candidates), order_before in zip(queries.items(), bm25_orders(queries), strict=True):
            part = slice(start, start + len(candidates))
            start = part.stop
            if not any(grades_of(candidates)):
                moved["nothing relevant"] += 1
                continue
            row: dict[str, Any] = {"line": candidates[0].line, "query": query, "loss": float(losses[part].mean())}
            row |= compare_orders(candidates, scores[part], order_before)
            row["cut"] = sum(item.left_out > 0 for item in items[part])
            rows.append(row)
            moved[MOVES[int(np.sign(row["gain"]))]] += 1
        if not rows:
            raise ExplorerError("No validation query has a passage that answers it. Check the relevance column.")

        # 2. Together
        metrics = {key: float(np.mean([row[key] for row in rows])) for key in METRICS if key != "loss"}
        metrics["loss"] = float(losses.mean())
        names = (*MOVES.values(), "nothing relevant")
        table = [{"after re-ranking": name, "queries": moved[name]} for name in names]
        return Evaluation(metrics, rows, {"Queries": table})

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The passages, one per line, with their probabilities, the most relevant first."""
        return [self.rank(cells.get("query", "").strip(), cells.get("passage", "")) for cells in inputs]

    def rank(self, query: str, passages: str) -> dict[str, Any]:
        texts = [line.strip() for line in passages.splitlines() if line.strip()]
        if not query or not texts:
            raise ExplorerError("Type a query, and the passages to rank, one per line.")
        items = self.tokenizer.items([(query, text) for text in texts])
        scores = self.scores(items)
        order_before = np.argsort(-BM25(texts).scores(query), kind="stable").tolist()
        return {"ranked": ranked_list(texts, scores, order_before, [item.left_out for item in items])}


def ranked_list(
    texts: Sequence[str], scores: np.ndarray, order_before: list[int], cut: Sequence[int]
) -> list[dict[str, Any]]:
    """The passages in their new order, each with its rank before, counted from 1."""
    return [
        {
            "passage": texts[i],
            "score": float(scores[i]),
            "probability": float(1 / (1 + np.exp(-scores[i]))),
            "before": order_before.index(i) + 1,
            "cut": cut[i],
        }
        for i in np.argsort(-scores, kind="stable").tolist()
    ]


def nats_per_passage(scores: Float[np.ndarray, " n"], targets: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Binary cross-entropy of each passage, from logits."""
    return np.logaddexp(0, scores) - targets * scores


def compare_orders(
    candidates: Sequence[Example], scores: Float[np.ndarray, " n"], order_before: Sequence[int]
) -> dict[str, Any]:
    """The ranking of a query's candidates after and before re-ranking."""
    order = rank_by_score(scores, tie_ranks([example.texts[1] for example in candidates])).tolist()
    grades = grades_of(candidates)
    metrics, metrics_before = (
        ranking_metrics([grades[i] for i in ranking], grades) for ranking in (order, order_before)
    )
    best = max(range(len(candidates)), key=grades.__getitem__)
    return {
        "gold": candidates[best].texts[1],
        "predicted": candidates[order[0]].texts[1],
        "right": grades[order[0]] > 0,
        "score": metrics["ndcg_10"],
        "gain": metrics["ndcg_10"] - metrics_before["ndcg_10"],
        **{key: metrics[key] for key in ("ndcg_10", "mrr_10")},
        **{f"{key}_before": metrics_before[key] for key in ("ndcg_10", "mrr_10")},
        "candidates": len(candidates),
        "ranked": [
            {
                "passage": candidates[i].texts[1],
                "score": float(scores[i]),
                "relevance": grades[i],
                "before": order_before.index(i) + 1,
            }
            for i in order[:SHOWN]
        ],
    }
