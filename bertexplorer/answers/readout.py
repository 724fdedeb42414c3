"""Which readout answers: for the word at a mask, for whether B follows A, and for what a fine-tuned head decides.

A view calls `ask`, and then knows only the `Question`. The answers of fine-tuned heads lie in `answers/kinds`.

    question = ask(checkpoint, "a great [MASK]", "mask", "film")
    question.values([question.encoding])  # its natural-log probability"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.candidates import encode_masked
from bertexplorer.answers.head_readout import HeadReadout, Logits, TunedReadout
from bertexplorer.answers.kinds import find_kinds
from bertexplorer.answers.question import (
    ClassRow,
    ClassRows,
    Question,
    Readout,
    Switches,
    TargetKind,
    log_softmax,
    match_name,
)
from bertexplorer.answers.texts import encode_pair
from bertexplorer.answers.word_scores import single_piece_id
from bertexplorer.charts.style import signed
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.engine.ablation import Change
    from bertexplorer.engine.gradients import Target
    from bertexplorer.engine.tuned_lens import TunedLens
    from bertexplorer.model.checkpoint import Checkpoint

FOLLOWS = ("is next", "is not next")  # in the order of BERT's head


class MaskReadout(Readout):
    """The word at the first mask, among the pieces of the vocabulary."""

    targets = ("mask",)
    at_mask = True
    read_at = "the mask"
    class_name = "word"
    outcome = "the word at {token}"
    view = "fill-mask"

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        encoding = encode_masked(self.checkpoint, text)
        position = encoding.masked[0]
        if answer.strip():
            return Question(self, encoding, position, self.find(answer, encoding, position))
        [row] = self.rows([encoding], [position])
        return Question(self, encoding, position, int(row.argmax()))

    def count(self, encoding: Encoding) -> int:
        return self.checkpoint.tokenizer.vocab_size

    def name(self, index: int, encoding: Encoding) -> str:
        return self.checkpoint.tokenizer.show(index)

    def find(self, typed: str, encoding: Encoding, position: int) -> int:
        return single_piece_id(self.checkpoint, encoding, position, typed)

    def rows(self, encodings: Sequence[Encoding], positions: Sequence[int]) -> Iterator[ClassRow]:
        """As in the base class, one at a time: they take memory."""
        size = self.checkpoint.tokenizer.vocab_size
        masks = [[position] for position in positions]
        for row in engine.masked_log_probs(self.checkpoint, encodings, positions=masks):
            yield row[0, :size].numpy()

    def layer_rows(self, encoding: Encoding, position: int, lens: TunedLens | None = None) -> ClassRows:
        return engine.layer_log_probs(self.checkpoint, encoding, [position], lens)[:, 0].numpy()

    def ablated_rows(self, encoding: Encoding, position: int, switches: Switches, change: Change) -> ClassRows:
        rows = engine.ablated_log_probs(self.checkpoint, encoding, switches, position, change)
        return rows[:, : self.checkpoint.tokenizer.vocab_size].numpy()

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.masked_target(self.checkpoint, position, index)


class NextSentenceReadout(HeadReadout):
    """Whether B follows A. The number is the log-odds of the class."""

    targets = ("next sentence",)
    head = "next_sentence"
    number_name = "log-odds"
    outcome = "whether B follows A"
    view = "next-sentence"

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        _ = self.checkpoint.next_sentence  # if there is no head, raise before asking for a sentence
        return Question(self, encode_pair(self.checkpoint, text), 0, 0)

    def count(self, encoding: Encoding) -> int:
        return len(FOLLOWS)

    def name(self, index: int, encoding: Encoding) -> str:
        return FOLLOWS[index]

    def find(self, typed: str, encoding: Encoding, position: int) -> int:
        return match_name(FOLLOWS, typed, "answer")

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return log_softmax(logits)

    def number(self, row: ClassRow, index: int) -> float:
        return float(row[index] - row[1 - index])

    @classmethod
    def write(cls, number: float) -> str:
        return signed(number)

    def probability(self, numbers: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return np.exp(-np.logaddexp(0.0, -numbers))

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.next_sentence_target(self.checkpoint, index)


TUNED = find_kinds()  # a checkpoint answers in the first way that fits


def tuned_readout(checkpoint: Checkpoint, target: TargetKind | None = None) -> TunedReadout | None:
    """What the fine-tuned head of *checkpoint* answers, or ELECTRA's discriminator; None if there is no such head."""
    fitting = (readout for readout in TUNED if readout.fits(checkpoint))
    first = next(fitting, None)
    return first(checkpoint, target) if first else None


def require_tuned(checkpoint: Checkpoint, target: TargetKind | None = None) -> TunedReadout:
    """As `tuned_readout`. Raises ExplorerError if there is no fine-tuned head, and for a *target* that it lacks."""
    readout = tuned_readout(checkpoint, target)
    if readout is None:
        from bertexplorer.model.config import HEAD_WORDS

        heads = ", ".join(HEAD_WORDS[name] for name in checkpoint.heads if name in HEAD_WORDS) or "none"
        raise ExplorerError(
            f"{checkpoint.name} has no fine-tuned head (its heads: {heads}), so it gives no label, tag or span. Train "
            "one on the Train page, or choose a checkpoint that was fine-tuned, such as sentiment or one of your runs.",
            code="tuned",
        )
    if readout.target not in readout.targets:
        gives = " and ".join(readout.targets)
        raise ExplorerError(
            f"A {target} was requested, but the head of {checkpoint.name} gives a {gives}. Choose {gives}."
        )
    return readout


def require_one_label(checkpoint: Checkpoint) -> TunedReadout:
    """As `require_tuned`. Raises ExplorerError also for a head that does not choose one label for a text."""
    readout = require_tuned(checkpoint)
    if not readout.one_label:
        raise ExplorerError(
            f"{checkpoint.name} was fine-tuned for another answer ({readout.kind}). Choose a checkpoint that gives "
            "each text one label."
        )
    return readout


def kind_of(checkpoint: Checkpoint) -> str | None:
    """The kind of answer that the fine-tuned head gives, or ELECTRA's discriminator; None if there is no such head."""
    readout = tuned_readout(checkpoint)
    return readout.kind if readout else None


def resolve_target(checkpoint: Checkpoint, text: Text | str, target: TargetKind) -> TargetKind:
    """*target*, with "answer" resolved to the first mask, else the decision of a fine-tuned head, else whether B
    follows A. "mask" if the text and the checkpoint allow none of these: its error says what is missing."""
    if target != "answer":
        return target
    encoding = checkpoint.tokenizer.encode(text)
    if encoding.masked and "masked_lm" in checkpoint.heads:
        return "mask"
    if readout := tuned_readout(checkpoint):
        return readout.target
    pair = encoding.second_start is not None and "next_sentence" in checkpoint.heads
    return "next sentence" if pair else "mask"


def ask(
    checkpoint: Checkpoint, text: Text | str, target: TargetKind = "answer", answer: str = "", tagged_word: str = ""
) -> Question:
    """The Question of *target* about *text*. *answer*: the word at a mask, the label or tag, or the word of the passage
    where the span starts or ends; '': the checkpoint's own answer; of a pair, the question is always whether B is next.
    *tagged_word*: the word whose tag it is; '': the first picked one, else the first whose tag is not O, or the one
    that is likeliest to be replaced.

    Raises ExplorerError without a mask, a pair, a passage or the head that answers, and for an unknown answer or
    word."""
    resolved = resolve_target(checkpoint, text, target)
    if resolved == "mask":
        return MaskReadout(checkpoint).question(text, answer)
    if resolved == "next sentence":
        return NextSentenceReadout(checkpoint).question(text)
    return require_tuned(checkpoint, resolved).question(text, answer, tagged_word)
