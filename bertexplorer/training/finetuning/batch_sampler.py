"""The order in which rows are seen: shuffled each epoch by the seed, like lengths together, then shuffled again."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

Order = Callable[[Sequence[int], int, int, int], list[list[int]]]  # lengths, batch, seed, epoch -> ⌈n / batch⌉ lists

POOL = 50  # batches that are sorted by length together
ORDER = 3  # stream of random numbers


def epoch_of(lengths: Sequence[int], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """Numbers of the rows, a list for each batch; every row once."""
    draw = np.random.default_rng([seed, ORDER, epoch])
    order = draw.permutation(len(lengths))
    size = np.asarray(lengths)
    found = []
    for start in range(0, len(order), POOL * batch):
        pool = order[start : start + POOL * batch]
        pool = pool[np.argsort(size[pool], kind="stable")]
        found += [pool[i : i + batch].tolist() for i in range(0, len(pool), batch)]
    return [found[i] for i in draw.permutation(len(found))]


def steps_of(
    lengths: Sequence[int], batch: int, accumulate: int, seed: int, order: Order = epoch_of
) -> tuple[int, Callable[[int], list[list[int]]]]:
    """(steps an epoch, a step's number -> the rows of its batches)."""
    batches = -(-len(lengths) // batch)
    per_epoch = -(-batches // accumulate)
    epochs = lru_cache(maxsize=2)(lambda epoch: order(lengths, batch, seed, epoch))

    def step(number: int) -> list[list[int]]:
        epoch, at = divmod(number, per_epoch)
        return epochs(epoch)[at * accumulate : (at + 1) * accumulate]

    return per_epoch, step
