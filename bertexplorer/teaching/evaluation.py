"""How good a head is on sentences that it was not fitted on: one of each box is left out at a time, and the ridge is
chosen anew without them.

If one alone were left out, its own box would be the smaller one each time, and a head that knows nothing would always
name another. Equal sentences are left out together. With more than ONE_EACH different sentences in a box, PARTS parts
are left out in turn.
web/static/teach/evaluation.js computes the same; both are held to tests/cases/teaching.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bertexplorer.teaching.head import LinearHead, fit

RIDGES = (1.0, 0.1, 0.01, 0.001)
ONE_EACH = 30  # different sentences of a box, up to which one of each box is left out at a time
PARTS = 10  # in which more of them are left out
INNER = 4  # parts in which the ridge is chosen
LEAST = 1e-6  # of a probability, so that its logarithm is finite


class Fitted(NamedTuple):
    head: LinearHead
    ridge: float


def split(groups: Sequence[int], labels: Int[np.ndarray, " n"], parts: int) -> Int[np.ndarray, " n"]:
    """The part of each row. The *groups* of each box are dealt out in turn, so that each part has some of every box;
    rows of one group are in one part."""
    part_of: dict[int, int] = {}
    dealt: dict[int, int] = {}  # box -> groups that were dealt out
    for group, label in zip(groups, labels.tolist(), strict=True):
        if group not in part_of:
            part_of[group] = dealt.get(label, 0) % parts
            dealt[label] = dealt.get(label, 0) + 1
    return np.array([part_of[group] for group in groups])


def choose_ridge(
    vectors: Float[np.ndarray, "n d"], labels: Int[np.ndarray, " n"], groups: Sequence[int], boxes: int
) -> float:
    """Of RIDGES the one with the least log loss on rows that are left out, in INNER parts; of equal ones the first."""
    part = split(groups, labels, INNER)
    losses = []
    for ridge in RIDGES:
        loss = 0.0
        for left_out in np.unique(part):
            test = part == left_out
            if test.all():
                continue
            found = fit(vectors[~test], labels[~test], boxes, ridge).probabilities(vectors[test])
            loss -= float(np.log(np.maximum(found[np.arange(test.sum()), labels[test]], LEAST)).sum())
        losses.append(loss)
    return RIDGES[int(np.argmin(losses))]


def fit_with_ridge(
    vectors: Float[np.ndarray, "n d"], labels: Int[np.ndarray, " n"], groups: Sequence[int], boxes: int
) -> Fitted:
    """The head with the ridge that is best on rows that are left out. *groups*: rows that are equal have one number."""
    ridge = choose_ridge(vectors, labels, groups, boxes)
    return Fitted(fit(vectors, labels, boxes, ridge), ridge)


def left_out_in_turn(
    vectors: Float[np.ndarray, "n d"], labels: Int[np.ndarray, " n"], groups: Sequence[int], boxes: int
) -> Float[np.ndarray, "n k"]:
    """For each row the probabilities of a head that was fitted without it, with a ridge that was chosen without it."""
    one_each = split(groups, labels, len(labels))
    parts = int(one_each.max()) + 1  # as many as the largest box has different sentences
    part = one_each if parts <= ONE_EACH else split(groups, labels, PARTS)
    result = np.zeros((len(labels), boxes))
    for left_out in np.unique(part):
        test = part == left_out
        rest = [group for group, out in zip(groups, test.tolist(), strict=True) if not out]
        fitted = fit_with_ridge(vectors[~test], labels[~test], rest, boxes)
        result[test] = fitted.head.probabilities(vectors[test])
    return result
