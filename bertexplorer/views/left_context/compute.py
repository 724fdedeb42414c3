"""Left context: the same mask answered with both sides in view, and with the right side hidden from the encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Bool

from bertexplorer import engine
from bertexplorer.answers.candidates import Blank, encode_masked, piece_id, probability_of, read_blank
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("context", "token"), "probability"


@dataclass(frozen=True)
class Options:
    top: Annotated[int, Option("Answers", 1, 100)] = 8


@dataclass(frozen=True)
class LeftContext:
    """The two answers. Masks are t x t, for a layer that sees the whole text: True at [i, j] if token i may look at
    token j."""

    tokens: tuple[str, ...]
    both: Blank
    left: Blank
    sees_both: Bool[np.ndarray, "t t"]
    sees_left: Bool[np.ndarray, "t t"]
    vocab_size: int
    window: int = 0  # tokens on each side that the checkpoint's local layers see; 0: no local layers


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> LeftContext:
    """Answer the first mask of *text* twice. Raises ExplorerError without a mask or an MLM head."""
    encoding = encode_masked(checkpoint, text)
    position = encoding.masked[0]
    blanks = []
    for causal in (False, True):
        rows = engine.masked_log_probs(checkpoint, [encoding], positions=[[position]], causal=causal)
        [[log_probs]] = rows
        blanks.append(read_blank(checkpoint, encoding, position, log_probs, options.top, ()))
    both, left = blanks
    everything = np.ones((len(encoding), len(encoding)), dtype=bool)
    return LeftContext(
        tokens=checkpoint.tokenizer.show_all(encoding.ids),
        both=both,
        left=left,
        sees_both=everything,
        sees_left=np.tril(everything),
        vocab_size=checkpoint.tokenizer.vocab_size,
        window=checkpoint.config.window,
    )


def lookup(checkpoint: Checkpoint, result: LeftContext, key: tuple[object, ...]) -> float | None:
    """The number of the row with these values of KEYS, if `rows` does not list it."""
    context, token = key
    return probability_of(checkpoint, result.both if context == "both sides" else result.left, str(token))


def rows(result: LeftContext) -> list[dict[str, object]]:
    """One row for each candidate in each of the two contexts."""
    return [
        {
            "context": name,
            "rank": answer.rank,
            "token": answer.token,
            "probability": answer.probability,
            "entropy_bits": blank.entropy,
        }
        for name, blank in (("both sides", result.both), ("left only", result.left))
        for answer in blank.candidates
    ]


class Facts(facts.Facts[LeftContext]):
    def entropy_both(self) -> float:
        """Entropy of the answers that read both sides, in bits."""
        return self._result.both.entropy

    def entropy_left(self) -> float:
        """Entropy of the answers that read the left side only, in bits."""
        return self._result.left.entropy

    def top_both(self, rank: int = 1) -> str:
        """The answer with this rank that reads both sides."""
        return facts.item(self._result.both.candidates, rank, "answer").token

    def top_left(self, rank: int = 1) -> str:
        """The answer with this rank that reads the left side only."""
        return facts.item(self._result.left.candidates, rank, "answer").token

    def p_both(self, word: str) -> float:
        """Probability of a piece given both sides, 0 to 1."""
        return self._p(self._result.both, word)

    def p_left(self, word: str) -> float:
        """Probability of a piece given the left side only, 0 to 1."""
        return self._p(self._result.left, word)

    def _p(self, blank: Blank, word: str) -> float:
        assert blank.probabilities is not None  # only code that stores results drops it
        return float(blank.probabilities[piece_id(self._checkpoint.tokenizer, word)])
