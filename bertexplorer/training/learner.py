"""A learner: a checkpoint with a task's head, which the loop trains and which answers afterwards."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import nn

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.training.objective import Objective
from bertexplorer.training.task import Evaluation
from bertexplorer.training.texts import Item


class Learner(Objective[Any], Protocol):
    """A checkpoint with a task's head: what the loop trains, what answers afterwards. One that minds which rows stand
    together in a batch has the method order (finetuning/order.Order) too."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The encoder and all heads that transformers knows; shares its modules with those that are trained."""
        ...

    @property
    def extra(self) -> nn.ModuleDict:
        """Trained parts that transformers has no place for; they are kept in a file of their own."""
        ...

    bf16: bool  # whether it answers in bf16, as it is trained

    @property
    def first_only(self) -> bool:
        """Whether the head reads nothing but the vector of the first token."""
        ...

    def limit(self, max_tokens: int) -> None:
        """Read no more than so many tokens of a text."""
        ...

    def described(self) -> dict[str, Any]:
        """What `again` needs beside the weights, as JSON."""
        ...

    def read(self, examples: Sequence[Any]) -> list[Item]:
        """The examples as ids with their targets."""
        ...

    def collate(self, items: Sequence[Item]) -> Any:
        """A batch: ids, tokens and to(device) are what the loop asks for."""
        ...

    def evaluate(self, examples: Sequence[Any]) -> Evaluation:
        """Metrics, among them "loss" (nats a decision)."""
        ...

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """What the playground shows for rows without their labels."""
        ...


@contextmanager
def resting(learner: Learner) -> Iterator[None]:
    """No dropout, no gradients, and the modes and random numbers as before when it is over."""
    modes = {module: module.training for module in learner.modules.modules()}
    learner.modules.eval()
    try:
        device = learner.checkpoint.device
        with (
            torch.no_grad(),
            torch.random.fork_rng(),
            torch.autocast(device.type, torch.bfloat16, enabled=learner.bf16),
        ):
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode
