"""Where a run is computed: this process alone, or several on GPUs and machines that add up their gradients."""

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from bertexplorer.errors import need
from bertexplorer.model.precision import best_device

T = TypeVar("T")


def follows() -> bool:
    """Whether this is one of several processes, and not the one that writes."""
    return int(os.environ.get("RANK", "0")) > 0


class Distributed:
    """What `accelerate launch` says of this process; without it, the one process on the best device."""

    def __init__(self) -> None:
        need("train", "Fine-tuning")
        from accelerate import Accelerator

        self.accelerator = Accelerator(cpu=best_device().type == "cpu", mixed_precision="no")
        self.device: torch.device = self.accelerator.device
        self.count: int = self.accelerator.num_processes
        self.main: bool = self.accelerator.is_main_process

    def share(self, parts: Sequence[T]) -> list[T]:
        """Those of *parts* that this process computes."""
        return list(parts[self.accelerator.process_index :: self.count])

    def add(self, parameters: Iterable[nn.Parameter]) -> None:
        """Each gradient becomes the sum over all processes; one that a process lacks is zero there."""
        if self.count == 1:
            return
        for parameter in parameters:
            here = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            parameter.grad = self.accelerator.reduce(here, "sum")

    def any(self, asked: bool) -> bool:
        """Whether any process asks."""
        if self.count == 1:
            return asked
        told: Tensor = self.accelerator.reduce(torch.tensor(float(asked), device=self.device), "sum")
        return bool(told.item())

    def wait(self) -> None:
        self.accelerator.wait_for_everyone()
