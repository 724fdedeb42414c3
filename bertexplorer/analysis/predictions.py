"""Predictions for changed texts, and how probable the prediction for the unchanged text still is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis import saliency, targets, task_head
from bertexplorer.analysis.attribution import Question
from bertexplorer.analysis.decision import match_name
from bertexplorer.analysis.targets import TargetKind
from bertexplorer.analysis.word_scores import single_piece_id
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

FOLLOWS = ("is next", "is not next")  # in the order of BERT's head
Classes = Iterable[Float[np.ndarray, " c"]]
T = TypeVar("T")


@dataclass(frozen=True)
class Query:
    """A text, and the position (0-based) of the token from whose last vector the answer is read."""

    encoding: Encoding
    position: int


@dataclass(frozen=True)
class Prediction:
    """The answer to one text. Probabilities are between 0 and 1."""

    index: int  # of the answer among the classes: pieces, labels or tags, or those of FOLLOWS
    probability: float  # of that answer
    before: float  # of that answer to the unchanged text
    kept: float  # of the answer to the unchanged text
    wanted: float  # of the wanted answer; NaN if none was named


@dataclass(frozen=True)
class Predictor:
    """One answer among classes, read from text after text."""

    target: TargetKind
    question: Question  # the number that a change must raise or lower, and the unchanged text
    sign: int  # 1 if the number must fall, -1 if it must rise
    before: Float[np.ndarray, " c"]  # natural-log probabilities of all classes for the unchanged text
    wanted: int | None  # class to reach; None: any other
    name: Callable[[int], str]  # of a class
    classes: Callable[[Sequence[Query]], Classes]  # natural-log probabilities of all classes

    @property
    def answer(self) -> int:
        """Class of the answer to the unchanged text."""
        return int(self.before.argmax())

    def predict(self, texts: Sequence[Query]) -> list[Prediction]:
        """The answers to *texts*, in their order."""
        return map_by_length(texts, lambda same_length: map(self.prediction, self.classes(same_length)))

    def prediction(self, row: Float[np.ndarray, " c"]) -> Prediction:
        best = int(row.argmax())
        p_wanted = math.nan if self.wanted is None else math.exp(row[self.wanted])
        return Prediction(best, math.exp(row[best]), math.exp(self.before[best]), math.exp(row[self.answer]), p_wanted)

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
    """The Predictor of what `targets.build_question` explains. *wanted*: the answer to reach; '': any other.

    Raises ExplorerError as saliency does, for a score and a span, and if the checkpoint gives the *wanted* answer
    already."""
    resolved, question = saliency.question_within_limit(checkpoint, text, target, "", tagged_word)
    targets.require_probability(resolved)
    if resolved.startswith("span"):
        raise ExplorerError(
            "A changed text has other spans, so there is no answer to keep or to change. Look at Saliency, or choose a "
            "checkpoint that gives labels or tags."
        )
    classes, name = class_reader(checkpoint, question, resolved)
    row = next(iter(classes([Query(question.encoding, question.position)])))
    answer = int(row.argmax())
    if not wanted.strip():
        sign = -1 if resolved == "next sentence" and answer == FOLLOWS.index("is not next") else 1
        return Predictor(resolved, question, sign, row, None, name, classes)
    wanted_index = wanted_class(checkpoint, question, resolved, wanted)
    if wanted_index == answer:
        raise ExplorerError(
            f"The answer is {name(answer)!r} already. Name another answer to reach, or none for any other."
        )
    if resolved == "next sentence":
        return Predictor(resolved, question, 1 if answer == 0 else -1, row, wanted_index, name, classes)
    _, question = saliency.question_within_limit(checkpoint, text, resolved, wanted, tagged_word)
    return Predictor(resolved, question, -1, row, wanted_index, name, classes)


def wanted_class(checkpoint: Checkpoint, question: Question, target: TargetKind, wanted: str) -> int:
    if target == "mask":
        return single_piece_id(checkpoint, question.encoding, question.position, wanted)
    if target == "next sentence":
        return match_name(FOLLOWS, wanted, "answer")
    return match_name(task_head.tag_names(checkpoint, task_head.require_kind(checkpoint)), wanted, target)


def mask_log_probs(checkpoint: Checkpoint, texts: Sequence[Query]) -> Iterator[Float[np.ndarray, " v"]]:
    """Natural-log probabilities of the pieces at the position of each text, one text at a time: they take memory."""
    positions = [[query.position] for query in texts]
    for row in engine.masked_log_probs(checkpoint, [query.encoding for query in texts], positions=positions):
        yield row[0, : checkpoint.tokenizer.vocab_size].numpy()


def class_reader(
    checkpoint: Checkpoint, question: Question, target: TargetKind
) -> tuple[Callable[[Sequence[Query]], Classes], Callable[[int], str]]:
    """(log-probabilities of all classes of a target, names of the classes)."""

    def pieces(texts: Sequence[Query]) -> Classes:
        return mask_log_probs(checkpoint, texts)

    def pair(texts: Sequence[Query]) -> Classes:
        logits = engine.next_sentence_logits(checkpoint, [query.encoding for query in texts]).double().numpy()
        return list(task_head.log_softmax(logits))

    def label(texts: Sequence[Query]) -> Classes:
        logits = engine.sequence_logits(checkpoint, [query.encoding for query in texts]).double().numpy()
        return list(task_head.log_probabilities(logits, task_head.require_kind(checkpoint)))

    def tag(texts: Sequence[Query]) -> Classes:
        head = task_head.HEADS[task_head.require_kind(checkpoint)]
        logits = engine.token_logits(checkpoint, [query.encoding for query in texts], head)
        rows = [
            token_logits[query.position].double().numpy() for token_logits, query in zip(logits, texts, strict=True)
        ]
        return [task_head.log_softmax(row) for row in rows]

    if target == "mask":
        return pieces, checkpoint.tokenizer.show
    if target == "next sentence":
        return pair, FOLLOWS.__getitem__
    names = task_head.tag_names(checkpoint, task_head.require_kind(checkpoint))
    return (tag if target == "tag" else label), names.__getitem__
