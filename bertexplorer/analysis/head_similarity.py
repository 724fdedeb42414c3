"""Heads that behave alike: how different their attention is, and a plane that preserves those distances best."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def distances(rows: Float[np.ndarray, "n r t"]) -> Float[np.ndarray, "n n"]:
    """Jensen-Shannon divergence (bits, 0 to 1) between n heads, averaged over r rows of attention with t columns, each
    of which sums to 1. This follows Clark et al. (2019), section 6, who add the rows up instead."""
    rows = rows.astype(np.float32)
    own = entropy(rows)
    found = np.zeros((len(rows), len(rows)))
    for i in range(len(rows) - 1):
        middle = entropy((rows[i] + rows[i + 1 :]) / 2)
        found[i, i + 1 :] = (middle - (own[i] + own[i + 1 :]) / 2).mean(axis=-1)
    return np.maximum(found + found.T, 0.0)


def entropy(rows: Float[np.ndarray, "*rows t"]) -> Float[np.ndarray, "*rows"]:
    """Entropy in bits; 0 if one token gets everything."""
    return -(rows * np.log2(np.maximum(rows, 1e-30))).sum(axis=-1)


def plane(squared: Float[np.ndarray, "n n"]) -> tuple[Float[np.ndarray, "n 2"], float]:
    """(coordinates, share) by classical scaling (Torgerson, 1952): points whose distances are as close to the roots of
    *squared* as a plane allows, and the share of their variance that the plane preserves.

    Roots of Jensen-Shannon divergences are distances between points in some space (Endres and Schindelin, 2003), so the
    only distortion is what the plane leaves out. Signs are fixed: the largest coordinate of each axis is positive."""
    count = len(squared)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    values = np.maximum(values, 0.0)
    if count < 2 or not values.any():
        return np.zeros((count, 2)), 1.0
    best = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])
    best *= np.sign(best[np.abs(best).argmax(axis=0), [0, 1]] + 1e-30)
    return best, float(values[-2:].sum() / values.sum())
