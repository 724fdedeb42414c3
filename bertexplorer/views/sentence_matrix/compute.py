"""Sentence matrix: a paragraph in sentences, and for every two of them how sure BERT is that one follows the other.

A sentence ends at a line break, or at . ! ? or … (and closing quotes or brackets) before a space and a capital letter
or [MASK]; so "Mr. Smith" is cut in two. A part without a letter or digit is not a sentence. The first 12 sentences are
scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.answers.texts import encode_pair, sentences, visible_side
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Span, Text
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_SENTENCES = 12
KEYS, MEASURE = ("first", "second"), "is_next"


@dataclass(frozen=True)
class Options:
    """There is nothing to set."""


@dataclass(frozen=True)
class SentenceMatrix:
    """The scores of all pairs. Entry [i, j] answers: does sentence j follow sentence i? Sentences are 0-based."""

    sentences: tuple[str, ...]
    logits: Float[np.ndarray, "n n 2"]  # (is next, is not next); NaN on the diagonal
    left_out: int  # sentences beyond MAX_SENTENCES
    shortened: int = 0  # pairs with tokens beyond the checkpoint's limit

    @property
    def matrix(self) -> Float[np.ndarray, "n n"]:
        """Probability of is next, 0 to 1; NaN on the diagonal."""
        with np.errstate(invalid="ignore"):  # the diagonal
            return np.exp(-np.logaddexp(0, self.logits[..., 1] - self.logits[..., 0]))

    @property
    def neighbours(self) -> Bool[np.ndarray, "n n"]:
        """True at (i, i + 1): the pairs that follow one another in the text."""
        return np.eye(len(self.sentences), k=1, dtype=bool)

    @property
    def others(self) -> Bool[np.ndarray, "n n"]:
        """True at the pairs that do not follow one another: neither neighbours nor the diagonal."""
        return ~self.neighbours & ~np.eye(len(self.sentences), dtype=bool)

    @property
    def above(self) -> int:
        """How many neighbours have a probability above the mean of the others'."""
        matrix = self.matrix
        return int((matrix[self.neighbours] > matrix[self.others].mean()).sum())

    @property
    def share(self) -> float:
        """*above* as a share of the n - 1 neighbours, 0 to 1."""
        return self.above / (len(self.sentences) - 1)


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> SentenceMatrix:
    """Score every ordered pair of the sentences of *text*, those of a second text after those of the first. What is
    hidden stays hidden. Raises ExplorerError without an NSP head, or for fewer than two sentences."""
    _ = checkpoint.next_sentence  # if there is no head, raise before asking for sentences
    text = Text.of(text)
    encoding = checkpoint.tokenizer.encode(text)  # raises if there is nothing to read
    spans = [(side, *span) for side in (0, 1) for span in sentences(encoding.texts[side])]
    if len(spans) < 2:
        raise ExplorerError(
            "The text is one sentence; wanted two or more. Type a paragraph; if its sentences are not recognised, put "
            "each on its own line."
        )
    parts = [sentence_text(text, encoding, *span) for span in spans[:MAX_SENTENCES]]
    count = len(parts)
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
    encodings = [encode_pair(checkpoint, pair_of(parts[i], parts[j])) for i, j in pairs]
    logits = np.full((count, count, 2), np.nan)
    answers = engine.next_sentence_logits(checkpoint, encodings).numpy()
    for (i, j), answer in zip(pairs, answers, strict=True):
        logits[i, j] = answer
    names = []
    for i in range(count):
        with_another = pairs.index((i, (i + 1) % count))
        names.append(visible_side(checkpoint, encodings[with_another], 0))
    return SentenceMatrix(
        sentences=tuple(names),
        logits=logits,
        left_out=len(spans) - count,
        shortened=sum(encoding.left_out > 0 for encoding in encodings),
    )


def sentence_text(text: Text, read: Encoding, side: int, start: int, end: int) -> Text:
    """One sentence as a text of its own; its hidden words stay hidden."""
    hidden = []
    for span in text.hidden:
        is_inside = span.side == side and span.start < end and start < span.end
        if is_inside:
            hidden.append(Span(0, max(span.start, start) - start, min(span.end, end) - start))
    return Text(read.texts[side][start:end], hidden=tuple(hidden))


def pair_of(first: Text, second: Text) -> Text:
    """Two sentences as a pair; their hidden words stay hidden."""
    hidden_in_second = tuple(span._replace(side=1) for span in second.hidden)
    return Text(first.first, second.first, first.hidden + hidden_in_second)


def rows(result: SentenceMatrix) -> list[dict[str, object]]:
    """One row for every ordered pair. Sentences are counted from 1."""
    count = len(result.sentences)
    matrix = result.matrix
    return [
        {
            "first": i + 1,
            "second": j + 1,
            "neighbours": j == i + 1,
            "is_next": float(matrix[i, j]),
            "logit_is_next": float(result.logits[i, j, 0]),
            "logit_is_not_next": float(result.logits[i, j, 1]),
            "first_sentence": result.sentences[i],
            "second_sentence": result.sentences[j],
        }
        for i in range(count)
        for j in range(count)
        if i != j
    ]


class Facts(facts.Facts[SentenceMatrix]):
    def is_next(self, first: int, second: int) -> float:
        """P(is next) of two sentences by their numbers, 0 to 1."""
        count = len(self._result.sentences)
        i = facts.zero_based(first, count, "sentence")
        j = facts.zero_based(second, count, "sentence")
        return float(self._result.matrix[i, j])

    def mean_neighbours(self) -> float:
        """Mean P(is next) of the sentences that follow one another, 0 to 1."""
        return float(self._result.matrix[self._result.neighbours].mean())

    def mean_others(self) -> float:
        """Mean P(is next) of all other pairs, 0 to 1."""
        return float(self._result.matrix[self._result.others].mean())

    def sentences(self) -> float:
        """Sentences of the paragraph."""
        return len(self._result.sentences)
