"""Predictions for changed texts, and how probable the prediction for the unchanged text still is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from bertexplorer.answers.attribution import ask_within_limit
from bertexplorer.answers.question import ClassRow, Question, TargetKind
from bertexplorer.answers.readout import MaskReadout
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

T = TypeVar("T")


@dataclass(frozen=True)
class Query:
    """A text, and the position (0-based) of the token from whose last vector the answer is read."""

    encoding: Encoding
    position: int


@dataclass(frozen=True)
class Prediction:
    """The answer to one text. Probabilities are between 0 and 1."""

    index: int  # of the answer among the classes
    probability: float  # of that answer
    before: float  # of that answer to the unchanged text
    kept: float  # of the answer to the unchanged text
    wanted: float  # of the wanted answer; NaN if none was named


@dataclass(frozen=True)
class Predictor:
    """One answer among classes, read from text after text."""

    question: Question  # the class to lose or, if one is wanted, to reach, and the unchanged text
    before: ClassRow  # natural-log probabilities of all classes for the unchanged text
    wanted: int | None  # class to reach; None: any other

    @property
    def answer(self) -> int:
        """Class of the answer to the unchanged text."""
        return int(self.before.argmax())

    @property
    def sign(self) -> int:
        """1 if the number of the question must fall, -1 if it must rise."""
        return 1 if self.wanted is None else -1

    def predict(self, texts: Sequence[Query]) -> list[Prediction]:
        """The answers to *texts*, in their order."""
        return map_by_length(texts, lambda same_length: map(self.prediction, self.classes(same_length)))

    def classes(self, texts: Sequence[Query]) -> Iterable[ClassRow]:
        """Natural-log probabilities of all classes for each of *texts*."""
        return self.question.readout.rows([text.encoding for text in texts], [text.position for text in texts])

    def prediction(self, row: ClassRow) -> Prediction:
        """The answer to a text whose classes have the natural-log probabilities *row*."""
        best = int(row.argmax())
        return Prediction(
            index=best,
            probability=math.exp(row[best]),
            before=math.exp(self.before[best]),
            kept=math.exp(row[self.answer]),
            wanted=math.nan if self.wanted is None else math.exp(row[self.wanted]),
        )

    def flips(self, prediction: Prediction) -> bool:
        """Whether the answer is the wanted one or, if none was named, another one than before."""
        return prediction.index != self.answer if self.wanted is None else prediction.index == self.wanted


def map_by_length(texts: Sequence[Query], read: Callable[[Sequence[Query]], Iterable[T]]) -> list[T]:
    """The result of *read* for each of *texts*. Only texts of the same length share a batch, as bf16 rounds differently
    next to padding."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i].encoding))
    results: dict[int, T] = {}
    for _, group in groupby(order, key=lambda i: len(texts[i].encoding)):
        indices = list(group)
        results |= zip(indices, read([texts[i] for i in indices]), strict=True)
    return [results[i] for i in range(len(texts))]


def make_predictor(
    checkpoint: Checkpoint, text: Text | str, target: TargetKind, wanted: str, tagged_word: str = ""
) -> Predictor:
    """The Predictor of what `readout.ask` finds. *wanted*: the answer to reach; '': any other.

    Raises ExplorerError as saliency does, for a score and a span, and if the checkpoint gives the *wanted* answer
    already."""
    question = ask_within_limit(checkpoint, text, target, "", tagged_word)
    question.require_probability()
    if question.readout.of_tokens:
        raise ExplorerError(
            "A changed text has other spans, so there is no answer to keep or to change. Look at Saliency, or choose a "
            "checkpoint that gives labels or tags."
        )
    [before] = question.readout.rows([question.encoding], [question.position])
    answer = int(before.argmax())
    if not wanted.strip():
        return Predictor(replace(question, index=answer, known={}), before, wanted=None)
    index = question.readout.find(wanted, question.encoding, question.position)
    if index == answer:
        raise ExplorerError(
            f"The answer is {question.name(answer)!r} already. Name another answer to reach, or none for any other."
        )
    return Predictor(replace(question, index=index, known={}), before, wanted=index)


def mask_rows(checkpoint: Checkpoint, texts: Sequence[Query]) -> Iterable[ClassRow]:
    """Natural-log probabilities of the pieces at the position of each text, one text at a time: they take memory."""
    return MaskReadout(checkpoint).rows([text.encoding for text in texts], [text.position for text in texts])
