"""Doubtful labels: rows whose label is contradicted by the model, and by the rows that are most like them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bertexplorer.engine import progress

AT_ONCE = 512  # rows whose cosines with all others are in memory together


@dataclass(frozen=True)
class Votes:
    """What the labels of the nearest rows say of each of n rows. *label*: the index of the most frequent one, the first
    of equally frequent ones; *share*: of the neighbours that have it, 0 to 1."""

    label: Int[np.ndarray, " n"]
    share: Float[np.ndarray, " n"]


def nearest(vectors: Float[np.ndarray, "n d"], count: int) -> Int[np.ndarray, "n k"]:
    """The indices of the *count* nearest rows of each row by cosine, the nearest first; none is its own. Of equally
    near ones, the earlier is first. *vectors*: of length 1; there are fewer neighbours if there are fewer rows."""
    count = min(count, len(vectors) - 1)
    neighbours = np.zeros((len(vectors), count), dtype=int)
    if not count:
        return neighbours
    for start in range(0, len(vectors), AT_ONCE):
        progress.check()
        for i, cosines in enumerate(vectors[start : start + AT_ONCE] @ vectors.T, start):
            cosines[i] = -np.inf
            least = np.partition(cosines, -count)[-count]
            near = np.flatnonzero(cosines >= least)
            neighbours[i] = near[np.argsort(-cosines[near], kind="stable")][:count]
    return neighbours


def votes(neighbours: Int[np.ndarray, "n k"], gold: Int[np.ndarray, " n"]) -> Votes:
    """The most frequent label among the *neighbours* of each row. *gold*: the label of each row, as an index."""
    labels = range(int(gold.max()) + 1)
    counts = np.stack([(gold[neighbours] == label).sum(axis=1) for label in labels], axis=1)  # rows x labels
    return Votes(label=counts.argmax(axis=1), share=counts.max(axis=1) / max(1, neighbours.shape[1]))


def doubtful(
    log_probs: Float[np.ndarray, "n l"], gold: Int[np.ndarray, " n"], voted: Votes, confident: float
) -> Bool[np.ndarray, " n"]:
    """Whether each row's label is contradicted: the model gives another one with the probability *confident* or more,
    and more than half of its neighbours have that one, too."""
    said = log_probs.argmax(axis=1)
    sure = np.exp(log_probs.max(axis=1)) >= confident
    return (said != gold) & sure & (voted.label == said) & (voted.share > 0.5)
