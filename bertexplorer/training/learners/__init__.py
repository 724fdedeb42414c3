"""The learner of each task: head, batches, losses, metrics, answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.training.learner import Learner
    from bertexplorer.training.task import AnyTask


def learner_class(task: AnyTask) -> type[Learner]:
    """The class that learns *task*; imports torch."""
    module, _, name = task.learner.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)


def create(task: AnyTask, checkpoint: Checkpoint, train: Sequence[Any], options: Any, *, seed: int) -> Learner:
    """*checkpoint* with the head of *task*; new weights are drawn with *seed*. Raises ExplorerError for examples or a
    checkpoint that do not fit the task."""
    return learner_class(task).create(checkpoint, train, options, seed=seed)


def restore(task: AnyTask, checkpoint: Checkpoint, state: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Learner:
    """A saved learner. *state*: as its `state` returned it; *tensors*: the state dict of its extra parts."""
    return learner_class(task).restore(checkpoint, task.options(**state["options"]), state, tensors)
