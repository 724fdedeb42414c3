"""What a checkpoint answers to changed texts, and how probable the answer to the unchanged text still is."""

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
from bertexplorer.analysis.decision import chosen
from bertexplorer.analysis.targets import Explained
from bertexplorer.analysis.words import single_piece
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

FOLLOWS = ("is next", "is not next")  # in the order of BERT's head
Classes = Iterable[Float[np.ndarray, " c"]]
T = TypeVar("T")


@dataclass(frozen=True)
class Read:
    """A text to read, and the token whose last vector the answer is read from (0-based)."""

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

    target: Explained
    question: Question  # the number that a change must raise or lower, and the unchanged text
    sign: int  # 1 if the number must fall, -1 if it must rise
    before: Float[np.ndarray, " c"]  # natural-log probabilities of all classes for the unchanged text
    wanted: int | None  # class to reach; None: any other
    name: Callable[[int], str]  # of a class
    classes: Callable[[Sequence[Read]], Classes]  # natural-log probabilities of all classes

    @property
    def answer(self) -> int:
        """Class of the answer to the unchanged text."""
        return int(self.before.argmax())

    def predict(self, texts: Sequence[Read]) -> list[Prediction]:
        """The answers to *texts*, in their order."""
        return by_length(texts, lambda some: map(self.prediction, self.classes(some)))

    def prediction(self, row: Float[np.ndarray, " c"]) -> Prediction:
        best = int(row.argmax())
        wanted = math.nan if self.wanted is None else math.exp(row[self.wanted])
        return Prediction(best, math.exp(row[best]), math.exp(self.before[best]), math.exp(row[self.answer]), wanted)

    def flips(self, found: Prediction) -> bool:
        """Whether the answer is the wanted one or, if none was named, another one than before."""
        return found.index != self.answer if self.wanted is None else found.index == self.wanted


def by_length(texts: Sequence[Read], read: Callable[[Sequence[Read]], Iterable[T]]) -> list[T]:
    """What *read* gives for each of *texts*. Only texts of the same length share a batch, as bf16 rounds differently
    next to padding."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i].encoding))
    found: dict[int, T] = {}
    for _, group in groupby(order, key=lambda i: len(texts[i].encoding)):
        places = list(group)
        found |= zip(places, read([texts[i] for i in places]), strict=True)
    return [found[i] for i in range(len(texts))]


def predictor(
    checkpoint: Checkpoint, text: Text | str, target: Explained, wanted: str, tagged_word: str = ""
) -> Predictor:
    """The Predictor of what `targets.question` explains. *wanted*: the answer to reach; '': any other.

    Raises ExplorerError as saliency does, for a score and a span, and if the checkpoint gives the *wanted* answer
    already."""
    found, question = saliency.ask(checkpoint, text, target, "", tagged_word)
    targets.refuse_score(found)
    if found.startswith("span"):
        raise ExplorerError(
            "A changed text has other spans, so there is no answer to keep or to change. Look at Saliency, or choose a "
            "checkpoint that gives labels or tags."
        )
    classes, name = reading(checkpoint, question, found)
    row = next(iter(classes([Read(question.encoding, question.position)])))
    answer = int(row.argmax())
    if not wanted.strip():
        sign = -1 if found == "next sentence" and answer == FOLLOWS.index("is not next") else 1
        return Predictor(found, question, sign, row, None, name, classes)
    goal = wanted_class(checkpoint, question, found, wanted)
    if goal == answer:
        raise ExplorerError(
            f"The answer is {name(answer)!r} already. Name another answer to reach, or none for any other."
        )
    if found == "next sentence":
        return Predictor(found, question, 1 if answer == 0 else -1, row, goal, name, classes)
    _, question = saliency.ask(checkpoint, text, found, wanted, tagged_word)
    return Predictor(found, question, -1, row, goal, name, classes)


def wanted_class(checkpoint: Checkpoint, question: Question, target: Explained, wanted: str) -> int:
    if target == "mask":
        return single_piece(checkpoint, question.encoding, question.position, wanted)
    if target == "next sentence":
        return chosen(FOLLOWS, wanted, "answer")
    return chosen(checkpoint.labels, wanted, target)


def at_masks(checkpoint: Checkpoint, texts: Sequence[Read]) -> Iterator[Float[np.ndarray, " v"]]:
    """Natural-log probabilities of the pieces at the position of each text, one text at a time: they take memory."""
    places = [[one.position] for one in texts]
    for row in engine.masked_log_probs(checkpoint, [one.encoding for one in texts], positions=places):
        yield row[0, : checkpoint.tokenizer.vocab_size].numpy()


def reading(
    checkpoint: Checkpoint, question: Question, target: Explained
) -> tuple[Callable[[Sequence[Read]], Classes], Callable[[int], str]]:
    """(log-probabilities of all classes of a target, names of the classes)."""

    def pieces(texts: Sequence[Read]) -> Classes:
        return at_masks(checkpoint, texts)

    def pair(texts: Sequence[Read]) -> Classes:
        logits = engine.next_sentence_logits(checkpoint, [one.encoding for one in texts]).double().numpy()
        return list(task_head.log_softmax(logits))

    def label(texts: Sequence[Read]) -> Classes:
        logits = engine.sequence_logits(checkpoint, [one.encoding for one in texts]).double().numpy()
        return list(task_head.log_probabilities(logits, task_head.need_kind(checkpoint)))

    def tag(texts: Sequence[Read]) -> Classes:
        logits = engine.token_logits(checkpoint, [one.encoding for one in texts])
        rows = [each[one.position].double().numpy() for each, one in zip(logits, texts, strict=True)]
        return [task_head.log_softmax(row) for row in rows]

    if target == "mask":
        return pieces, checkpoint.tokenizer.show
    if target == "next sentence":
        return pair, FOLLOWS.__getitem__
    return (tag if target == "tag" else label), checkpoint.labels.__getitem__
