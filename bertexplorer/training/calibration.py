"""Calibration: whether the probabilities of a classifier are as high as the share of its answers that is right."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

BINS = 10


class Bin(NamedTuple):
    """The answers whose probability is in one tenth of the scale."""

    start: float  # of the tenth
    confidence: float  # mean probability of the answers
    accuracy: float  # share of them that is right
    examples: int


def calibration_bins(confidence: Float[np.ndarray, " n"], right: Bool[np.ndarray, " n"]) -> list[Bin]:
    """Ten bins of equal width, without those that have no answer. *confidence*: the probability of each answer, 0 to 1;
    *right*: whether it is right."""
    bin_of = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = []
    for i in range(BINS):
        inside = bin_of == i
        if inside.any():
            bins.append(Bin(i / BINS, float(confidence[inside].mean()), float(right[inside].mean()), int(inside.sum())))
    return bins


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error (Guo et al., 2017, On Calibration of Modern Neural Networks): the mean distance of
    a bin's confidence from its accuracy, each bin weighted by its answers."""
    total = sum(one.examples for one in bins)
    return sum(one.examples * abs(one.accuracy - one.confidence) for one in bins) / total
