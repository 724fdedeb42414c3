"""Where a run is computed: in one process, or in several on GPUs and machines that sum their gradients."""

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from bertexplorer.errors import need
from bertexplorer.model.precision import best_device

T = TypeVar("T")


def follows() -> bool:
    """Whether this is one of several processes and not the one that writes files."""
    return int(os.environ.get("RANK", "0")) > 0


class Distributed:
    """The process as started by `accelerate launch`; otherwise a single process on the best device."""

    def __init__(self) -> None:
        need("train", "Fine-tuning")
        from accelerate import Accelerator

        self.accelerator = Accelerator(cpu=best_device().type == "cpu", mixed_precision="no")
        self.device: torch.device = self.accelerator.device
        self.count: int = self.accelerator.num_processes
        self.main: bool = self.accelerator.is_main_process

    def share(self, parts: Sequence[T]) -> list[T]:
        """The *parts* that this process computes."""
        return list(parts[self.accelerator.process_index :: self.count])

    def add(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its sum over all processes; a missing one counts as zero."""
        if self.count == 1:
            return
        for parameter in parameters:
            here = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            parameter.grad = self.accelerator.reduce(here, "sum")

    def any(self, asked: bool) -> bool:
        """Whether *asked* is true in any process."""
        if self.count == 1:
            return asked
        stops: Tensor = self.accelerator.reduce(torch.tensor(float(asked), device=self.device), "sum")
        return bool(stops.item())

    def wait(self) -> None:
        self.accelerator.wait_for_everyone()
