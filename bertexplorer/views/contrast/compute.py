"""Contrast: one mask in two sentences, compared over the whole vocabulary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.candidates import encode_masked, piece_id
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

FLOOR = 1e-4  # a word is listed only if it is at least this probable in one of the two
KEYS, MEASURE = ("token",), "log_ratio"


@dataclass(frozen=True)
class Options:
    other: Annotated[str, Option("Other sentence", info="with [MASK] in it; or type it as the second sentence")] = ""
    named: Annotated[int, Option("Words named on each side", 1, 50)] = 8


@dataclass(frozen=True)
class Word:
    """A piece and its two log-probabilities, in nats."""

    token: str
    id: int
    first: float
    second: float

    @property
    def log_ratio(self) -> float:
        """Above 0 if the piece is more probable in the second sentence. One unit is a factor of e."""
        return self.second - self.first


@dataclass(frozen=True)
class Contrast:
    texts: tuple[str, str]
    first: Float[np.ndarray, " v"]  # natural log-probabilities over the vocabulary
    second: Float[np.ndarray, " v"]
    words: tuple[Word, ...]  # those that add most to the divergence: towards the first sentence, then the second
    divergence: float  # Jensen-Shannon, bits: 0 the same answers, 1 nothing in common
    vocabulary: tuple[str, ...]
    notes: tuple[str, ...] = ()  # on the other sentence, which has no strip to show them
    alone: bool = False  # whether the two are the sentences of a pair, each read alone


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Contrast:
    """Compare the first mask of *text* with that of the other sentence: *options.other*, or else the second text, and
    then each is read alone. Raises ExplorerError if there is no other sentence, or if one has no mask."""
    _ = checkpoint.masked_lm  # if there is no head, raise before asking for a sentence
    own = Text.of(text)
    alone = not options.other.strip()
    if alone and not own.second.strip():
        raise ExplorerError(
            "The other sentence is missing. Type one with [MASK] in it, to compare the two masks.", code="pair"
        )
    other = own.alone(1) if alone else with_second_text(options.other, own)
    first_encoding = encode_masked(checkpoint, own.alone(0) if alone else own)
    try:
        second_encoding = encode_masked(checkpoint, other)
    except ExplorerError as error:
        raise ExplorerError(f"In the other sentence: {error}") from error
    encodings = [first_encoding, second_encoding]
    positions = [encoding.masked[:1] for encoding in encodings]
    rows = engine.masked_log_probs(checkpoint, encodings, positions=positions)
    first, second = (row[0].numpy() for row in rows)
    size = checkpoint.tokenizer.vocab_size
    vocabulary = checkpoint.tokenizer.all_pieces
    return Contrast(
        texts=(first_encoding.texts[0], second_encoding.texts[0]),
        first=first[:size],
        second=second[:size],
        words=most_different(first[:size], second[:size], vocabulary, options.named),
        divergence=jensen_shannon(first, second),
        vocabulary=vocabulary,
        notes=second_encoding.notes,
        alone=alone,
    )


def with_second_text(other: str, text: Text) -> Text:
    """*other* with the second text of *text*, so that the two inputs differ only in the first sentence."""
    return Text(other, text.second, tuple(span for span in text.hidden if span.side))


def most_different(first: np.ndarray, second: np.ndarray, vocabulary: tuple[str, ...], count: int) -> tuple[Word, ...]:
    """The *count* words of each side that add most to the divergence, among those with a probability of at least FLOOR
    in one of the two: a rare word may be many times as likely and still change next to nothing."""
    likely = np.flatnonzero(np.maximum(first, second) >= math.log(FLOOR))
    toward_second = np.sign(second - first) * divergence_of_each(first, second)
    order = likely[np.argsort(toward_second[likely])]
    falling = [i for i in order[:count] if second[i] < first[i]]
    rising = [i for i in order[::-1][:count] if second[i] > first[i]]
    words = []
    for i in (*falling, *rising):
        words.append(Word(vocabulary[i], id=int(i), first=float(first[i]), second=float(second[i])))
    return tuple(words)


def jensen_shannon(first: np.ndarray, second: np.ndarray) -> float:
    """Jensen-Shannon divergence (Lin, 1991) of two distributions given as natural logs, in bits."""
    return max(0.0, float(divergence_of_each(first, second).sum()))


def divergence_of_each(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """What each word adds to the Jensen-Shannon divergence, in bits."""
    p = np.exp(first.astype(np.float64))
    q = np.exp(second.astype(np.float64))
    middle = np.log((p + q) / 2)
    return (p * (first - middle) + q * (second - middle)) / 2 / math.log(2)


def rows(result: Contrast) -> list[dict[str, object]]:
    """One row for every piece of the vocabulary: first those that differ most, then by their larger probability."""
    order = np.argsort(-np.maximum(result.first, result.second), kind="stable").tolist()
    return [
        {
            "token": result.vocabulary[i],
            "log_probability_first": float(result.first[i]),
            "log_probability_second": float(result.second[i]),
            "log_ratio": float(result.second[i] - result.first[i]),
        }
        for i in dict.fromkeys([word.id for word in result.words] + order)
    ]


class Facts(facts.Facts[Contrast]):
    """*sentence* is 1 or 2."""

    def divergence(self) -> float:
        """Jensen-Shannon divergence of the two sets of answers, in bits: 0 the same, 1 nothing in common."""
        return self._result.divergence

    def p(self, word: str, sentence: int) -> float:
        """Probability of a piece at the mask of that sentence, 0 to 1."""
        return math.exp(float(self._row(sentence)[self._id(word)]))

    def rank(self, word: str, sentence: int) -> float:
        """Rank of a piece at that mask; 1 is the most probable."""
        side = self._row(sentence)
        return 1 + int((side > side[self._id(word)]).sum())

    def ratio(self, word: str) -> float:
        """log2 of how many times more probable a piece is in the second sentence, in bits."""
        return float(self._result.second[self._id(word)] - self._result.first[self._id(word)]) / math.log(2)

    def top(self, sentence: int) -> str:
        """The first answer in that sentence."""
        return self._result.vocabulary[int(self._row(sentence).argmax())]

    def _row(self, sentence: int) -> Float[np.ndarray, " v"]:
        return facts.item((self._result.first, self._result.second), sentence, "sentence")

    def _id(self, word: str) -> int:
        return piece_id(self._checkpoint.tokenizer, word)
