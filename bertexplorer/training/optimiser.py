"""AdamW in parameter groups, and the schedule of the learning rate."""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi
from typing import Annotated, Any, Literal

import torch
from torch import nn

from bertexplorer.options import Option


@dataclass(frozen=True)
class Learning:
    """The optimiser's settings."""

    peak: Annotated[float, Option("Learning rate", 0.0, 1.0, "at its highest")] = 4e-4
    warmup: Annotated[float, Option("Warm-up", 0.0, 1.0, "share of the budget in which the rate rises")] = 0.02
    hold: Annotated[float, Option("Hold", 0.0, 1.0, "share of the budget at the peak, before it falls")] = 0.0
    decay: Annotated[Literal["linear", "cosine"], Option("Decay")] = "linear"
    final: Annotated[float, Option("Final rate", 0.0, 1.0, "as a share of the peak")] = 0.01
    weight_decay: Annotated[float, Option("Weight decay", 0.0, 1.0, "not on biases and norms")] = 0.01
    beta2: Annotated[float, Option("Beta 2", 0.0, 0.99999)] = 0.98
    clip: Annotated[float, Option("Gradient clipping", 0.0, 1e6, "maximum norm; 0: none")] = 1.0


def rate(share: float, learning: Learning) -> float:
    """The learning rate at *share* (0 to 1) of the budget: warm-up to the peak, hold, then decay to peak x final."""
    if share < learning.warmup:
        return learning.peak * share / learning.warmup
    decay_share = 1 - learning.warmup - learning.hold
    progress = 0.0  # of the decay
    if decay_share > 0:
        progress = min(1.0, max(0.0, (share - learning.warmup - learning.hold) / decay_share))
    left = 1 - progress if learning.decay == "linear" else (1 + cos(pi * progress)) / 2
    return learning.peak * (learning.final + (1 - learning.final) * left)


def adamw(
    modules: nn.Module, learning: Learning, scale: Callable[[str], float] = lambda name: 1.0
) -> torch.optim.AdamW:
    """AdamW (Loshchilov & Hutter, 2019) over all trainable parameters, without weight decay for those of one dimension.
    *scale*: name of a parameter -> factor on its learning rate."""
    groups: dict[tuple[float, bool], dict[str, Any]] = {}  # (factor on the rate, whether its weights decay) -> group
    for name, parameter in modules.named_parameters():
        if parameter.requires_grad:
            factor, decays = scale(name), parameter.ndim > 1
            decay = learning.weight_decay if decays else 0.0
            group = groups.setdefault((factor, decays), {"params": [], "weight_decay": decay, "scale": factor})
            group["params"].append(parameter)
    ordered = [groups[key] for key in sorted(groups, reverse=True)]
    return torch.optim.AdamW(ordered, lr=learning.peak, betas=(0.9, learning.beta2), eps=1e-6, fused=True)
