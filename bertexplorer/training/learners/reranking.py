"""Re-ranking: the encoder over query and passage together, with one logit for the relevance."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self, TypedDict

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.initialise import with_heads
from bertexplorer.training.learner import ExampleInWords, ExplainedAnswer, Traceable, sequence_logits
from bertexplorer.training.objective import Loss
from bertexplorer.training.ranking import BM25, rank_by_score, ranking_metrics, tie_ranks
from bertexplorer.training.task import EvaluatedRow, Evaluation
from bertexplorer.training.tasks.reranking import Example, Options, bm25_orders, candidates_by_query, grades_of
from bertexplorer.training.texts import Item, TextBatch

LABEL = "relevance"
SHOWN = 10  # candidates per query in the rows of an evaluation
NOTHING = "nothing relevant"
MOVES = {1: "better", 0: "the same", -1: "worse"}  # sign of the gain -> where the relevant passages went


class JudgedPassage(TypedDict):
    """A passage in an evaluation."""

    passage: str
    score: float  # the logit
    relevance: float
    before: int  # its rank by BM25, from 1


class EvaluatedQuery(EvaluatedRow):
    """*gold*, *predicted*: the most relevant passage, and the one that is ranked first; *score*: NDCG@10; *cut*: number
    of passages of which a part was not read."""

    gain: float  # of NDCG@10, over BM25
    ndcg_10: float
    mrr_10: float
    ndcg_10_before: float  # of BM25
    mrr_10_before: float
    candidates: int  # number of passages
    ranked: list[JudgedPassage]  # the first of them


class RankedPassage(TypedDict):
    """A passage in the answer to a query."""

    passage: str
    score: float  # the logit
    probability: float
    before: int  # its rank by BM25, from 1
    cut: int  # tokens beyond the limit


class RankedPassages(TypedDict):
    """The answer to a query: its passages, the most relevant first."""

    ranked: list[RankedPassage]


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
        relevant = sum(example.relevance > 0 for example in train)
        if relevant in (0, len(train)):
            which = "all answer" if relevant else "none answers"
            raise ExplorerError(
                f"Of {len(train):,} training rows {which} the query; wanted some with relevance 0 and some above. "
                "Check which column it is, or add passages that do not answer."
            )
        checkpoint = with_heads(checkpoint, ["sequence_classifier"], seed=seed, labels=(LABEL,), problem="regression")
        highest = max(example.relevance for example in train)
        weight = (len(train) - relevant) / relevant if options.balance else 1.0
        return cls(checkpoint, options, highest, weight)

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """The target is the relevance divided by the highest grade in training."""
        targets = [min(1.0, example.relevance / self.highest) for example in examples]
        return self.tokenizer.items([example.texts for example in examples], targets)

    def targets(self, items: Sequence[Item]) -> Float[Tensor, " b"]:
        return torch.tensor([item.target or 0.0 for item in items], dtype=torch.float32)

    def logits(self, batch: TextBatch) -> Float[Tensor, " b"]:
        return sequence_logits(self.modules, batch).squeeze(-1)

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        """Binary cross-entropy against the target. Correct: above ½ exactly if the passage is relevant."""
        logits = self.logits(batch)
        right = ((logits.detach() > 0) == (batch.targets > 0)).sum()
        return {"relevance": Loss(self.terms(logits, batch).sum(), len(batch.targets), right)}

    def row_losses(self, batch: TextBatch) -> Float[Tensor, " b"]:
        return self.terms(self.logits(batch), batch)

    def terms(self, logits: Float[Tensor, " b"], batch: TextBatch) -> Float[Tensor, " b"]:
        """The loss of each passage in nats, relevant ones times `weight`."""
        scale = logits.new_tensor(self.weight)
        return F.binary_cross_entropy_with_logits(logits, batch.targets, pos_weight=scale, reduction="none")

    def example_to_explain(self, cells: Mapping[str, str], answer: str) -> ExplainedAnswer:
        """Of several passages, one per line, the one that it ranks first."""
        first = self.predict([cells])[0]["ranked"][0]["passage"]
        return ExplainedAnswer("relevant", Example(0, (cells["query"].strip(), first), self.highest))

    def describe_example(self, example: Example) -> ExampleInWords:
        return ExampleInWords(example.texts, f"{example.relevance:g}")

    def scores(self, items: Sequence[Item]) -> Float[np.ndarray, " n"]:
        """The logit of each item."""
        return np.array(self.in_batches(items, lambda _, batch: self.logits(batch).tolist()))

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Each query with its passages in the new order and in that of BM25. Queries without a relevant passage count
        only in the loss, as no order of their passages is better than another. Raises ExplorerError if there are no
        others."""
        queries = candidates_by_query(examples)
        items = self.read([example for candidates in queries.values() for example in candidates])
        scores = self.scores(items)
        losses = nats_per_passage(scores, np.array([item.target for item in items]))

        # 1. Query by query
        rows: list[EvaluatedQuery] = []
        moved = Counter[str]()
        start = 0
        for (query, candidates), order_before in zip(queries.items(), bm25_orders(queries), strict=True):
            part = slice(start, start + len(candidates))  # the items of this query
            start = part.stop
            if not any(grades_of(candidates)):
                moved[NOTHING] += 1
                continue
            loss = float(losses[part].mean())
            cut = sum(item.left_out > 0 for item in items[part])
            row = evaluate_query(query, candidates, scores[part], order_before, loss=loss, cut=cut)
            rows.append(row)
            moved[MOVES[int(np.sign(row["gain"]))]] += 1
        if not rows:
            raise ExplorerError("No validation query has a passage that answers it. Check the relevance column.")

        # 2. Together
        metrics = {
            "ndcg_10": float(np.mean([row["ndcg_10"] for row in rows])),
            "ndcg_10_before": float(np.mean([row["ndcg_10_before"] for row in rows])),
            "mrr_10": float(np.mean([row["mrr_10"] for row in rows])),
            "mrr_10_before": float(np.mean([row["mrr_10_before"] for row in rows])),
            "loss": float(losses.mean()),
        }
        table = [{"after re-ranking": name, "queries": moved[name]} for name in (*MOVES.values(), NOTHING)]
        return Evaluation(metrics, rows, {"Queries": table})

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[RankedPassages]:
        """*inputs*: queries, each with its passages, one per line."""
        return [self.rank(cells.get("query", "").strip(), cells.get("passage", "")) for cells in inputs]

    def rank(self, query: str, passages: str) -> RankedPassages:
        """*passages*, one per line, in order. Raises ExplorerError if there is none, or no query."""
        texts = [line.strip() for line in passages.splitlines() if line.strip()]
        if not query or not texts:
            raise ExplorerError("Type a query, and the passages to rank, one per line.")
        items = self.tokenizer.items([(query, text) for text in texts])
        scores = self.scores(items)
        order_before = np.argsort(-BM25(texts).scores(query), kind="stable").tolist()
        ranked: list[RankedPassage] = []
        for i in np.argsort(-scores, kind="stable").tolist():
            ranked.append(
                {
                    "passage": texts[i],
                    "score": float(scores[i]),
                    "probability": float(1 / (1 + np.exp(-scores[i]))),
                    "before": order_before.index(i) + 1,
                    "cut": items[i].left_out,
                }
            )
        return {"ranked": ranked}


def nats_per_passage(scores: Float[np.ndarray, " n"], targets: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Binary cross-entropy of each passage, from logits."""
    return np.logaddexp(0, scores) - targets * scores


def evaluate_query(
    query: str,
    candidates: Sequence[Example],
    scores: Float[np.ndarray, " n"],
    order_before: Sequence[int],
    *,
    loss: float,
    cut: int,
) -> EvaluatedQuery:
    """The ranking of a query's *candidates* by their *scores*, compared with *order_before*, that of BM25, as their
    indices."""
    grades = grades_of(candidates)
    passages = [candidate.texts[1] for candidate in candidates]
    order = rank_by_score(scores, tie_ranks(passages)).tolist()
    metrics = ranking_metrics([grades[i] for i in order], grades)
    metrics_before = ranking_metrics([grades[i] for i in order_before], grades)
    ranked: list[JudgedPassage] = []
    for i in order[:SHOWN]:
        before = order_before.index(i) + 1
        ranked.append({"passage": passages[i], "score": float(scores[i]), "relevance": grades[i], "before": before})
    return {
        "line": candidates[0].line,
        "query": query,
        "loss": loss,
        "gold": passages[grades.index(max(grades))],
        "predicted": passages[order[0]],
        "right": grades[order[0]] > 0,
        "score": metrics["ndcg_10"],
        "gain": metrics["ndcg_10"] - metrics_before["ndcg_10"],
        "ndcg_10": metrics["ndcg_10"],
        "mrr_10": metrics["mrr_10"],
        "ndcg_10_before": metrics_before["ndcg_10"],
        "mrr_10_before": metrics_before["mrr_10"],
        "candidates": len(candidates),
        "ranked": ranked,
        "cut": cut,
    }
