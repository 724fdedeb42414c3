"""Passes of a suite's pairs: the log-probability of each scored token, with as few passes as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.model.text import Encoding

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

Spot = tuple[int, tuple[int, ...]]  # a position to score, and the positions that are hidden for it


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
        masked = encoding.with_ids(dict.fromkeys(hidden, encoding.mask_id))
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
