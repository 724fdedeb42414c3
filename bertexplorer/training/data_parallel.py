"""A step's batches divided among threads, each on one core with its own gradients, which are summed once per step.

On a CPU this is faster than using all cores for each matrix product: those wait for each other at every operator, and
for other processes. The assignment to threads and the order of the sums are fixed, so the result is repeatable bit for
bit with the same number of threads."""

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import torch

from bertexplorer.training.objective import Batch, Loss, Objective
from bertexplorer.training.texts import OVERHEAD

if TYPE_CHECKING:
    from bertexplorer.training.distributed import Distributed


class DataParallel:
    """*count* copies of an objective that share its weights but not their gradients."""

    def __init__(
        self,
        objective: Objective[Any],
        count: int,
        device: torch.device,
        *,
        bf16: bool,
        placement: "Distributed | None" = None,
    ) -> None:
        self.objective, self.device, self.bf16, self.placement = objective, device, bf16, placement
        self.copies = [objective, *(twin(objective) for _ in range(count - 1))]
        self.pool = ThreadPoolExecutor(count) if count > 1 else None

    def gradients(self, batches: Sequence[Batch]) -> tuple[dict[str, int], list[dict[str, Loss]]]:
        """Add a step's gradient to the objective's parameters: each loss is the mean over all of *batches*. Returns the
        number of terms of each loss and the losses of each batch."""
        counts = own = self.counted(batches)
        if self.placement and self.placement.count > 1:  # each process computes its share; the mean is over all
            batches = self.placement.share(batches)
            own = self.counted(batches)
        parts = [(one, part, counts) for one, part in zip(self.copies, share(batches, len(self.copies)), strict=True)]
        found = list(self.pool.map(self.work, parts)) if self.pool else [self.work(part) for part in parts]
        for other in self.copies[1:]:
            add(self.objective, other)
        if self.placement:
            self.placement.add(p for p in self.objective.modules.parameters() if p.requires_grad)
        return own, [losses for part in found for losses in part]

    def counted(self, batches: Sequence[Batch]) -> dict[str, int]:
        """The number of terms of each loss in *batches*."""
        counts: dict[str, int] = {}
        for batch in batches:
            for task, count in self.objective.counts(batch).items():
                counts[task] = counts.get(task, 0) + count
        return counts

    def work(self, given: tuple[Objective[Any], Sequence[Batch], dict[str, int]]) -> list[dict[str, Loss]]:
        objective, batches, counts = given
        found = []
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):  # one: weights are cast once
            for batch in batches:
                losses = objective.losses(batch.to(self.device))
                parts = [objective.weights[task] * loss.total / counts[task] for task, loss in losses.items()]
                torch.stack(parts).sum().backward()
                found.append({task: loss.detached() for task, loss in losses.items()})
        return found


def twin(objective: Objective[Any]) -> Objective[Any]:
    """A copy that shares the weights."""
    made = copy.deepcopy(objective)
    for ours, theirs in zip(objective.modules.parameters(), made.modules.parameters(), strict=True):
        theirs.data = ours.data
    return made


def share(batches: Sequence[Batch], count: int) -> list[list[Batch]]:
    """Largest batches first, each to the least loaded thread."""
    parts: list[list[Batch]] = [[] for _ in range(count)]
    loads = [0] * count
    for batch in sorted(batches, key=lambda b: -b.ids.numel()):
        least = loads.index(min(loads))
        parts[least].append(batch)
        loads[least] += batch.ids.numel() + OVERHEAD
    return parts


def add(into: Objective[Any], other: Objective[Any]) -> None:
    """Move the gradients of *other* into those of *into*."""
    for ours, theirs in zip(into.modules.parameters(), other.modules.parameters(), strict=True):
        if theirs.grad is not None:
            ours.grad = theirs.grad if ours.grad is None else ours.grad.add_(theirs.grad)
            theirs.grad = None
