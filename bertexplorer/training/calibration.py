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
            tenth = Bin(
                start=i / BINS,
                confidence=float(confidence[inside].mean()),
                accuracy=float(right[inside].mean()),
                examples=int(inside.sum()),
            )
            bins.append(tenth)
    return bins


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error (Guo et al., 2017, On Calibration of Modern Neural Networks): the mean distance of
    a bin's confidence from its accuracy, each bin weighted by its answers."""
    total = sum(tenth.examples for tenth in bins)
    return sum(tenth.examples * abs(tenth.accuracy - tenth.confidence) for tenth in bins) / total
