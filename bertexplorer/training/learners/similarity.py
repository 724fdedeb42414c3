"""Similarity: the encoder alone; the cosine of two texts is trained to match their score."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypedDict

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.training.embedding import Embedder, GroupBatch, join_items
from bertexplorer.training.learner import ExampleInWords, ExplainedAnswer, Traceable
from bertexplorer.training.objective import Loss
from bertexplorer.training.task import EvaluatedRow, Evaluation
from bertexplorer.training.tasks.similarity import Example, Options, correlations
from bertexplorer.training.texts import Item

NEAR = 0.1  # share of the range: closer counts as correct


class EvaluatedPair(EvaluatedRow):
    """*gold*, *predicted*: scores in the range of the rows; the loss is the squared error of the cosine."""

    cosine: float
    gap: float  # between gold and predicted


class ScoredPair(TypedDict):
    """The answer to two texts."""

    cosine: float
    score: float  # that the cosine stands for
    low: float  # the range of the scores
    high: float


class Similarity(Embedder, Traceable):
    """The encoder alone. Learns by regression: the squared error of the cosine against the score between 0 and 1
    (Reimers and Gurevych, 2019, section 3)."""

    weights = {"score": 1.0}
    saved = ("low", "high")
    accepts_answer = False

    def __init__(self, checkpoint: Checkpoint, options: Options, low: float, high: float) -> None:
        """*low*, *high*: the scores that a cosine of 0 and of 1 stands for."""
        super().__init__(checkpoint, options)
        self.low, self.high = low, high

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        """The lowest and the highest score of *train* become 0 and 1. Raises ExplorerError if they are the same."""
        scores = [example.score for example in train]
        if min(scores) == max(scores):
            raise ExplorerError(
                f"Every training row has the score {scores[0]:g}; wanted different ones. Check which column it is."
            )
        return cls(checkpoint, options, min(scores), max(scores))

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """A Group of two texts for each example. The target is the cosine that its score stands for."""
        texts = iter(self.tokenizer.items([(text,) for example in examples for text in example.texts]))
        groups: list[Item] = []
        for example in examples:
            target = (example.score - self.low) / (self.high - self.low)
            groups.append(join_items([next(texts), next(texts)], target))
        return groups

    def collate(self, items: Sequence[Any]) -> GroupBatch:
        parts = tuple(self.pad([item.parts[side] for item in items]) for side in (0, 1))
        return GroupBatch(parts, torch.tensor([item.target for item in items], dtype=torch.float32))

    def losses(self, batch: GroupBatch) -> dict[str, Loss]:
        """Correct: closer than a tenth of the range."""
        squares = self.row_losses(batch)
        return {"score": Loss(squares.sum(), len(squares), (squares.detach() < NEAR**2).sum())}

    def row_losses(self, batch: GroupBatch) -> Float[Tensor, " b"]:
        """The squared error of each cosine."""
        cosines = -self.answer_losses(batch)
        return (cosines - batch.targets).square()

    def answer_losses(self, batch: GroupBatch) -> Float[Tensor, " b"]:
        """The cosine of each pair, negated."""
        first, second = (self.embed(part) for part in batch.parts)
        return -(first * second).sum(-1)

    def example_to_explain(self, cells: Mapping[str, str], answer: str) -> ExplainedAnswer:
        self.predict([cells])  # raises ExplorerError for an empty text
        return ExplainedAnswer("similar", Example(0, (cells["text_a"], cells["text_b"]), self.high))

    def describe_example(self, example: Example) -> ExampleInWords:
        return ExampleInWords(example.texts, f"{example.score:g}")

    def outputs(self, items: Sequence[Item]) -> list[Float[np.ndarray, "1 d"]]:
        """The vectors of both texts, one after the other."""

        def compute(_: list[Item], batch: GroupBatch) -> Float[np.ndarray, "b 1 d"]:
            return torch.cat([self.embed(part) for part in batch.parts], dim=-1).unsqueeze(1).cpu().numpy()

        return self.in_batches(items, compute)

    def cosines(self, pairs: Sequence[Sequence[str]]) -> Float[np.ndarray, " n"]:
        """The cosine of the two texts of each pair."""
        first, second = (self.vectors([pair[side] for pair in pairs]) for side in (0, 1))
        return (first * second).sum(-1).astype(float)

    def score(self, cosine: float) -> float:
        """A cosine in the range of the training scores."""
        return self.low + min(1.0, max(0.0, cosine)) * (self.high - self.low)

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Rows are sorted by the gap between gold and predicted, the largest first."""
        cosines = self.cosines([example.texts for example in examples])
        rows: list[EvaluatedPair] = []
        for example, item, cosine in zip(examples, self.read(examples), cosines.tolist(), strict=True):
            predicted = self.score(cosine)
            rows.append(
                {
                    "line": example.line,
                    "text_a": example.texts[0],
                    "text_b": example.texts[1],
                    "gold": example.score,
                    "predicted": predicted,
                    "cosine": cosine,
                    "gap": abs(predicted - example.score),
                    "loss": (cosine - item.target) ** 2,
                    "cut": item.left_out,
                }
            )
        metrics = correlations(cosines, np.array([example.score for example in examples]))
        metrics["loss"] = float(np.mean([row["loss"] for row in rows]))
        rows.sort(key=lambda row: -row["gap"])
        return Evaluation(metrics, rows)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[ScoredPair]:
        pairs = [(cells.get("text_a", "").strip(), cells.get("text_b", "").strip()) for cells in inputs]
        if not all(first and second for first, second in pairs):
            raise ExplorerError("One of the two texts is empty. Type both.")
        answers: list[ScoredPair] = []
        for cosine in self.cosines(pairs).tolist():
            answers.append({"cosine": cosine, "score": self.score(cosine), "low": self.low, "high": self.high})
        return answers
