"""The rows of each batch: shuffled each epoch, grouped by length, then shuffled again; reproducible from the seed."""

from collections.abc import Callable, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
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
    """The steps over all *rows*, in batches of *batch* rows, *accumulate* of them in a step."""
    return ceil(ceil(rows / batch) / accumulate)


def step_schedule(
    lengths: Sequence[int], batch: int, accumulate: int, seed: int, order: Order = shuffled_batches
) -> Callable[[int], list[list[int]]]:
    """A function: number of a step, from 0 -> the row indices of each of its batches."""
    per_epoch = steps_per_epoch(len(lengths), batch, accumulate)

    @lru_cache(maxsize=2)
    def batches_of_epoch(epoch: int) -> list[list[int]]:
        return order(lengths, batch, seed, epoch)

    def batches_of_step(step: int) -> list[list[int]]:
        epoch, at = divmod(step, per_epoch)
        return batches_of_epoch(epoch)[at * accumulate : (at + 1) * accumulate]

    return batches_of_step


@dataclass
class OpenBatch:
    """A batch that rows are added to. *passages*, *answers*: those of all its rows."""

    rows: list[int] = field(default_factory=list)
    passages: set[str] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)


def batches_without_conflicts(
    passages: Sequence[AbstractSet[str]], answers: Sequence[AbstractSet[str]], order: Sequence[int], batch: int
) -> list[list[int]]:
    """Row indices in ⌈n / batch⌉ batches of similar size, in which no row's passage answers another row's query.
    *passages*: of each row; *answers*: every passage that answers its query, in any row. The rows of *order* go to the
    next batch where they fit; a row that fits in no batch is left out."""
    batches = [OpenBatch() for _ in range(ceil(len(order) / batch))]
    for number, row in enumerate(order):
        for i in range(len(batches)):
            candidate = batches[(number + i) % len(batches)]
            has_room = len(candidate.rows) < batch
            fits = candidate.passages.isdisjoint(answers[row]) and candidate.answers.isdisjoint(passages[row])
            if has_room and fits:
                candidate.rows.append(row)
                candidate.passages |= passages[row]
                candidate.answers |= answers[row]
                break
    return [candidate.rows for candidate in batches]
