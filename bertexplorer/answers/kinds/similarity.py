"""The cosine of two texts, each encoded in a pass of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertexplorer import engine
from bertexplorer.answers import task_head
from bertexplorer.answers.head_answer import CheckpointAnswer, Label, Row, row
from bertexplorer.answers.head_readout import Logits, TunedReadout
from bertexplorer.answers.kinds.label import LabelReadout
from bertexplorer.answers.kinds.span import SpanReadout
from bertexplorer.answers.kinds.tag import TagReadout
from bertexplorer.answers.question import ClassRow, ClassRows, Question, Switches
from bertexplorer.answers.vectors import in_lower_case
from bertexplorer.charts.marks import Bar, Bars, Panel
from bertexplorer.charts.style import decimal
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.engine.ablation import Change
    from bertexplorer.engine.gradients import Target
    from bertexplorer.engine.tuned_lens import TunedLens
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.sentence_encoder import SentenceEncoder

COSINE = "cosine"  # the one class


@dataclass(frozen=True, kw_only=True)
class SimilarityAnswer(CheckpointAnswer):
    """The cosine of two texts."""

    kind = "similarity"
    scored = True

    labels: tuple[Label, ...] = ()  # the cosine
    differences: tuple[str, ...] = ()  # between this cosine and what the checkpoint's files say, as sentences

    @property
    def chosen(self) -> tuple[str, ...]:
        return (COSINE,)

    @property
    def cosine(self) -> float:
        return self.labels[0].value

    @property
    def score(self) -> float | None:
        """The cosine as a score on the scale of the run's training rows; None if it has no scale."""
        if self.training.scale is None:
            return None
        low, high = self.training.scale
        return low + min(1.0, max(0.0, self.cosine)) * (high - low)

    def rows(self) -> list[Row]:
        """The cosine, and what the run makes of it."""
        table = [row(self.kind, "", "", COSINE, 1, self.cosine, self.cosine, chosen=True)]
        if self.score is not None:
            table.append(row(self.kind, "", "", "score", 2, self.score))
        return table

    def panels(self) -> list[Panel]:
        number = decimal(self.cosine)
        bar = Bar(COSINE, self.cosine, number, "blue", f"{COSINE}: {number}")
        low = -1.0 if self.cosine < 0 else 0.0
        return [Panel([Bars([bar], low, 1.0)], "cosine of the two texts")]

    def sentence(self) -> str:
        said = f"The two texts, each read alone, have the cosine {decimal(self.cosine)}."
        if self.score is None or self.training.scale is None:
            return said
        low, high = self.training.scale
        scale = f"on the scale of its training rows, {decimal(low)} to {decimal(high)}"
        return f"{said} The run reads that as the score {decimal(self.score)} {scale}."

    def caveats(self) -> list[str]:
        return [*super().caveats(), *shared_limit(self.left_out), *self.differences]


class SimilarityReadout(TunedReadout):
    """The cosine of two texts: of a run that learned to compare them, even if it has the head of the checkpoint that it
    started from, or of a sentence encoder without such a head."""

    answer_type = SimilarityAnswer
    order = 0
    targets = ("score",)
    scored = True
    apart = True
    number_name = COSINE
    view = "sentence-similarity"

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        if task_head.is_bi_encoder(checkpoint):
            return True
        others = (TagReadout, SpanReadout, LabelReadout)
        return task_head.is_sentence_encoder(checkpoint) and not any(other.fits(checkpoint) for other in others)

    @property
    def encoder(self) -> SentenceEncoder:
        return task_head.pair_encoder(self.checkpoint)

    def encode(self, text: Text | str) -> Encoding:
        if self.encoder.lower_case:
            text = in_lower_case(Text.of(text))
        encoding = self.checkpoint.tokenizer.encode(text)
        if {span.side for span in encoding.spans if span} != {0, 1}:
            raise ExplorerError(
                f"{self.checkpoint.name} compares two texts, and there is only one. Type the other as the second "
                "sentence.",
                code="pair",
            )
        return encoding

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        return Question(self, self.encode(text), 0, 0)

    def answer(self, text: Text, top: int, longest: int, others: str) -> SimilarityAnswer:
        encoding = self.encode(text)
        [[cosine]] = self.rows([encoding], [0])
        return SimilarityAnswer(
            tokens=self.checkpoint.tokenizer.show_all(encoding.ids),
            training=self.training,
            longest=max(map(len, engine.text_positions(encoding))),
            left_out=encoding.left_out,
            labels=(Label(COSINE, 0, float(cosine), float(cosine)),),
            differences=differences(self.checkpoint, encoding),
        )

    def names(self, encoding: Encoding) -> Sequence[str]:
        return (COSINE,)

    def caveats(self, question: Question) -> tuple[str, ...]:
        encoding = question.encoding
        own = differences(self.checkpoint, encoding)
        return (*super().caveats(question), *shared_limit(encoding.left_out), *own)

    @property
    def pooled(self) -> bool:
        return self.encoder.modes != ("cls",)

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return logits

    def rows(self, encodings: Sequence[Encoding], positions: Sequence[int]) -> Iterator[ClassRow]:
        yield from engine.pair_cosines(self.checkpoint, encodings, self.encoder).double().numpy()[:, None]

    def layer_rows(self, encoding: Encoding, position: int, lens: TunedLens | None = None) -> ClassRows:
        return engine.layer_cosines(self.checkpoint, encoding, self.encoder).numpy()[:, None]

    def ablated_rows(self, encoding: Encoding, position: int, switches: Switches, change: Change) -> ClassRows:
        return engine.ablated_cosines(self.checkpoint, encoding, switches, self.encoder, change).numpy()[:, None]

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.cosine_target(encoding, self.encoder)


def shared_limit(left_out: int) -> list[str]:
    """A sentence about two texts that are too long, if *left_out* tokens are beyond the checkpoint's limit."""
    if not left_out:
        return []
    return ["Here both texts share the limit; the run cuts each on its own, so its cosine may differ."]


def differences(checkpoint: Checkpoint, encoding: Encoding) -> tuple[str, ...]:
    """Where the cosine of a pair differs from what the files of the sentence encoder say, as sentences."""
    encoder, sentences = task_head.pair_encoder(checkpoint), []
    longest = max(map(len, engine.text_positions(encoding)))
    cuts = encoder.max_tokens is not None and longest > encoder.max_tokens
    if cuts and task_head.is_sentence_encoder(checkpoint):
        sentences.append(f"Its own files cut a text at {encoder.max_tokens} tokens; here {longest} are read.")
    if encoder.default_prompt:
        sentences.append("Its own files put a prompt before each text, which is left out here; Similarity has it.")
    if encoder.similarity != "cosine":
        sentences.append(f"Its own files compare by {encoder.similarity}; this is the cosine. Similarity has theirs.")
    return tuple(sentences)
