"""Candidates: the pieces of the vocabulary that a checkpoint predicts at a mask, and their probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.word_scores import WordScore, score_words
from bertexplorer.errors import ExplorerError, hide_word
from bertexplorer.model.text import Encoding, Text, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint


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


def read_blank(
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


def piece_id(tokenizer: Tokenizer, word: str) -> int:
    """The id of *word*. Raises ExplorerError unless it is a single piece."""
    token = ids_by_label(tokenizer).get(word, ids_by_label(tokenizer).get(word.casefold()))
    if token is None:
        raise ExplorerError(f"{word!r:.60} is not one piece of the vocabulary. Name a word that is.")
    return token
