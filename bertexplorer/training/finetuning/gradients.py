"""Gradients and vectors of training rows, which TracIn compares."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from bertexplorer.engine.forward_mode import jvp
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.finetuning.trainable import set_trainable
from bertexplorer.training.learner import Traceable
from bertexplorer.training.texts import Item, by_length

CHUNK = 64  # rows whose vectors are in memory at once


def require_gradients(learner: Traceable, tuning: Tuning) -> None:
    """Enable gradients for the parameters that the run trained. LoRA matrices are merged into the weights of queries
    and values, so those are used instead."""
    if tuning.method != "lora":
        set_trainable(learner, tuning)
        return
    learner.modules.requires_grad_(True)
    encoder = learner.checkpoint.encoder.requires_grad_(False)
    for name, module in encoder.named_modules():
        if name.endswith((".query", ".value")):
            module.weight.requires_grad_(True)


def answer_gradient(learner: Traceable, items: Sequence[Item], scale: Callable[[str], float]) -> dict[str, Tensor]:
    """Name of a trained parameter -> the gradient of the summed `answer_losses` of *items*, times *scale*(name), its
    factor on the learning rate."""
    parameters = {name: parameter for name, parameter in learner.modules.named_parameters() if parameter.requires_grad}
    loss = learner.answer_losses(learner.collate(items).to(learner.checkpoint.device)).sum()
    gradients = torch.autograd.grad(loss, list(parameters.values()), materialize_grads=True)
    return {name: scale(name) * gradient for name, gradient in zip(parameters, gradients, strict=True)}


class RowLosses(nn.Module):
    """The losses of a batch as a module, whose parameters torch.func can replace."""

    def __init__(self, learner: Traceable) -> None:
        super().__init__()
        self.learner = learner
        self.parts = learner.modules  # which are registered under this name

    def forward(self, batch: Any) -> Float[Tensor, " b"]:
        return self.learner.row_losses(batch)


def directional_derivatives(
    learner: Traceable, items: Sequence[Item], direction: Mapping[str, Tensor]
) -> Generator[tuple[list[int], Float[np.ndarray, " b"]], None, None]:
    """The product of each item's gradient with *direction*, in batches: (indices of the items, their products). It is
    the derivative of the item's loss along *direction*, so one pass in forward mode gives those of a whole batch."""
    module = RowLosses(learner)
    values = {
        f"parts.{name}": tensor.detach() for name, tensor in learner.modules.named_parameters() if name in direction
    }
    tangents = {f"parts.{name}": tensor for name, tensor in direction.items()}
    for indices in by_length(items):
        batch = learner.collate([items[i] for i in indices]).to(learner.checkpoint.device)

        def losses(parameters: dict[str, Tensor], batch: Any = batch) -> Tensor:
            return functional_call(module, parameters, (batch,))

        yield indices, jvp(losses, (values,), (tangents,)).cpu().numpy()


def head_inputs(learner: Traceable, rows: Sequence[Sequence[Item]]) -> Iterator[list[Float[np.ndarray, "s d"]]]:
    """The head's inputs for the items of each row, row by row; those of CHUNK rows are computed at once."""
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        outputs = iter(learner.outputs([item for row in chunk for item in row]))
        yield from ([next(outputs) for _ in row] for row in chunk)


def mean_vectors(learner: Traceable, rows: Sequence[Sequence[Item]]) -> Float[np.ndarray, "n d"]:
    """The mean of the vectors of each row, over its windows if it has several."""
    vectors = []
    for inputs in head_inputs(learner, rows):
        windows = [window.mean(0) for window in inputs]
        vectors.append(np.mean(windows, axis=0))
    return np.stack(vectors)


def cosine_similarities(vector: Float[np.ndarray, " d"], others: Float[np.ndarray, "n d"]) -> list[float]:
    """The cosine of *vector* with each of *others*."""
    return list(others @ vector / (np.linalg.norm(others, axis=1) * np.linalg.norm(vector)))
