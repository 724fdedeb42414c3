"""A step's batches divided among threads and processes, whose gradients are summed once per step.

Each thread has one core and its own gradients. On a CPU this is faster than using all cores for each matrix product:
those wait for each other at every operator, and for other processes. The assignment to threads and the order of the
sums are fixed, so the result is repeatable bit for bit with the same number of threads."""

import copy
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from bertexplorer.errors import need
from bertexplorer.model.precision import best_device
from bertexplorer.training.objective import Batch, Loss, Objective
from bertexplorer.training.texts import OVERHEAD

T = TypeVar("T")


def is_secondary_process() -> bool:
    """Whether this is one of several processes, but not the main one, which alone writes files."""
    return int(os.environ.get("RANK", "0")) > 0


class Distributed:
    """The process as started by `accelerate launch`; otherwise a single process on the best device. Each method that
    sums or waits must be called by all processes."""

    def __init__(self) -> None:
        """Raises ExplorerError if accelerate is not installed."""
        need("train", "Fine-tuning")
        from accelerate import Accelerator

        self.accelerator = Accelerator(cpu=best_device().type == "cpu", mixed_precision="no")
        self.device: torch.device = self.accelerator.device
        self.count: int = self.accelerator.num_processes
        self.main: bool = self.accelerator.is_main_process

    def own_share(self, parts: Sequence[T]) -> list[T]:
        """The *parts* that this process computes."""
        return list(parts[self.accelerator.process_index :: self.count])

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its sum over all processes; a missing one counts as zero."""
        if self.count == 1:
            return
        for parameter in parameters:
            gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            parameter.grad = self.accelerator.reduce(gradient, "sum")

    def any(self, value: bool) -> bool:
        """Whether *value* is true in any process."""
        if self.count == 1:
            return value
        total: Tensor = self.accelerator.reduce(torch.tensor(float(value), device=self.device), "sum")
        return bool(total.item())

    def wait(self) -> None:
        """Until all processes are here."""
        self.accelerator.wait_for_everyone()


class Part(NamedTuple):
    """What a thread computes of a step."""

    replica: Objective[Any]
    batches: Sequence[Batch]
    counts: dict[str, int]  # name of a loss -> its terms in the whole step


class DataParallel:
    """*count* copies of an objective that share its weights but not their gradients."""

    def __init__(
        self,
        objective: Objective[Any],
        count: int,
        device: torch.device,
        *,
        bf16: bool,
        distributed: Distributed | None = None,
    ) -> None:
        self.objective = objective
        self.device = device
        self.bf16 = bf16
        self.distributed = distributed
        self.copies = [objective, *(copy_with_shared_weights(objective) for _ in range(count - 1))]
        self.pool = ThreadPoolExecutor(count) if count > 1 else None
        if device.type == "cuda":  # cuDNN compiles its attention for each new shape, and nearly every batch has one
            torch.backends.cuda.enable_cudnn_sdp(False)

    def gradients(self, batches: Sequence[Batch]) -> tuple[dict[str, int], list[dict[str, Loss]]]:
        """Add a step's gradient to the objective's parameters: each loss is the mean over all of *batches*. Returns the
        number of terms of each loss, by its name, and the losses of each batch, in the order of the threads; of several
        processes, those of this one."""
        # 1. What this process computes; the mean is over the batches of all
        counts = own_counts = self.term_counts(batches)
        if self.distributed and self.distributed.count > 1:
            batches = self.distributed.own_share(batches)
            own_counts = self.term_counts(batches)

        # 2. What each thread computes
        parts = []
        for replica, own in zip(self.copies, balanced_parts(batches, len(self.copies)), strict=True):
            parts.append(Part(replica, own, counts))
        if self.pool:
            losses = list(self.pool.map(self.backward, parts))
        else:
            losses = [self.backward(part) for part in parts]

        # 3. The sum
        for replica in self.copies[1:]:
            move_gradients(self.objective, replica)
        if self.distributed:
            self.distributed.sum_gradients(p for p in self.objective.modules.parameters() if p.requires_grad)
        return own_counts, [batch_losses for part_losses in losses for batch_losses in part_losses]

    def term_counts(self, batches: Sequence[Batch]) -> dict[str, int]:
        """Name of a loss -> its number of terms in *batches*."""
        counts: dict[str, int] = {}
        for batch in batches:
            for name, count in self.objective.counts(batch).items():
                counts[name] = counts.get(name, 0) + count
        return counts

    def backward(self, part: Part) -> list[dict[str, Loss]]:
        """Add the gradients of *part* to its copy of the objective. Returns the losses of each batch, by name."""
        objective = part.replica
        detached = []
        # Around all batches, so that weights are cast once
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            for batch in part.batches:
                losses = objective.losses(batch.to(self.device))
                terms = [objective.weights[name] * loss.total / part.counts[name] for name, loss in losses.items()]
                torch.stack(terms).sum().backward()
                detached.append({name: loss.detached() for name, loss in losses.items()})
        return detached


def copy_with_shared_weights(objective: Objective[Any]) -> Objective[Any]:
    """A copy whose parameters have the storage of those of *objective*."""
    replica = copy.deepcopy(objective)
    for ours, theirs in zip(objective.modules.parameters(), replica.modules.parameters(), strict=True):
        theirs.data = ours.data
    return replica


def balanced_parts(batches: Sequence[Batch], count: int) -> list[list[Batch]]:
    """The batches of each of *count* threads: largest batches first, each to the least loaded thread."""
    parts: list[list[Batch]] = [[] for _ in range(count)]
    loads = [0] * count
    for batch in sorted(batches, key=lambda b: -b.ids.numel()):
        least = loads.index(min(loads))
        parts[least].append(batch)
        loads[least] += batch.ids.numel() + OVERHEAD
    return parts


def move_gradients(target: Objective[Any], source: Objective[Any]) -> None:
    """Add the gradients of *source* to those of *target* and clear them."""
    for ours, theirs in zip(target.modules.parameters(), source.modules.parameters(), strict=True):
        if theirs.grad is not None:
            ours.grad = theirs.grad if ours.grad is None else ours.grad.add_(theirs.grad)
            theirs.grad = None
