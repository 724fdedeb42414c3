"""Linear probes: how rows are split, the labels of the control task, and one fit.

A probe is a logistic regression on frozen vectors (Alain and Bengio, 2017). The control task (Hewitt and Liang, 2019)
gives each type, a word or a sentence, a random label that all its rows share. Only a probe that remembers types can
solve it. So its held-out rows are drawn such that training has other rows of their types, whereas the rows of the task
are split by document.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bertexplorer.errors import ExplorerError

HELD_OUT = 0.25  # share of the documents that are held out
DRAWS = 200  # splits to try for one that has all labels in training
STRENGTH = 1.0  # C of the logistic regression, the inverse of its L2 penalty
STEPS = 1000  # of the optimiser at most


@dataclass(frozen=True)
class Fit:
    """A probe's predictions for the held-out rows."""

    probabilities: Float[np.ndarray, "held labels"]
    converged: bool


@contextmanager
def quiet_single_thread() -> Iterator[None]:
    """A block of many fits, each in one thread. `Fit.converged` takes the place of warnings."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():  # more threads would wait for those of other callers
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def held_out_rows(labels: Int[np.ndarray, " n"], documents: Sequence[str], seed: int) -> Bool[np.ndarray, " n"]:
    """The rows that are held out: those of a random quarter of the documents. Of DRAWS splits with this seed, the first
    that has every label on both sides, else the first that has every label in training. Raises ExplorerError if there
    is none."""
    from sklearn.model_selection import GroupShuffleSplit

    all_labels = set(labels.tolist())
    fallback = None
    for _, test in GroupShuffleSplit(DRAWS, test_size=HELD_OUT, random_state=seed).split(labels, groups=documents):
        held_out = np.zeros(len(labels), dtype=bool)
        held_out[test] = True
        if set(labels[~held_out].tolist()) != all_labels:
            continue
        if set(labels[held_out].tolist()) == all_labels:
            return held_out
        if fallback is None:
            fallback = held_out
    if fallback is None:
        raise ExplorerError(
            "The documents cannot be split so that training has every label. Give each label more documents."
        )
    return fallback


def control_labels(labels: Int[np.ndarray, " n"], types: Sequence[str], seed: int) -> Int[np.ndarray, " n"]:
    """A random label for each type, the same for all its rows. Over the types the labels are distributed as *labels*
    are over the rows."""
    names = sorted(set(types))
    quantiles = ((np.arange(len(names)) + 0.5) / len(names) * len(labels)).astype(int)
    drawn = np.random.default_rng(seed).permutation(np.sort(labels)[quantiles])
    label_by_type = dict(zip(names, drawn.tolist(), strict=True))
    return np.array([label_by_type[name] for name in types])


def control_held_out_rows(types: Sequence[str], count: int, seed: int) -> Bool[np.ndarray, " n"]:
    """*count* random rows to hold out of the control task: first those whose type keeps a row in training, then, if
    there are too few, any."""
    order = np.random.default_rng(seed).permutation(len(types)).tolist()
    left = Counter(types)
    held_out = np.zeros(len(types), dtype=bool)
    for i in order:
        if left[types[i]] > 1 and held_out.sum() < count:
            left[types[i]] -= 1
            held_out[i] = True
    remaining = [i for i in order if not held_out[i]]
    held_out[remaining[: count - int(held_out.sum())]] = True
    return held_out


def fit(
    vectors: Float[np.ndarray, "n d"], labels: Int[np.ndarray, " n"], held_out: Bool[np.ndarray, " n"], count: int
) -> Fit:
    """Train on the rows that are not held out and answer the others; *labels* are 0 to *count* - 1. Each number of the
    vectors is scaled to mean 0 and deviation 1 in training."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    probabilities = np.zeros((int(held_out.sum()), count))
    trained_labels = np.unique(labels[~held_out])
    if len(trained_labels) == 1:  # of a control task with few types
        probabilities[:, trained_labels[0]] = 1
        return Fit(probabilities, converged=True)
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=STEPS))
    probe.fit(vectors[~held_out], labels[~held_out])
    probabilities[:, trained_labels] = probe.predict_proba(vectors[held_out])
    return Fit(probabilities, converged=int(probe[-1].n_iter_.max()) < STEPS)
