"""The rows of each batch: shuffled each epoch, grouped by length, then shuffled again; reproducible from the seed."""

from collections.abc import Callable, Sequence, Set as AbstractSet
from functools import lru_cache
from math import ceil

import numpy as np

Order = Callable[[Sequence[int], int, int, int], list[list[int]]]  # lengths, batch, seed, epoch -> ⌈n / batch⌉ lists

POOL = 50  # batches' worth of rows that are sorted by length together
ORDER_STREAM = 3  # stream of random numbers


def shuffled_batches(lengths: Sequence[int], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """The row indices of each batch; every row once."""
    rng = np.random.default_rng([seed, ORDER_STREAM, epoch])
    order = rng.permutation(len(lengths))
    sizes = np.asarray(lengths)
    batches = []
    for start in range(0, len(order), POOL * batch):
        pool = order[start : start + POOL * batch]
        pool = pool[np.argsort(sizes[pool], kind="stable")]
        batches += [pool[i : i + batch].tolist() for i in range(0, len(pool), batch)]
    return [batches[i] for i in rng.permutation(len(batches))]


def steps_per_epoch(rows: int, batch: int, accumulate: int) -> int:
    return ceil(ceil(rows / batch) / accumulate)


def step_schedule(
    lengths: Sequence[int], batch: int, accumulate: int, seed: int, order: Order = shuffled_batches
) -> Callable[[int], list[list[int]]]:
    """A function from a step to the row indices of its batches."""
    per_epoch = steps_per_epoch(len(lengths), batch, accumulate)
    epochs = lru_cache(maxsize=2)(lambda epoch: order(lengths, batch, seed, epoch))

    def step(number: int) -> list[list[int]]:
        epoch, at = divmod(number, per_epoch)
        return epochs(epoch)[at * accumulate : (at + 1) * accumulate]

    return step


def batches_without_conflicts(
    passages: Sequence[AbstractSet[str]], answers: Sequence[AbstractSet[str]], order: Sequence[int], batch: int
) -> list[list[int]]:
    """Row indices in ⌈n / batch⌉ batches of similar size, in which no row's passage answers another row's query.
    *passages*: of each row; *answers*: every passage that answers its query, in any row. The rows of *order* go to the
    next batch where they fit; a row that fits in no batch is left out."""
    size = -(-len(order) // batch)
    rows: list[list[int]] = [[] for _ in range(size)]
    batch_passages: list[set[str]] = [set() for _ in range(size)]
    batch_answers: list[set[str]] = [set() for _ in range(size)]
    for number, row in enumerate(order):
        for index in ((number + i) % size for i in range(size)):
            fits = batch_passages[index].isdisjoint(answers[row]) and batch_answers[index].isdisjoint(passages[row])
            if fits and len(rows[index]) < batch:
                rows[index].append(row)
                batch_passages[index] |= passages[row]
                batch_answers[index] |= answers[row]
                break
    return rows
