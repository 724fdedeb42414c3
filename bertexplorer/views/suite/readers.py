"""Readers of a suite's answers: at the one mask of a text, or at the labels of a fine-tuned head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.question import Readout
from bertexplorer.answers.readout import MaskReadout, require_one_label
from bertexplorer.answers.word_scores import piece_ids
from bertexplorer.model.text import Encoding
from bertexplorer.training.data.rows import UnusableRow

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

LogProbs = Float[np.ndarray, " a"]  # of the answers, in nats


class Reader:
    """Turns texts into log-probabilities of answers, in nats."""

    def __init__(self, readout: Readout) -> None:
        self.readout = readout

    def check(self, encoding: Encoding) -> None:
        """Raises UnusableRow if there is no answer to read."""

    def rows(self, encodings: Sequence[Encoding]) -> list[LogProbs]:
        """A row for each text: the log-probability of each answer. Texts of similar length share a batch."""
        by_length = sorted(range(len(encodings)), key=lambda i: len(encodings[i]))
        ordered = [encodings[i] for i in by_length]
        positions = [encoding.masked[0] if encoding.masked else 0 for encoding in ordered]
        rows = self.readout.rows(ordered, positions)
        by_index = {i: row.astype(np.float64) for i, row in zip(by_length, rows, strict=True)}
        return [by_index[i] for i in range(len(encodings))]

    def name(self, index: int, encoding: Encoding) -> str:
        """The answer of this index."""
        return self.readout.name(index, encoding)

    def index(self, answer: str, encoding: Encoding) -> int:
        """The index of an answer. Raises UnusableRow if it is none."""
        raise NotImplementedError


class MaskReader(Reader):
    """Answers are the pieces of the vocabulary. Raises ExplorerError for a checkpoint without an MLM head."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        _ = checkpoint.masked_lm  # raises if there is no head
        super().__init__(MaskReadout(checkpoint))

    def check(self, encoding: Encoding) -> None:
        if len(encoding.masked) != 1:
            raise UnusableRow("has no single mask that this checkpoint reads")

    def index(self, answer: str, encoding: Encoding) -> int:
        ids = piece_ids(self.readout.checkpoint, encoding, encoding.masked[0], answer)
        if len(ids) > 1:
            raise UnusableRow(f"has the answer {answer!r:.40}, which is cut into {len(ids)} pieces; wanted one piece")
        return ids[0]


class LabelReader(Reader):
    """Answers are the labels of a fine-tuned checkpoint. Raises ExplorerError for one that does not give a text one
    label."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(require_one_label(checkpoint))

    def index(self, answer: str, encoding: Encoding) -> int:
        labels = self.readout.checkpoint.labels
        if answer not in labels:
            raise UnusableRow(
                f"has the label {answer!r:.40}, which the checkpoint does not give; it gives {', '.join(labels):.200}"
            )
        return labels.index(answer)
