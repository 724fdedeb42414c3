"""Scores of requested words at a mask: that of several pieces is comparable with that of a single piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint

MAX_WORDS = 50
MAX_PIECES = 20


@dataclass(frozen=True)
class WordScore:
    """A word at a mask. *log_probability* is in nats; over several pieces it is the sum of the log-probability of each
    piece, with that piece and the ones after it hidden (PLL-word-l2r; Kauf and Ivanova, 2023, after Salazar et al.,
    2020). Hiding the later pieces keeps a word from vouching for itself."""

    word: str
    pieces: tuple[str, ...]
    log_probability: float
    rank: int | None  # in the vocabulary, 1 is the most probable; None for several pieces

    @property
    def probability(self) -> float:
        return math.exp(self.log_probability)


def parse_words(words: str) -> tuple[str, ...]:
    """The words of a comma-separated line, each once. Raises ExplorerError beyond MAX_WORDS."""
    unique = tuple(dict.fromkeys(word for part in words.split(",") if (word := " ".join(part.split()))))
    if len(unique) > MAX_WORDS:
        raise ExplorerError(f"{len(unique)} words were given to look up; the limit is {MAX_WORDS}. Remove some.")
    return unique


def score_words(
    checkpoint: Checkpoint, encoding: Encoding, position: int, log_probs: Tensor, words: Sequence[str]
) -> tuple[WordScore, ...]:
    """Score *words* at the mask in *position*, best first. *log_probs* (v long, nats) is its distribution."""
    scores = []
    for word in words:
        ids = piece_ids(checkpoint, encoding, position, word)
        if len(ids) > MAX_PIECES:
            raise ExplorerError(
                f"{word!r} is cut into {len(ids)} pieces; the limit is {MAX_PIECES}. Choose a shorter word."
            )
        pieces = checkpoint.tokenizer.show_all(ids)
        if len(ids) == 1:
            rank = 1 + int((log_probs[: checkpoint.tokenizer.vocab_size] > log_probs[ids[0]]).sum())
            scores.append(WordScore(word, pieces, float(log_probs[ids[0]]), rank))
        else:
            scores.append(WordScore(word, pieces, pieces_log_prob(checkpoint, encoding, position, ids), None))
    return tuple(sorted(scores, key=lambda score: -score.log_probability))


def scoring_cost(checkpoint: Checkpoint, encoding: Encoding, position: int, words: Sequence[str]) -> int:
    """How many tokens `score_words` sends through the encoder for *words*: none for words of one piece."""
    counts = [len(piece_ids(checkpoint, encoding, position, word)) for word in words]
    return sum(count * (len(encoding) + count - 1) for count in counts if count > 1)


def pieces_log_prob(checkpoint: Checkpoint, encoding: Encoding, position: int, ids: Sequence[int]) -> float:
    """Sum of log p(piece i | the pieces before it, the rest of the text) with later pieces hidden, in one batch."""
    rows = pieces_log_probs(checkpoint, encoding, position, ids)
    return sum(float(row[token]) for row, token in zip(rows, ids, strict=True))


def pieces_log_probs(
    checkpoint: Checkpoint, encoding: Encoding, position: int, ids: Sequence[int]
) -> list[Float[Tensor, " v"]]:
    """For each piece of *ids* the log-probabilities (nats) at its position, given the pieces before it and the rest of
    the text, with later pieces hidden."""
    positions = range(position, position + len(ids))
    wide = insert_masks(encoding, position, len(ids))
    if len(wide) > checkpoint.tokenizer.max_tokens:
        raise ExplorerError(f"With {len(ids)} masks for the word, the text is {len(wide)} tokens long; shorten it.")
    steps = [wide.with_ids(dict(zip(positions[:i], ids, strict=False))) for i in range(len(ids))]
    return [row[0] for row in engine.masked_log_probs(checkpoint, steps, positions=[[spot] for spot in positions])]


def insert_masks(encoding: Encoding, position: int, count: int) -> Encoding:
    """The encoding with *count* masks in place of the one at *position*."""

    def spread(values: tuple, fill: object) -> tuple:  # type: ignore[type-arg]
        return (*values[:position], *[fill] * count, *values[position + 1 :])

    return replace(
        encoding,
        tokens=spread(encoding.tokens, encoding.tokens[position]),
        ids=spread(encoding.ids, encoding.mask_id),
        original_ids=spread(encoding.original_ids, encoding.mask_id),
        segments=spread(encoding.segments, encoding.segments[position]),
        spans=spread(encoding.spans, encoding.spans[position]),
        words=spread(encoding.words, encoding.words[position]),
        special=spread(encoding.special, False),
    )


def piece_ids(checkpoint: Checkpoint, encoding: Encoding, position: int, word: str) -> tuple[int, ...]:
    """The ids of *word* as written at *position*, after a space or not. Raises ExplorerError as `pieces` does."""
    span, tokenizer = encoding.spans[position], checkpoint.tokenizer
    before = encoding.texts[span.side][: span.start] if span else " "
    return tokenizer.pieces(word, spaced=before[-1:].isspace() or (not before and tokenizer.kind == "Unigram"))


def single_piece_id(checkpoint: Checkpoint, encoding: Encoding, position: int, word: str) -> int:
    """The id of *word* as written at *position*. Raises ExplorerError if it is cut into several pieces."""
    ids = piece_ids(checkpoint, encoding, position, word)
    if len(ids) > 1:
        cut = " + ".join(checkpoint.tokenizer.show_all(ids[:8])) + (" + …" if len(ids) > 8 else "")
        raise ExplorerError(
            f"{word.strip()!r} is cut into {len(ids)} pieces ({cut}), but a mask stands for one. Choose a word "
            "that is one piece, such as 'paris', or leave it empty for the first choice."
        )
    return ids[0]
