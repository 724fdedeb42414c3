"""What a pass through the encoder leaves behind, and the changes that can be made to it while it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Forward:
    """What one pass through the encoder leaves behind. Each tensor has a row for every token, t of them; those of the
    last layer have q where only some positions were asked for."""

    hidden: tuple[Float[Tensor, "b _ d"], ...]  # 1 + l of them; hidden[0] enters the first layer
    attention: tuple[Float[Tensor, "b h _ t"], ...] = ()  # l of them when asked for; rows (who looks) sum to 1
    head_outputs: tuple[Float[Tensor, "b h _ k"], ...] = ()  # l of them when asked for; before they are mixed

    @property
    def last(self) -> Float[Tensor, "b q d"]:
        return self.hidden[-1]


@dataclass(frozen=True)
class Intervention:
    """Changes made to a pass while it runs. Layers and heads are 0-based."""

    head_mask: Float[Tensor, "l h"] | None = None  # factor on each head's output; 0 turns the head off
    head_outputs: Mapping[tuple[int, int], Float[Tensor, "b _ k"]] = field(default_factory=dict)
    causal: bool = False  # each token sees itself and what stands to its left

    def apply(self, layer: int, context: Float[Tensor, "b h q k"]) -> Float[Tensor, "b h q k"]:
        if self.head_mask is not None:
            context = context * self.head_mask[layer][:, None, None].to(context)
        for (at, head), output in self.head_outputs.items():
            if at == layer:
                context = torch.cat([context[:, :head], output[:, None].to(context), context[:, head + 1 :]], dim=1)
        return context


NO_CHANGE = Intervention()
