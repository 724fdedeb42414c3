"""Fill-mask: the checkpoint's predictions for each mask, and their entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.candidates import Blank, Candidate, encode_masked, piece_id, probability_of, read_blank
from bertexplorer.answers.word_scores import parse_words, scoring_cost
from bertexplorer.engine.progress import expect
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_BLANKS = 20
KEYS, MEASURE = ("mask", "kind", "token"), "probability"


@dataclass(frozen=True)
class Options:
    top: Annotated[int, Option("Answers", 1, 100)] = 10
    words: Annotated[str, Option("Look up words", info="separated by commas")] = ""


@dataclass(frozen=True)
class FillMask:
    tokens: tuple[str, ...]
    blanks: tuple[Blank, ...]  # left to right
    left_out: int  # masks beyond MAX_BLANKS
    vocab_size: int


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> FillMask:
    """Answers for every mask of *text*, each given all the rest. Raises ExplorerError without a mask or an MLM head."""
    encoding = encode_masked(checkpoint, text)
    positions = encoding.masked[:MAX_BLANKS]
    words = parse_words(options.words)
    expect(len(encoding) + sum(scoring_cost(checkpoint, encoding, position, words) for position in positions))
    log_probs = next(engine.masked_log_probs(checkpoint, [encoding], positions=[positions]))
    blanks = []
    for position, row in zip(positions, log_probs, strict=True):
        blanks.append(read_blank(checkpoint, encoding, position, row, options.top, words))
    return FillMask(
        tokens=encoding.tokens,
        blanks=tuple(blanks),
        left_out=len(encoding.masked) - len(positions),
        vocab_size=checkpoint.tokenizer.vocab_size,
    )


def lookup(checkpoint: Checkpoint, result: FillMask, key: tuple[object, ...]) -> float | None:
    """The number of the row with these values of KEYS, if `rows` does not list it; None without such a mask."""
    number, _, token = key
    if not isinstance(number, int) or number > len(result.blanks):
        return None
    return probability_of(checkpoint, result.blanks[number - 1], str(token))


def rows(result: FillMask) -> list[dict[str, object]]:
    """One row for each candidate, the hidden piece and the requested words. The entropy is that of the mask."""
    table: list[dict[str, object]] = []
    for number, blank in enumerate(result.blanks, 1):
        mask = {"mask": number, "position": blank.position, "entropy_bits": blank.entropy}
        table += [{**mask, "kind": "answer", **candidate_row(candidate)} for candidate in blank.candidates]
        if blank.original:
            table.append({**mask, "kind": "hidden", **candidate_row(blank.original)})
        for word in blank.words:
            table.append(
                {
                    **mask,
                    "kind": "word",
                    "rank": word.rank or "",
                    "token": word.word,
                    "probability": word.probability,
                    "log_probability": word.log_probability,
                }
            )
    return table


def candidate_row(candidate: Candidate) -> dict[str, object]:
    """The columns of a row that concern a piece of the vocabulary."""
    return {
        "rank": candidate.rank,
        "token": candidate.token,
        "probability": candidate.probability,
        "log_probability": math.log(max(candidate.probability, 1e-45)),
    }


class Facts(facts.Facts[FillMask]):
    """*blank* is the number of the mask, from 1."""

    def top(self, rank: int = 1, blank: int = 1) -> str:
        """The answer with this rank, among those that are listed."""
        return facts.item(self._blank(blank).candidates, rank, "answer").token

    def p(self, word: str, blank: int = 1) -> float:
        """Probability of a piece of the vocabulary, 0 to 1."""
        return float(self._probabilities(blank)[self._id(word)])

    def rank(self, word: str, blank: int = 1) -> float:
        """Rank of a piece in the vocabulary; 1 is the most probable."""
        shares = self._probabilities(blank)
        return 1 + int((shares > shares[self._id(word)]).sum())

    def hidden(self, blank: int = 1) -> str:
        """The piece that was hidden; empty where a mask was typed."""
        original = self._blank(blank).original
        return original.token if original else ""

    def p_hidden(self, blank: int = 1) -> float:
        """Probability of the piece that was hidden, 0 to 1; 0 where a mask was typed."""
        original = self._blank(blank).original
        return original.probability if original else 0.0

    def entropy(self, blank: int = 1) -> float:
        """Entropy of the answers, in bits: 0 is certain."""
        return self._blank(blank).entropy

    def _blank(self, number: int) -> Blank:
        return facts.item(self._result.blanks, number, "mask")

    def _probabilities(self, number: int) -> Float[np.ndarray, " v"]:
        shares = self._blank(number).probabilities
        assert shares is not None  # only code that stores results drops it
        return shares

    def _id(self, word: str) -> int:
        return piece_id(self._checkpoint.tokenizer, word)
