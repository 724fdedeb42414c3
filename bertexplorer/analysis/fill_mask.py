"""Fill-mask: the checkpoint's predictions for each mask, and their entropy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis import facts
from bertexplorer.analysis.word_scores import WordScore, parse_words, score_words, scoring_cost
from bertexplorer.engine.progress import expect
from bertexplorer.errors import ExplorerError, hide_word
from bertexplorer.model.text import Encoding, Text, Tokenizer
from bertexplorer.options import Option

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint

MAX_BLANKS = 20
KEYS, MEASURE = ("mask", "kind", "token"), "probability"


@dataclass(frozen=True)
class Options:
    top: Annotated[int, Option("Answers", 1, 100)] = 10
    words: Annotated[str, Option("Look up words", info="separated by commas")] = ""


@dataclass(frozen=True)
class Candidate:
    """One piece of the vocabulary at a mask. Rank 1 is the most probable."""

    token: str
    id: int
    probability: float  # 0 to 1
    rank: int


@dataclass(frozen=True)
class Blank:
    """One mask and the distribution over the vocabulary that the checkpoint predicts for it."""

    position: int  # of its token, 0-based
    candidates: tuple[Candidate, ...]  # most probable first
    original: Candidate | None  # the piece that was hidden; None if [MASK] was typed
    entropy: float  # bits; 0: certain, log2(vocabulary): no idea
    words: tuple[WordScore, ...]  # the requested words, best first
    probabilities: Float[np.ndarray, " v"] | None = field(default=None, repr=False, compare=False)  # of all pieces


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
    blanks = tuple(
        blank(checkpoint, encoding, position, row, options.top, words)
        for position, row in zip(positions, log_probs, strict=True)
    )
    return FillMask(encoding.tokens, blanks, len(encoding.masked) - len(positions), checkpoint.tokenizer.vocab_size)


def encode_masked(checkpoint: Checkpoint, text: Text | str) -> Encoding:
    """The encoding of *text*. Raises ExplorerError if it has no mask."""
    _ = checkpoint.masked_lm  # if there is no head, raise before asking for a mask
    encoding = checkpoint.tokenizer.encode(text)
    if not encoding.masked:
        beyond = " within the tokens that are read" if encoding.left_out else ""
        raise ExplorerError(
            f"Nothing is hidden{beyond}, so there is nothing to predict.",
            hide_word(checkpoint.tokenizer.mask_token),
            code="mask",
        )
    return encoding


def blank(
    checkpoint: Checkpoint, encoding: Encoding, position: int, log_probs: Tensor, top: int, words: tuple[str, ...]
) -> Blank:
    """The Blank for one row of log-probabilities (natural log, v long)."""
    tokenizer, was = checkpoint.tokenizer, encoding.original_ids[position]
    with_piece, shares = log_probs[: tokenizer.vocab_size], log_probs.exp()
    rank = 1 + int((with_piece > log_probs[was]).sum())
    original = Candidate(tokenizer.show(was), was, float(log_probs[was].exp()), rank)
    return Blank(
        position=position,
        candidates=best_candidates(with_piece, tokenizer.show, top),
        original=None if was == encoding.mask_id else original,
        entropy=float(-(shares * log_probs).sum() / math.log(2)),
        words=score_words(checkpoint, encoding, position, log_probs, words),
        probabilities=shares.float().numpy(),
    )


def best_candidates(log_probs: Tensor, name: Callable[[int], str], count: int) -> tuple[Candidate, ...]:
    """The *count* most probable of the classes with *log_probs* (natural log), each with its *name*."""
    best = log_probs.topk(min(count, len(log_probs))).indices.tolist()
    return tuple(Candidate(name(i), i, float(log_probs[i].exp()), rank) for rank, i in enumerate(best, 1))


@lru_cache(maxsize=2)
def ids_by_label(tokenizer: Tokenizer) -> dict[str, int]:
    """Every piece of the vocabulary, as `show` spells it -> its id."""
    return {piece: id for id, piece in reversed([*enumerate(tokenizer.all_pieces)])}


def probability_of(checkpoint: Checkpoint, blank: Blank, token: str) -> float | None:
    """The probability in *blank* of *token*, spelled as in a row; None if the vocabulary has no such piece."""
    id = ids_by_label(checkpoint.tokenizer).get(token)
    return None if id is None or blank.probabilities is None else float(blank.probabilities[id])


def lookup(checkpoint: Checkpoint, result: FillMask, key: tuple[object, ...]) -> float | None:
    """The number of the row with these values of KEYS, if `rows` does not list it."""
    number, _, token = key
    listed = isinstance(number, int) and number <= len(result.blanks)
    return probability_of(checkpoint, result.blanks[int(str(number)) - 1], str(token)) if listed else None


def rows(result: FillMask) -> list[dict[str, object]]:
    """One row for each candidate, the hidden piece and the requested words. The entropy is that of the mask."""
    table: list[dict[str, object]] = []
    for number, blank in enumerate(result.blanks, 1):
        blank_fields = {"mask": number, "position": blank.position, "entropy_bits": blank.entropy}
        for kind, items in (("answer", blank.candidates), ("hidden", (blank.original,) if blank.original else ())):
            for c in items:
                entry = {"rank": c.rank, "token": c.token, "probability": c.probability}
                table.append(
                    {**blank_fields, "kind": kind, **entry, "log_probability": math.log(max(c.probability, 1e-45))}
                )
        for w in blank.words:
            entry = {"rank": w.rank or "", "token": w.word, "probability": w.probability}
            table.append({**blank_fields, "kind": "word", **entry, "log_probability": w.log_probability})
    return table


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

    def blanks(self) -> float:
        """Masks in the text."""
        return len(self._result.blanks)

    def _blank(self, number: int) -> Blank:
        return facts.item(self._result.blanks, number, "mask")

    def _probabilities(self, number: int) -> Float[np.ndarray, " v"]:
        shares = self._blank(number).probabilities
        assert shares is not None  # only code that stores results drops it
        return shares

    def _id(self, word: str) -> int:
        return piece_id(self._checkpoint.tokenizer, word)


def piece_id(tokenizer: Tokenizer, word: str) -> int:
    """The id of *word*. Raises ExplorerError unless it is a single piece."""
    token = ids_by_label(tokenizer).get(word, ids_by_label(tokenizer).get(word.casefold()))
    if token is None:
        raise ExplorerError(f"{word!r:.60} is not one piece of the vocabulary. Name a word that is.")
    return token
