"""Bootstrap: the interval of a mean, and the test of two checkpoints on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

RESAMPLES = 10_000
LEVEL = 0.95
SIGNIFICANT = 0.05  # the p value of a test below which a difference is called one


class Interval(NamedTuple):
    """Both ends of a confidence interval."""

    low: float
    high: float


def bootstrap_means(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " r"]:
    """Means of RESAMPLES samples of *values*, drawn with replacement (Efron, 1979). How often each distinct value is
    drawn is multinomial, so a sample takes one draw instead of n."""
    distinct, counts = np.unique(values, return_counts=True)
    drawn = np.random.default_rng(0).multinomial(len(values), counts / len(values), size=RESAMPLES)
    return np.asarray(drawn @ distinct / len(values))


def interval(values: Float[np.ndarray, " n"]) -> Interval:
    """The 95 % percentile interval of the mean of *values*. If all are 0 or all are 1, no resample differs; the exact
    interval of a share takes its place (Clopper and Pearson, 1934)."""
    if len(set(values.tolist())) == 1 and values[0] in (0, 1):
        far = ((1 - LEVEL) / 2) ** (1 / len(values))
        return Interval(far, 1.0) if values[0] else Interval(0.0, 1 - far)
    low, high = np.quantile(bootstrap_means(values), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))


def difference_interval(values: Float[np.ndarray, " n"]) -> Interval:
    """The interval of the mean of *values* that are -1, 0 or 1 each. It is mirrored if their signs are, also where all
    are equal: no other value was seen, so each has a share of at most that of the exact interval."""
    if len(set(values.tolist())) == 1:
        seen, (_, unseen) = float(values[0]), interval(np.zeros(len(values)))
        return Interval(max(-1.0, seen - unseen), min(1.0, seen + unseen))
    return interval(values)


class PairedComparison(NamedTuple):
    """Two checkpoints on the same cases. *p*: of McNemar's exact test, two-sided: how likely such an uneven split
    of the cases on which they differ would be, if both were equally good (McNemar, 1947)."""

    difference: float  # share of right cases of the second minus that of the first
    interval: Interval
    only_first: int  # cases that only the first gets right
    only_second: int
    p: float

    def verdict(self, better: str = "is right more often") -> str:
        """Which of the two is *better*, if that is more than chance, and the test."""
        if self.p >= SIGNIFICANT:
            found = "that may be chance"
        else:
            found = f"the {'second' if self.difference > 0 else 'first'} {better}"
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        return f"{found} (McNemar’s test, {p})"


def compare_paired(first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"]) -> PairedComparison:
    """*first*, *second*: 1 where the checkpoint is right, else 0, in the same order of cases."""
    from scipy.stats import binomtest

    only_first, only_second = int((first > second).sum()), int((second > first).sum())
    p = float(binomtest(only_first, only_first + only_second).pvalue) if only_first + only_second else 1.0
    return PairedComparison(
        float((second - first).mean()), difference_interval(second - first), only_first, only_second, p
    )


def holm(values: Sequence[float]) -> list[float]:
    """The p values of several tests, corrected so that the chance of one false finding or more stays below the level
    (Holm, 1979)."""
    corrected, largest = [1.0] * len(values), 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[i]))
        corrected[i] = largest
    return corrected
