"""The labels of a text that may have several: a yes or no for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertexplorer.answers.head_answer import LIKELY
from bertexplorer.answers.head_readout import Logits
from bertexplorer.answers.kinds.label import LabelAnswer, LabelReadout
from bertexplorer.answers.question import ClassRows
from bertexplorer.charts.marks import Mark, Rule
from bertexplorer.charts.style import join_names, percent, quote

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

NAMED = 8  # labels in the sentence


@dataclass(frozen=True, kw_only=True)
class LabelsAnswer(LabelAnswer):
    """The labels of a text that may have several."""

    kind = "labels"
    title = "probability of each label, one by one"

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(label.name for label in self.labels if label.value > LIKELY)

    def rules(self) -> list[Mark]:
        return [Rule(LIKELY, "grey", "dot")]

    def say_labels(self) -> str:
        likely = [f"{quote(label.name)} ({percent(label.value)})" for label in self.labels if label.value > LIKELY]
        if not likely:
            return f"No label is above 50 %; the likeliest is {quote(self.best.name)} with {percent(self.best.value)}."
        named = likely[:NAMED]
        if len(likely) > NAMED:
            named.append(f"{len(likely) - NAMED} more")
        return f"Above 50 %: {join_names(named)}."


class LabelsReadout(LabelReadout):
    """The labels of a text that may have several: a yes or no for each."""

    answer_type = LabelsAnswer
    order = 30
    link = "sigmoid"
    independent = True
    one_label = False

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        problem = checkpoint.hf_config.get("problem_type")
        return super().fits(checkpoint) and problem == "multi_label_classification"

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return np.asarray(-np.logaddexp(0.0, -logits))
