"""What a fine-tuning task is: a module of training/tasks with the names of Task, and the learner that it makes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.training.data.rows import Problem, Row
from bertexplorer.training.objective import Objective
from bertexplorer.training.texts import Item, TextBatch

Kind = Literal["text", "label", "labels", "number", "tokens", "tags", "answers", "feature"]


@dataclass(frozen=True)
class Column:
    """What a row needs, as a person reads it. *optional*: a file may lack it."""

    name: str
    label: str
    kind: Kind
    info: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Confusion:
    """How many examples of the label of a row were given the label of a column."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Evaluation:
    """How well a learner does. *rows*: per example its line, what was given, gold and predicted, as plain JSON;
    *tables*: more tables by their title, such as one row a class."""

    metrics: dict[str, float]
    rows: list[dict[str, Any]]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    confusion: Confusion | None = None


class Learner(Objective[Any], Protocol):
    """A checkpoint with a task's head: what the loop trains, what answers afterwards."""

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

    def collate(self, items: Sequence[Item]) -> TextBatch: ...

    def evaluate(self, examples: Sequence[Any]) -> Evaluation:
        """Metrics, among them "loss" (nats a decision)."""
        ...

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """What the playground shows for rows without their labels."""
        ...


class Task(Protocol):
    """A module of training/tasks."""

    TITLE: str
    ABOUT: str  # one sentence
    COLUMNS: tuple[Column, ...]
    METRIC: str  # the headline: a key of METRICS
    METRICS: dict[str, str]  # key -> words
    HIGHER: bool  # whether more of METRIC is better
    Options: type
    DEFAULTS: dict[str, Any]  # settings of Tuning that differ here

    def examples(self, rows: Sequence[Row], options: Any) -> tuple[list[Any], list[Problem]]:
        """What can be learnt from, and what is wrong with the other rows."""
        ...

    def learner(self, checkpoint: Checkpoint, train: Sequence[Any], options: Any, *, seed: int) -> Learner:
        """Heads that are lacking are drawn by *seed*."""
        ...

    def again(self, checkpoint: Checkpoint, described: dict[str, Any], tensors: Mapping[str, Tensor]) -> Learner:
        """A learner that was saved. *tensors*: of its extra parts."""
        ...

    def floors(self, train: Sequence[Any], dev: Sequence[Any], options: Any) -> dict[str, tuple[str, float]]:
        """Metric -> (name, value) of what is reached without learning."""
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
