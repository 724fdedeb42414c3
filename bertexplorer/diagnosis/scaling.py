"""How vectors were scaled, as their lengths tell: directions are compared without them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bertexplorer.diagnosis.pooling import OF_MEAN
from bertexplorer.diagnosis.recipe import RAW, SCALED, Recipe

TOLERANCE = 0.01  # by how much a length may differ


def with_scaling(
    recipe: Recipe, given: Sequence[float], ours: Sequence[tuple[float, float]], tokens: Sequence[int]
) -> Recipe:
    """*recipe* with what the lengths of the *given* vectors say, a length for each text. *ours*: the lengths of its own
    vectors, cut to the width of those and before that; *tokens*: of each text."""
    theirs = np.array(given)
    cut, whole = np.array(ours).T
    ratios = theirs / cut

    def are(lengths: np.ndarray, wanted: float | np.ndarray) -> bool:
        return bool(np.allclose(lengths, wanted, rtol=TOLERANCE, atol=0))

    # 1. What the files may say.
    if are(theirs, 1):
        return replace(recipe, scaling=SCALED)
    if are(ratios, 1):
        return replace(recipe, scaling=RAW)
    if are(theirs, cut / whole):
        return replace(recipe, scaling="scaled to length 1 before they are cut")
    # 2. Sums instead of means, which have the same direction.
    counts = np.array(tokens)
    if recipe.pooling == "mean" and are(ratios, counts**0.5):
        return replace(recipe, pooling=OF_MEAN, scaling=RAW)
    if recipe.pooling == "mean" and are(ratios, counts):
        return replace(recipe, scaling="the sum over all tokens instead of the mean")
    # 3. Any other scale, as long as it is one.
    if are(theirs, theirs.mean()):
        return replace(recipe, scaling=f"scaled to length {theirs.mean():.3g}")
    if are(ratios, ratios.mean()):
        return replace(recipe, scaling=f"multiplied by {ratios.mean():.3g}")
    unexplained = f"of lengths from {theirs.min():.3g} to {theirs.max():.3g}, which no step explains"
    return replace(recipe, scaling=unexplained)
