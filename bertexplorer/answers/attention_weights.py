"""Attention weights: rows scaled, the tokens that count, rollout, and how many tokens fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding

if TYPE_CHECKING:
    pass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


MAX_NUMBERS = 128_000_000  # layers x heads x tokens x tokens: half a GB


def rescale(weights: Float[np.ndarray, "*n r c"]) -> Float[np.ndarray, "*n r c"]:
    """Rows scaled to sum to 1; those of zeros stay."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def ordinary_tokens(encoding: Encoding) -> list[int]:
    """The positions of all tokens but [CLS] and [SEP]. Raises ExplorerError if there are none."""
    kept = [i for i, special in enumerate(encoding.special) if not special or i in encoding.masked]
    if not kept:
        raise ExplorerError("The text has only [CLS] and [SEP], and these are left out. Type a sentence.")
    return kept


def check_length(encoding: Encoding, heads: int) -> None:
    """Raises ExplorerError if the weights of all heads would not fit into memory."""
    limit = int((MAX_NUMBERS / heads) ** 0.5)
    if len(encoding) > limit:
        raise ExplorerError(
            f"The text has {len(encoding):,} tokens; the {heads} heads of this checkpoint can be shown for {limit:,} "
            "at most. Shorten the text."
        )


def rollout(attention: Float[np.ndarray, "l t t"]) -> Float[np.ndarray, "l t t"]:
    """Attention rollout: [i, a, b] is the share of token a after layer i (0-based) that stems from input token b.

    *attention* is averaged over the heads. Its rows (the tokens that look) sum to 1, and so do those of the result.
    Each layer adds its input to the output of its attention, so A' = 0.5 A + 0.5 I. The layers are multiplied:
    R_i = A'_i R_{i-1}, R_0 = A'_0 (Abnar and Zuidema, 2020, equation 1 and section 3)."""
    mixed = residual(attention)
    reached = [mixed[0]]
    for layer in mixed[1:]:
        reached.append(layer @ reached[-1])
    return np.stack(reached)


def residual(attention: Float[np.ndarray, "l t t"]) -> Float[np.ndarray, "l t t"]:
    """Half attention, half the token itself: the residual connection as modelled by Abnar and Zuidema (2020)."""
    return 0.5 * attention.astype(np.float64) + 0.5 * np.eye(attention.shape[-1])
