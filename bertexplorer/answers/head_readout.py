"""Readouts of heads: answers that are read from the logits of a head over a few classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers import task_head
from bertexplorer.answers.question import ClassRow, ClassRows, Question, Readout, Switches
from bertexplorer.answers.task_head import Training
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.answers.head_answer import CheckpointAnswer
    from bertexplorer.engine.ablation import Change
    from bertexplorer.engine.tuned_lens import TunedLens
    from bertexplorer.model.checkpoint import Checkpoint

Logits = Float[np.ndarray, "*n l"]  # of a head


class HeadReadout(Readout):
    """An answer that is read from the logits of a *head* over a few classes."""

    head: ClassVar[str]

    @abstractmethod
    def classes(self, logits: Logits, position: int) -> ClassRows:
        """Rows from the logits of the head, which has l of them for each text, or t x l for its tokens."""

    def rows(self, encodings: Sequence[Encoding], positions: Sequence[int]) -> Iterator[ClassRow]:
        logits = engine.head_logits(self.checkpoint, encodings, self.head)
        for one, position in zip(logits, positions, strict=True):
            yield self.classes(one.double().numpy(), position)

    def layer_rows(self, encoding: Encoding, position: int, lens: TunedLens | None = None) -> ClassRows:
        if lens is not None:
            raise ExplorerError("The tuned lens reads masks, not what a fine-tuned head decides. Use the raw lens.")
        logits = engine.layer_head_logits(self.checkpoint, encoding, self.head)
        return self.classes(logits.double().numpy(), position)

    def ablated_rows(self, encoding: Encoding, position: int, switches: Switches, change: Change) -> ClassRows:
        logits = engine.ablated_head_logits(self.checkpoint, encoding, switches, self.head, change)
        return self.classes(logits.double().numpy(), position)


class TunedReadout(HeadReadout):
    """An answer of a fine-tuned head, or of ELECTRA's discriminator."""

    answer_type: ClassVar[type[CheckpointAnswer]]
    order: ClassVar[int]  # a checkpoint answers in the first way that fits
    one_label: ClassVar[bool] = False  # whether it chooses one label for a text

    @property
    def training(self) -> Training:
        """The run that trained the head. Raises ExplorerError if its record cannot be read."""
        return task_head.training_of(self.checkpoint)

    @classmethod
    @abstractmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        """Whether *checkpoint* answers in this way, if no kind that is before it in *order* fits."""

    @property
    def kind(self) -> str:
        """The name of the kind, as in rows and examples."""
        return self.answer_type.kind

    def encode(self, text: Text | str) -> Encoding:
        """The encoding of *text*. Raises ExplorerError if it lacks what the head needs."""
        return self.checkpoint.tokenizer.encode(text)

    @abstractmethod
    def answer(self, text: Text, top: int, longest: int, others: str) -> CheckpointAnswer:
        """What the head answers to *text*. *top*: answers that are drawn; *longest*: tokens of a span; *others*: second
        texts to rank with that of the text. Raises ExplorerError as `encode` does."""

    def names(self, encoding: Encoding) -> Sequence[str]:
        """The names of the classes."""
        return self.checkpoint.labels

    def count(self, encoding: Encoding) -> int:
        return len(self.names(encoding))

    def name(self, index: int, encoding: Encoding) -> str:
        return self.names(encoding)[index]

    def caveats(self, question: Question) -> tuple[str, ...]:
        return task_head.caveats(task_head.own_training_of(self.checkpoint))
