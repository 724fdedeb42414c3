"""Hidden tokens: the probability of each token of a text with the token, or its whole word, hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.model.text import Encoding

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

Hide = Literal["the piece", "the rest of its word too"]
Spot = tuple[int, tuple[int, ...]]  # a position to score, and the positions that are hidden for it


def scored_positions(encoding: Encoding) -> list[int]:
    """The positions that a pseudo-likelihood counts: all but special tokens and masks."""
    return [i for i, special in enumerate(encoding.special) if not special and encoding.ids[i] != encoding.mask_id]


def positions_to_hide(encoding: Encoding, position: int, how: Hide) -> list[int]:
    """Positions to hide when the token at *position* is scored."""
    if how == "the piece":
        return [position]
    return [i for i in range(position, len(encoding)) if encoding.words[i] == encoding.words[position]]


def single_spots(positions: Sequence[int] | set[int]) -> list[Spot]:
    """Spots that hide nothing but themselves."""
    return [(i, (i,)) for i in sorted(positions)]


def token_log_probs(checkpoint: Checkpoint, spots: Sequence[tuple[Encoding, Spot]]) -> Float[np.ndarray, " n"]:
    """log p, in nats, of the token at each spot with the spot's positions hidden. A pass that several spots share, such
    as that of the differing word of a minimal pair, runs once. Passes of equal length and mask position share
    a batch, so that nothing is padded and the last layer computes that position only."""
    passes: dict[tuple[int, int, tuple[int, ...]], Encoding] = {}
    keys = []
    for encoding, (position, hidden) in spots:
        masked = encoding.hide(hidden)
        keys.append((len(masked), position, masked.ids))
        passes.setdefault(keys[-1], masked)
    order = sorted(passes)
    rows = engine.masked_log_probs(checkpoint, [passes[key] for key in order], positions=[[key[1]] for key in order])
    spots_of_pass: dict[tuple[int, int, tuple[int, ...]], list[int]] = {}
    for i, key in enumerate(keys):
        spots_of_pass.setdefault(key, []).append(i)
    log_probs = np.zeros(len(spots))
    for key, row in zip(order, rows, strict=True):
        for i in spots_of_pass[key]:
            encoding, (position, _) = spots[i]
            log_probs[i] = float(row[0, encoding.ids[position]])
    return log_probs
