"""The score of a regression, or of a re-ranker, which says how well a passage fits a question."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from bertexplorer.answers import task_head
from bertexplorer.answers.head_answer import Row, row
from bertexplorer.answers.head_readout import Logits
from bertexplorer.answers.kinds.label import LabelAnswer, LabelReadout
from bertexplorer.answers.question import ClassRows
from bertexplorer.charts.style import decimal, percent, quote
from bertexplorer.model.text import Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint


@dataclass(frozen=True, kw_only=True)
class ScoreAnswer(LabelAnswer):
    """The score of a text."""

    kind = "score"
    scored = True
    title = "score"

    reranks: bool = False  # whether the score says how well the second text fits the first
    relevance_function: str = ""  # of a re-ranker: what its files make of the score, such as "Sigmoid"
    relevance: float | None = None  # what that makes of it; None if it is not built in

    @property
    def name(self) -> str:
        return "the score"

    def further_rows(self) -> list[Row]:
        if self.relevance is None:
            return []
        return [row(self.kind, "", "", "relevance", 2, self.relevance)]

    def scale(self, values: Iterable[float]) -> tuple[float, float]:
        """A score has no largest value."""
        all_values = [0.0, *values]
        return min(all_values), max(all_values)

    def say_labels(self) -> str:
        subject = "The score is" if len(self.labels) == 1 else f"{quote(self.best.name)} has the score"
        return f"{subject} {decimal(self.best.value)}{self.say_relevance()}."

    def say_relevance(self) -> str:
        """What a re-ranker's files make of its score, as the end of a sentence."""
        if not self.reranks:
            return ""
        name = self.relevance_function
        if self.relevance is None:
            return f", of which its files make a relevance by {name}, which is not computed here"
        if name == "Identity":
            return ", which its files take for the relevance as it is"
        if name == "Sigmoid":
            return f", a relevance of {percent(self.relevance)} (its sigmoid)"
        return f", a relevance of {decimal(self.relevance)} (by {name})"


class ScoreReadout(LabelReadout):
    """The score of a regression. As in transformers, a head with one label is one."""

    answer_type = ScoreAnswer
    order = 40
    targets = ("score",)
    link = "identity"
    scored = True
    one_label = False
    number_name = "score"
    outcome = "the score"

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        regression = checkpoint.hf_config.get("problem_type") == "regression"
        return super().fits(checkpoint) and (regression or checkpoint.config.num_labels == 1)

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return logits

    def answer(self, text: Text, top: int, longest: int, others: str) -> ScoreAnswer:
        answer = cast(ScoreAnswer, super().answer(text, top, longest, others))
        if not task_head.reranks(self.checkpoint):
            return answer
        name, relevance = task_head.relevance_of(self.checkpoint, answer.best.logit)
        return replace(answer, reranks=True, relevance_function=name, relevance=relevance)
