"""Pieces merged into words: the units (tokens or whole words) between which attention is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer.model.text import Encoding

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint


@dataclass(frozen=True)
class Unit:
    """A token, or a word of several tokens."""

    label: str
    positions: tuple[int, ...]  # of its tokens, 0-based, ascending
    side: int  # 0: first text and the tokens that frame it; 1: everything from the second text on
    special: bool  # [CLS], [SEP], [PAD] or what the family calls them


def units(checkpoint: Checkpoint, encoding: Encoding, *, merge: bool = False) -> tuple[Unit, ...]:
    """The tokens of *encoding*, or (*merge*) its words, in their order. Each token belongs to exactly one unit."""
    frame = frame_flags(checkpoint, encoding)
    second = len(encoding) if encoding.second_start is None else encoding.second_start

    def word_of(position: int) -> tuple[int, int]:
        word = encoding.words[position]
        if not merge or word is None or frame[position]:
            return (-1, position)
        return (word, 0)

    found = []
    for _, group in groupby(range(len(encoding)), key=word_of):
        positions = tuple(group)
        first = positions[0]
        side = 1 if first >= second else 0
        found.append(Unit(label(checkpoint, encoding, positions), positions, side, frame[first]))
    return tuple(found)


def frame_flags(checkpoint: Checkpoint, encoding: Encoding) -> tuple[bool, ...]:
    """For each token whether it only frames the text, like [CLS], [SEP] and [PAD]; [UNK] and [MASK] represent words."""
    tokenizer = checkpoint.tokenizer
    names = {tokenizer.special[kind] for kind in ("cls", "sep", "pad") if kind in tokenizer.special}
    return tuple(token in names for token in encoding.tokens)


def label(checkpoint: Checkpoint, encoding: Encoding, positions: tuple[int, ...]) -> str:
    """The label of a unit: a piece as the strip shows it, or the joined pieces of a word."""
    ids = [encoding.ids[p] for p in positions]
    return checkpoint.tokenizer.show(ids[0]) if len(ids) == 1 else checkpoint.tokenizer.join(ids)


def places_in_pair(pair: Encoding, alone: Sequence[Encoding]) -> dict[tuple[int, int], int]:
    """(side, position in the text alone) -> position in the pair, for tokens that cover the same characters."""
    places = {(span.side, span.start): i for i, span in enumerate(pair.spans) if span is not None}
    found = {}
    for side, encoding in enumerate(alone):
        for position, span in enumerate(encoding.spans):
            if span is not None and (side, span.start) in places:
                found[side, position] = places[side, span.start]
    return found


def merge_attention(values: Float[np.ndarray, "l h t t"], groups: tuple[Unit, ...]) -> Float[np.ndarray, "l h n n"]:
    """Attention between units: summed over the tokens that are looked at and averaged over those that look,
    so that rows of attention still sum to 1 (Clark et al., 2019, section 4.1)."""
    if all(len(unit.positions) == 1 for unit in groups):
        return values
    starts = [unit.positions[0] for unit in groups]
    sizes = np.array([len(unit.positions) for unit in groups], dtype=values.dtype)
    summed = np.add.reduceat(np.add.reduceat(values, starts, axis=3), starts, axis=2)
    return summed / sizes[:, None]
