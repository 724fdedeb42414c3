"""Questions: one class of one answer to one text, which a readout reads.

Saliency differentiates the number of a question, Referee and Counterfactuals read it for changed texts, Switchboard and
Neurons while parts are off, and Layers after each layer. None of them knows which kind of answer it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.word_merging import frame_flags
from bertexplorer.charts.style import decimal, log_probability
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.engine.ablation import Change
    from bertexplorer.engine.gradients import Target
    from bertexplorer.engine.tuned_lens import TunedLens
    from bertexplorer.model.checkpoint import Checkpoint

TargetKind = Literal["answer", "mask", "next sentence", "label", "tag", "span start", "span end", "score"]
TARGET_INFO = "answer: the first mask if there is one, else the fine-tuned head, else whether B follows A"
TAGGED_INFO = "if a tag is explained; empty: the picked word, else the first that is not O, or seems replaced"
LISTED = 20  # names in an error
ClassRow = Float[np.ndarray, " c"]  # of c classes: natural-log probabilities, or scores
ClassRows = Float[np.ndarray, "*n c"]
Switches = Float[np.ndarray, "n l s"]  # n settings of the s switches in each of l layers, as in engine/ablation.py


@dataclass(frozen=True)
class Question:
    """One class of one answer to one text: what a view explains, follows or tries to change."""

    readout: Readout
    encoding: Encoding
    position: int  # of the token that is read, 0-based: the mask, [CLS], the first of the word, or an end of the span
    index: int  # of the class, 0-based
    word: str = ""  # whose tag it is
    rejected: bool = False  # whether the run answers that the passage has no answer
    known: dict[tuple[int, ...], float] = field(default_factory=dict, repr=False, compare=False)  # ids -> value

    @property
    def checkpoint(self) -> Checkpoint:
        return self.readout.checkpoint

    @property
    def target(self) -> TargetKind:
        """What is asked for, never "answer"."""
        return self.readout.target

    @property
    def answer(self) -> str:
        """The class as text: a word, a label, a word with its tag, or where a span starts or ends."""
        return self.readout.describe(self)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Where the answer of a run differs from this one, as sentences."""
        return self.readout.caveats(self)

    @property
    def count(self) -> int:
        """The number of classes."""
        return self.readout.count(self.encoding)

    def name(self, index: int) -> str:
        """The name of a class."""
        return self.readout.name(index, self.encoding)

    def values(self, encodings: Sequence[Encoding]) -> Float[np.ndarray, " n"]:
        """The number of the class for each text, read at the same position: a natural-log probability, for a pair the
        log-odds, or a score. Each text is read once, however often it is asked about: of eight words, 256 parts can be
        hidden, and SHAP hides them all."""
        new = list({e.ids: e for e in encodings if e.ids not in self.known}.values())
        if new:
            rows = self.readout.rows(new, [self.position] * len(new))
            for encoding, row in zip(new, rows, strict=True):
                self.known[encoding.ids] = self.readout.number(row, self.index)
        return np.array([self.known[encoding.ids] for encoding in encodings])

    def probability(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The probability of the class, 0 to 1, from its *values*; NaN for a score, which has none."""
        return self.readout.probability(values)

    @property
    def other_masks(self) -> int:
        """The masks of the text that it is not about."""
        return len(self.encoding.masked) - 1 if self.readout.at_mask else 0

    def require_probability(self) -> None:
        """Raises ExplorerError if the answer has no probability."""
        if self.readout.scored:
            raise ExplorerError(
                "This view follows the probability of an answer, and the checkpoint gives a score. Look at Saliency, "
                "or choose a checkpoint that gives labels."
            )

    def gradient_target(self) -> Target:
        """The number of `values`, with gradients."""
        return self.readout.gradient_target(self.encoding, self.position, self.index)

    @property
    def hideable(self) -> tuple[int, ...]:
        """Positions of the tokens that can be hidden: all but the masks and those that frame the text, such as [CLS]
        and [SEP]."""
        frame = frame_flags(self.checkpoint, self.encoding)
        ids = self.encoding.ids
        mask = self.encoding.mask_id
        return tuple(i for i, (odd, token) in enumerate(zip(frame, ids, strict=True)) if not odd and token != mask)

    def hidden(self, positions: Sequence[int]) -> Encoding:
        return self.encoding.hide(positions)


class Readout(ABC):
    """One kind of answer of *checkpoint*. It chooses among classes, and gives a row of their natural-log probabilities
    for each text; a kind that is *scored* gives its scores instead."""

    targets: ClassVar[tuple[TargetKind, ...]]  # what a view can ask for
    scored: ClassVar[bool] = False  # whether the numbers are scores or cosines, which have no probability
    independent: ClassVar[bool] = False  # whether each class has a yes or no of its own
    of_tokens: ClassVar[bool] = False  # whether the classes are the tokens of the text
    apart: ClassVar[bool] = False  # whether two texts are encoded in a pass each
    at_mask: ClassVar[bool] = False  # whether it is read at a mask
    read_at: ClassVar[str] = "[CLS]"  # the token that it is read from; "": one of the text
    class_name: ClassVar[str] = "token"  # what a class is called
    number_name: ClassVar[str] = "log-probability"  # what the number of a class is
    outcome: ClassVar[str] = "an answer"  # what a forward pass ends in, at a {token}
    view: ClassVar[str] = "answer"  # where the page shows it

    def __init__(self, checkpoint: Checkpoint, target: TargetKind | None = None) -> None:
        self.checkpoint = checkpoint
        self.target: TargetKind = target or self.targets[0]

    # What can be asked

    @abstractmethod
    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        """The Question of *answer*; '': of the checkpoint's own answer. Raises ExplorerError if the text has nothing to
        read, and for an unknown answer."""

    @abstractmethod
    def count(self, encoding: Encoding) -> int:
        """The number of classes."""

    @abstractmethod
    def name(self, index: int, encoding: Encoding) -> str:
        """The name of a class."""

    def find(self, typed: str, encoding: Encoding, position: int) -> int:
        """The class that is called *typed*. Raises ExplorerError if there is none."""
        return match_name([self.name(i, encoding) for i in range(self.count(encoding))], typed, self.target)

    def describe(self, question: Question) -> str:
        """The class of *question* as text."""
        return self.name(question.index, question.encoding)

    def subject(self, question: Question) -> str:
        """What the classes are about, as the beginning of a sentence; "" if it needs no words."""
        return ""

    def caveats(self, question: Question) -> tuple[str, ...]:
        """Where the answer of a run differs from this one, as sentences."""
        return ()

    @property
    def pooled(self) -> bool:
        """Whether the answer is read from all tokens."""
        return False

    # How it is read. Positions are 0-based.

    @abstractmethod
    def rows(self, encodings: Sequence[Encoding], positions: Sequence[int]) -> Iterable[ClassRow]:
        """A row for each text, read at its position."""

    @abstractmethod
    def layer_rows(self, encoding: Encoding, position: int, lens: TunedLens | None = None) -> ClassRows:
        """A row after each of the k layers, as if it were the last; layer 0 is the input of the first."""

    @abstractmethod
    def ablated_rows(self, encoding: Encoding, position: int, switches: Switches, change: Change) -> ClassRows:
        """A row for each setting of the switches, as in `engine/ablation.py`."""

    # The number of a class

    @abstractmethod
    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        """The number of a class, with gradients."""

    def number(self, row: ClassRow, index: int) -> float:
        """The number of a class that views explain."""
        return float(row[index])

    @classmethod
    def write(cls, number: float) -> str:
        """The number of a class in a sentence."""
        return decimal(number) if cls.scored else log_probability(number)

    def probability(self, numbers: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Probabilities from numbers; NaN for scores."""
        return np.full(len(numbers), np.nan) if self.scored else np.exp(numbers)


def match_name(names: Sequence[str], typed: str, kind: str) -> int:
    """The first index of *typed* among *names*, in any case unless two names differ in case only. Raises ExplorerError
    if there is none."""
    target = typed.strip()
    folded = [name.casefold() for name in names]
    if target in names:
        return list(names).index(target)
    if target.casefold() in folded:
        return folded.index(target.casefold())
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - LISTED} more" if len(distinct) > LISTED else ""
    raise ExplorerError(
        f"There is no {kind} {target!r:.60}; there are {', '.join(distinct[:LISTED])}{more}. Choose one of these."
    )


def log_softmax(logits: Float[np.ndarray, "*n l"], axis: int = -1) -> Float[np.ndarray, "*n l"]:
    """Natural-log probabilities."""
    top = logits.max(axis=axis, keepdims=True)
    return np.asarray(logits - top - np.log(np.exp(logits - top).sum(axis=axis, keepdims=True)))
