"""What the loop trains: an objective, its batches and its losses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


class Batch(Protocol):
    """Examples as tensors. Further fields are known to its objective only."""

    @property
    def ids(self) -> Tensor:
        """Int[b t], padding included."""
        ...

    @property
    def tokens(self) -> int:
        """Without padding."""
        ...

    def to(self, device: torch.device) -> Self: ...


@dataclass(frozen=True, eq=False)
class Loss:
    """One loss of a batch: the sum of its terms in nats, their number, and the number of correct answers."""

    total: Float[Tensor, ""]
    count: int
    right: Int[Tensor, ""] | Float[Tensor, ""]

    def detached(self) -> "Loss":
        return Loss(self.total.detach(), self.count, self.right)


Anything = TypeVar("Anything", bound=Batch, contravariant=True)


class Objective(Protocol[Anything]):
    """What the loop trains. A step's loss is the sum over tasks of weight x mean over all of the step's batches."""

    @property
    def weights(self) -> Mapping[str, float]:
        """Task -> weight."""
        ...

    @property
    def modules(self) -> nn.ModuleDict: ...

    def counts(self, batch: Anything) -> dict[str, int]:
        """The number of terms of each loss in *batch*, without a forward pass."""
        ...

    def losses(self, batch: Anything) -> dict[str, Loss]: ...


def cross_entropy(logits: Float[Tensor, "m v"], targets: Int[Tensor, " m"]) -> Loss:
    """Summed in fp32, whatever the dtype of the logits."""
    logits = logits.float()
    right = correct(logits.detach(), targets).sum()
    return Loss(F.cross_entropy(logits, targets, reduction="sum"), len(targets), right)


def correct(logits: Float[Tensor, "m v"], targets: Int[Tensor, " m"]) -> Bool[Tensor, " m"]:
    """Whether the target has the highest logit; a tie counts. Faster than argmax."""
    return logits.amax(-1) == logits.gather(-1, targets[:, None]).squeeze(-1)
