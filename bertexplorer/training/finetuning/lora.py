"""LoRA (Hu et al., 2021) with peft: trains low-rank matrices added to queries and values; the weights stay fixed."""

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from bertexplorer.model.checkpoint import Checkpoint


def add(encoder: nn.Module, rank: int, seed: int) -> None:
    """Add the matrices, drawn with *seed*, to *encoder* and freeze everything else."""
    from peft import LoraConfig, inject_adapter_in_model

    config: Any = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["query", "value"])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        inject_adapter_in_model(config, encoder)


def merged(checkpoint: Checkpoint) -> Checkpoint:
    """A copy with the matrices merged into the weights, which any program can load."""
    whole = nn.ModuleDict({"encoder": checkpoint.encoder, **checkpoint.heads})
    if not any(hasattr(module, "lora_A") for module in whole.modules()):
        return checkpoint  # avoids importing peft, which takes seconds
    from peft.tuners.lora import LoraLayer

    whole = copy.deepcopy(whole)  # one copy, so that shared weights stay shared
    for module in list(whole.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, LoraLayer):
                child.merge()
                setattr(module, name, child.get_base_layer())
    encoder: Any = whole.pop("encoder")
    return replace(checkpoint, encoder=encoder, heads=dict(whole.items()))
