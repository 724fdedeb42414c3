"""What a head answered to a text: the base of the answers of all kinds, and the records that several kinds share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from bertexplorer.answers import task_head
from bertexplorer.answers.task_head import Training
from bertexplorer.charts.marks import Panel
from bertexplorer.charts.style import beyond_limit

LIKELY = 0.5  # probability above which a text has one of several labels, or a token counts as replaced
DRAWN = 60  # words
Row = dict[str, object]


@dataclass(frozen=True)
class Label:
    """One label or tag. *index*: of its logit, 0-based; *value*: its probability, 0 to 1, the score, or the cosine."""

    name: str
    index: int
    logit: float
    value: float


@dataclass(frozen=True)
class HiddenWord:
    """A word of the text. *value*: the probability of the best label, 0 to 1, or the score, when [MASK] takes
    the place of the word."""

    word: str
    positions: tuple[int, ...]  # of its tokens, 0-based
    value: float


@dataclass(frozen=True)
class TaggedWord:
    """A word, or a token that may be replaced, and its tags: the chosen one, then the others, the most probable first.
    A CRF chooses the best path, whose tags need not be the most probable ones."""

    word: str
    positions: tuple[int, ...]  # of its tokens, 0-based; the tag is read at the first
    labels: tuple[Label, ...]

    @property
    def best(self) -> Label:
        return self.labels[0]


@dataclass(frozen=True)
class AnswerSpan:
    """A span of the passage. *probability*: that it starts at *first* times that it ends at *last*, each among all
    tokens."""

    text: str
    first: int  # token, 0-based
    last: int  # token, included
    logit: float  # sum of the start's and the end's
    probability: float


@dataclass(frozen=True, kw_only=True)
class CheckpointAnswer(ABC):
    """What a fine-tuned head answers to one text. A kind of answer is a subclass, which gives its table, its figure,
    the shades of its tokens and its sentence."""

    kind: ClassVar[str]
    scored: ClassVar[bool] = False  # whether it is a score or a cosine, which has no probability
    noun: ClassVar[str] = "label"  # what is ranked

    tokens: tuple[str, ...]
    training: Training = Training()
    longest: int = 0  # tokens of the text, or of the longer of two that are encoded alone; a run may cut longer ones
    left_out: int = 0  # tokens beyond the checkpoint's limit

    @property
    @abstractmethod
    def chosen(self) -> tuple[str, ...]:
        """The answer: the label, those of several labels that are likely, the tag of each word, or the span."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """The numbers, as `row` writes them."""

    @abstractmethod
    def panels(self) -> list[Panel]:
        """The figure."""

    @abstractmethod
    def sentence(self) -> str:
        """The answer in words."""

    def shades(self) -> dict[int, float]:
        """Position -> shade of a token in the strip, -1 to 1."""
        return {}

    def say(self) -> str:
        """The answer in words, and how the run's own answer may differ."""
        remarks = [*self.caveats(), *self.reading(), *beyond_limit(self.left_out)]
        return " ".join([self.sentence(), *remarks])

    def caveats(self) -> list[str]:
        """Where the run itself would answer differently, as sentences."""
        return list(task_head.caveats(self.training))

    def reading(self) -> list[str]:
        """How the run reads a text, if not as it is read here, and what the figure leaves out, as sentences."""
        if 0 < self.training.max_tokens < self.longest:
            return [f"The run cut its texts to {self.training.max_tokens} tokens; here {self.longest} are read."]
        return []

    # What a lesson can ask of any answer. It is empty where the kind has none of it.

    @property
    def ranked(self) -> tuple[str, ...]:
        """The answers as text, best first."""
        return tuple(label.name for label in self.labels)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Of the text, best first."""
        return ()

    @property
    def hidden(self) -> tuple[HiddenWord, ...]:
        """Each word of a short text, in its order."""
        return ()

    @property
    def words(self) -> tuple[TaggedWord, ...]:
        """Those that have a tag."""
        return ()

    @property
    def marked(self) -> tuple[TaggedWord, ...]:
        """The words whose tag marks something."""
        return ()

    @property
    def spans(self) -> tuple[AnswerSpan, ...]:
        """Best first."""
        return ()

    @property
    def nothing(self) -> AnswerSpan | None:
        """That there is no answer: both ends at [CLS]."""
        return None


def row(
    kind: str,
    position: object,
    token: str,
    answer: str,
    rank: object,
    value: float,
    logit: object = "",
    chosen: bool = False,
) -> Row:
    """A row of the table of an answer. *position*: of a token, 0-based; "" for the whole text. *value*: the probability
    or the score."""
    fields = {"kind": kind, "position": position, "token": token, "answer": answer}
    return {**fields, "rank": rank, "value": value, "logit": logit, "chosen": chosen}
