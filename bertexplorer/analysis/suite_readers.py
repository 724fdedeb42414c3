"""Readers of a suite's answers: at the one mask of a text, or at the labels of a fine-tuned head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis import task_head
from bertexplorer.analysis.suite_cases import UnusableRow
from bertexplorer.analysis.word_scores import piece_ids
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

LogProbs = Float[np.ndarray, " a"]  # of the answers, in nats


class Reader(Protocol):
    """Turns texts into log-probabilities of answers, in nats."""

    def check(self, encoding: Encoding) -> None:
        """Raises UnusableRow if there is no answer to read."""

    def rows(self, encodings: Sequence[Encoding]) -> list[LogProbs]:
        """A row for each text: the log-probability of each answer."""

    def name(self, index: int) -> str:
        """The answer of this index."""

    def index(self, answer: str, encoding: Encoding) -> int:
        """The index of an answer. Raises UnusableRow if it is none."""


class MaskReader:
    """Answers are the pieces of the vocabulary."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint, self.tokenizer = checkpoint, checkpoint.tokenizer
        _ = checkpoint.masked_lm  # raises if there is none

    def check(self, encoding: Encoding) -> None:
        if len(encoding.masked) != 1:
            raise UnusableRow("has no single mask that this checkpoint reads")

    def rows(self, encodings: Sequence[Encoding]) -> list[LogProbs]:
        order = sorted(range(len(encodings)), key=lambda i: len(encodings[i]))
        log_probs = engine.masked_log_probs(self.checkpoint, [encodings[i] for i in order])
        size = self.tokenizer.vocab_size
        rows = {i: np.asarray(row[0, :size].numpy(), dtype=np.float64) for i, row in zip(order, log_probs, strict=True)}
        return [rows[i] for i in range(len(encodings))]

    def name(self, index: int) -> str:
        return self.tokenizer.show(index)

    def index(self, answer: str, encoding: Encoding) -> int:
        ids = piece_ids(self.checkpoint, encoding, encoding.masked[0], answer)
        if len(ids) > 1:
            raise UnusableRow(f"has the answer {answer!r:.40}, which is cut into {len(ids)} pieces; wanted one piece")
        return ids[0]


class LabelReader:
    """Answers are the labels of a fine-tuned checkpoint."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint, self.labels = checkpoint, checkpoint.labels
        if (kind := task_head.require_kind(checkpoint)) != "label":
            raise ExplorerError(
                f"{checkpoint.name} was fine-tuned for another answer ({kind}). Choose a checkpoint that gives each "
                "text one label."
            )

    def check(self, encoding: Encoding) -> None:
        """Every text has a label."""

    def rows(self, encodings: Sequence[Encoding]) -> list[LogProbs]:
        logits = engine.sequence_logits(self.checkpoint, encodings).double().numpy()
        return list(task_head.log_softmax(logits))

    def name(self, index: int) -> str:
        return self.labels[index]

    def index(self, answer: str, encoding: Encoding) -> int:
        if answer not in self.labels:
            labels = ", ".join(self.labels)
            raise UnusableRow(
                f"has the label {answer!r:.40}, which the checkpoint does not give; it gives {labels:.200}"
            )
        return self.labels.index(answer)
