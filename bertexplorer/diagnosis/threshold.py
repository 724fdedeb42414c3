"""The threshold of a score from which on two texts are said to belong together, and how well it does on new pairs.

A threshold that is judged on the pairs it was chosen on looks better than it is. So each fold of the pairs is judged by
the threshold of the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer.answers.bootstrap import Interval

FOLDS = 10
RESAMPLES = 500
LEVEL = 0.95


class Curve(NamedTuple):
    """Precision and recall of each threshold, the highest first; both from 0 to 1."""

    thresholds: Float[np.ndarray, " t"]
    precision: Float[np.ndarray, " t"]
    recall: Float[np.ndarray, " t"]


def curve(scores: Float[np.ndarray, " n"], matches: Bool[np.ndarray, " n"]) -> Curve:
    """What is right of the pairs with at least each score. Pairs with equal scores pass together."""
    order = np.argsort(-scores, kind="stable")
    passed = scores[order]
    right = np.cumsum(matches[order])
    last = np.append(passed[1:] != passed[:-1], True)  # the last pair of those with one score
    count = np.arange(1, len(scores) + 1)
    return Curve(thresholds=passed[last], precision=(right / count)[last], recall=(right / max(1, right[-1]))[last])


def choose(scores: Float[np.ndarray, " n"], matches: Bool[np.ndarray, " n"], precision: float) -> float | None:
    """The threshold with the best F1; with a *precision* above 0, the one with the best recall among those that reach
    it. It lies halfway to the next lower score. None if no threshold reaches the precision."""
    known = curve(scores, matches)
    if precision > 0:
        good = np.flatnonzero(known.precision >= precision)
        if not len(good):
            return None
        best = int(good[-1])  # recall only grows as the threshold falls
    else:
        best = int(np.argmax(f1(known.precision, known.recall)))
    at = float(known.thresholds[best])
    below = float(known.thresholds[best + 1]) if best + 1 < len(known.thresholds) else at
    return (at + below) / 2


def f1(precision: Float[np.ndarray, " t"], recall: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """The harmonic mean; 0 where both are."""
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)


def held_out(
    scores: Float[np.ndarray, " n"], matches: Bool[np.ndarray, " n"], precision: float
) -> Bool[np.ndarray, " n"]:
    """Whether each pair passes the threshold that the other folds choose. Each fold has its part of the pairs that
    match and of those that do not. A fold whose others reach no threshold lets nothing pass."""
    shuffled = np.random.default_rng(0).permutation(len(scores))
    dealt = shuffled[np.argsort(matches[shuffled], kind="stable")]  # those that do not match first
    fold = np.empty(len(scores), int)
    fold[dealt] = np.arange(len(scores)) % FOLDS
    passes = np.zeros(len(scores), bool)
    for number in range(FOLDS):
        own = fold == number
        threshold = choose(scores[~own], matches[~own], precision)
        if threshold is not None:
            passes[own] = scores[own] >= threshold
    return passes


def threshold_interval(
    scores: Float[np.ndarray, " n"], matches: Bool[np.ndarray, " n"], precision: float
) -> Interval | None:
    """The 95 % percentile interval of the threshold over RESAMPLES samples of the pairs, drawn with replacement (Efron,
    1979); None if a twentieth of them or more have no threshold."""
    generator = np.random.default_rng(0)
    thresholds = []
    for _ in range(RESAMPLES):
        drawn = generator.integers(len(scores), size=len(scores))
        if not matches[drawn].any():
            continue
        threshold = choose(scores[drawn], matches[drawn], precision)
        if threshold is not None:
            thresholds.append(threshold)
    if len(thresholds) <= LEVEL * RESAMPLES:
        return None
    low, high = np.quantile(thresholds, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))


def area(scores: Float[np.ndarray, " n"], matches: Bool[np.ndarray, " n"]) -> float:
    """The area under the ROC curve: how often a pair that matches has a higher score than one that does not; half of
    the ties count (Mann and Whitney, 1947)."""
    from scipy.stats import rankdata

    positive = int(matches.sum())
    negative = len(matches) - positive
    above = float(rankdata(scores)[matches].sum()) - positive * (positive + 1) / 2
    return above / (positive * negative)
