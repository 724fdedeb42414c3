"""Masked language modelling (Devlin et al., 2019): which tokens the model must predict, and what replaces them."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from bertexplorer.model.text import Tokenizer
from bertexplorer.options import Option

# kinds of chosen tokens
MASKED = 0
SAME = 1
RANDOM = 2


@dataclass(frozen=True)
class Masking:
    """The proportions of masked language modelling."""

    chosen: Annotated[float, Option("Chosen", 0.01, 0.9, "share of the tokens to predict")] = 0.15
    masked: Annotated[float, Option("[MASK]", 0.0, 1.0, "share of the chosen that becomes [MASK]")] = 0.8
    random: Annotated[float, Option("Random", 0.0, 1.0, "share of the chosen that becomes a random piece")] = 0.1
    whole_words: Annotated[bool, Option("Whole words", info="all pieces of a word are chosen, or none")] = False


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The properties of a tokenizer that masking needs."""

    mask_id: int
    ordinary: NDArray[np.int64]  # ids from which a random piece is drawn: all but the special ones
    continues: NDArray[np.bool_]  # by id: whether the piece continues a word

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Vocabulary":
        size = tokenizer.vocab_size
        spelt = [tokenizer.backend.id_to_token(i) or "" for i in range(size)]
        if tokenizer.kind == "WordPiece":
            continues = [piece.startswith(tokenizer.continuation) for piece in spelt]
        else:
            continues = [bool(piece) and piece[0] not in "Ġ▁" for piece in spelt]
        special = tokenizer.special_ids
        ordinary = np.array([i for i, piece in enumerate(spelt) if piece and i not in special], dtype=np.int64)
        return cls(tokenizer.mask_id, ordinary, np.array(continues))


def choose(
    ids: NDArray[Any], fixed: NDArray[np.bool_], vocabulary: Vocabulary, masking: Masking, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Choose the tokens of *ids* (b, t) that the model must predict.

    Each token (or word) is chosen with probability *masking.chosen*. A row without any gets one. Tokens that are
    *fixed* (special tokens, padding) are never chosen; a word begins after them, also where its first piece is spelled
    like one that continues a word, as at the start of a text in byte-level vocabularies."""
    chance = rng.random(ids.shape)
    if masking.whole_words:  # the pieces of a word share a number
        starts = ~vocabulary.continues[ids] | fixed
        starts[:, 1:] |= fixed[:, :-1]
        word = np.cumsum(starts, axis=1) - 1
        chance = np.take_along_axis(chance, np.maximum(word, 0), axis=1)
    chance[fixed] = np.inf
    lowest = chance.min(axis=1, keepdims=True, initial=np.inf)
    chosen: NDArray[np.bool_] = (chance < np.maximum(masking.chosen, np.nextafter(lowest, 2))) & ~fixed
    return chosen


def alter(
    ids: NDArray[Any],
    chosen: NDArray[np.bool_],
    vocabulary: Vocabulary,
    masking: Masking,
    rng: np.random.Generator,
) -> tuple[NDArray[Any], NDArray[np.int8]]:
    """(*ids* with the chosen ones masked, replaced or left as they are; for each token what happens to it if it is
    chosen: MASKED, SAME or RANDOM)."""
    chance = rng.random(ids.shape)
    random_ids = vocabulary.ordinary[rng.integers(len(vocabulary.ordinary), size=ids.shape)]
    kinds = np.full(ids.shape, SAME, dtype=np.int8)
    kinds[chance < masking.masked + masking.random] = RANDOM
    kinds[chance < masking.masked] = MASKED
    altered = np.where(chosen & (kinds == RANDOM), random_ids, ids)
    altered = np.where(chosen & (kinds == MASKED), vocabulary.mask_id, altered)
    return altered, kinds
