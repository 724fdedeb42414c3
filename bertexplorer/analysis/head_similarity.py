"""Heads that behave alike: how far their attention is apart, and a plane in which those distances hold best."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def distances(rows: Float[np.ndarray, "n r t"]) -> Float[np.ndarray, "n n"]:
    """Jensen-Shannon divergence (bits, 0 to 1) between n heads, averaged over r rows of attention (each sums to 1; t
    columns): Clark et al. (2019), section 6, who add the rows up."""
    rows = rows.astype(np.float32)
    own = entropy(rows)
    found = np.zeros((len(rows), len(rows)))
    for i in range(len(rows) - 1):
        middle = entropy((rows[i] + rows[i + 1 :]) / 2)
        found[i, i + 1 :] = (middle - (own[i] + own[i + 1 :]) / 2).mean(axis=-1)
    return np.maximum(found + found.T, 0.0)


def entropy(rows: Float[np.ndarray, "*rows t"]) -> Float[np.ndarray, "*rows"]:
    """Bits; 0 where one token gets all."""
    return -(rows * np.log2(np.maximum(rows, 1e-30))).sum(axis=-1)


def plane(squared: Float[np.ndarray, "n n"]) -> tuple[Float[np.ndarray, "n 2"], float]:
    """(coordinates, share) by classical scaling (Torgerson, 1952): points whose distances are as near as a plane allows
    to the roots of *squared*, and the share of their variance that the plane holds.

    Roots of Jensen-Shannon divergences are distances of points in some space (Endres and Schindelin, 2003), so nothing
    is bent but what the plane leaves out. Signs are fixed: the largest coordinate of each axis is positive."""
    count = len(squared)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    values = np.maximum(values, 0.0)
    if count < 2 or not values.any():
        return np.zeros((count, 2)), 1.0
    best = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])
    best *= np.sign(best[np.abs(best).argmax(axis=0), [0, 1]] + 1e-30)
    return best, float(values[-2:].sum() / values.sum())
