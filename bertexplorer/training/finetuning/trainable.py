"""Which parameters are trained and how fast: all, the head alone, the upper layers, or LoRA matrices."""

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.config import EncoderConfig
from bertexplorer.training.finetuning.spec import Tuning, learning_rate
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.optimiser import Learning
from bertexplorer.training.texts import Item, by_length, forward


def set_trainable(learner: Learner, tuning: Tuning) -> None:
    """Set requires_grad of each parameter of *learner*; for LoRA, add its matrices. Raises ExplorerError if nothing
    would be trained, and if layers that share their weights would learn differently."""
    encoder, layers = learner.checkpoint.encoder, learner.checkpoint.config.num_layers
    if learner.checkpoint.config.shared_layers and (tuning.frozen_layers or tuning.layer_decay < 1):
        raise ExplorerError(
            "ALBERT's layers share their weights, so none can be frozen or slowed down alone. Set frozen layers to "
            "0 and layer decay to 1."
        )
    learner.modules.requires_grad_(True)
    if tuning.method == "lora":
        encoder.requires_grad_(False)
        add_lora(encoder, tuning.rank, tuning.seed)
    elif tuning.method == "frozen":
        encoder.requires_grad_(False)
    elif tuning.frozen_layers:
        if tuning.frozen_layers > layers:
            raise ExplorerError(f"{tuning.frozen_layers} layers cannot be frozen; the checkpoint has {layers}.")
        encoder.embeddings.requires_grad_(False)
        for layer in encoder.layers[: tuning.frozen_layers]:
            layer.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in learner.modules.parameters()):
        raise ExplorerError(
            "With a frozen encoder there is nothing left to train here. Train all weights, or use LoRA."
        )


def learning_schedule(tuning: Tuning, config: EncoderConfig, steps: int) -> Learning:
    """The schedule of the learning rate over *steps*: warm-up, then decay to 0."""
    return Learning(
        peak=learning_rate(tuning, config, steps),
        warmup=tuning.warmup,
        decay=tuning.decay,
        final=0.0,
        weight_decay=tuning.weight_decay,
        beta2=0.999,
        clip=tuning.clip,
    )


def rate_scale(tuning: Tuning, config: EncoderConfig) -> Callable[[str], float]:
    """A function: name of a parameter -> its learning rate relative to the head's, which is layer_decay once for each
    layer above it (Clark et al., 2020)."""

    def scale(name: str) -> float:
        if name.startswith("encoder.embeddings."):
            return tuning.layer_decay ** (config.num_layers + 1)
        if name.startswith("encoder.layers."):
            return tuning.layer_decay ** (config.num_layers - int(name.split(".")[2]))
        return 1.0

    return scale


def frozen_vectors(learner: Learner, items: Sequence[Item], folder: Path) -> list[Item]:
    """The items with the outputs of the frozen encoder, computed once and cached in *folder*; only of the first token
    if the head reads no other."""
    # 1. Where the vectors of each item are in the file
    sizes = [1 if learner.first_only else len(item.ids) for item in items]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    folder.mkdir(exist_ok=True)
    path, shape = folder / "vectors.npy", (int(starts[-1]), learner.checkpoint.config.hidden_size)

    # 2. The file, unless an earlier start has written it
    cached = np.load(path, mmap_mode="r") if path.is_file() else None
    if cached is None or cached.shape != shape:
        partial = folder / f"partial-{os.environ.get('RANK', '0')}.npy"  # each process of several writes its own
        vectors = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float32, shape=shape)
        device = learner.checkpoint.device
        with evaluation_mode(learner):
            for indices in by_length(items):
                batch = learner.collate([items[i] for i in indices]).to(device)
                last = forward(learner.checkpoint.encoder, batch.ids, batch.segments, batch.mask).float().cpu().numpy()
                for row, i in enumerate(indices):
                    vectors[starts[i] : starts[i + 1]] = last[row, : sizes[i]]
        vectors.flush()
        partial.replace(path)
        cached = np.load(path, mmap_mode="r")

    # 3. The items with their vectors
    return [replace(item, vectors=cached[starts[i] : starts[i + 1]]) for i, item in enumerate(items)]


def add_lora(encoder: nn.Module, rank: int, seed: int) -> None:
    """Add low-rank matrices to queries and values and freeze everything else (LoRA: Hu et al., 2021, with peft).
    *seed*: of the random start."""
    from peft import LoraConfig, inject_adapter_in_model

    config: Any = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["query", "value"])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        inject_adapter_in_model(config, encoder)


def merge_lora(checkpoint: Checkpoint) -> Checkpoint:
    """A copy with the LoRA matrices merged into the weights, which any program can load; the same checkpoint if it has
    none."""
    modules = nn.ModuleDict({"encoder": checkpoint.encoder, **checkpoint.heads})
    if not any(hasattr(module, "lora_A") for module in modules.modules()):
        return checkpoint  # avoids importing peft, which takes seconds
    from peft.tuners.lora import LoraLayer

    modules = copy.deepcopy(modules)  # one copy, so that shared weights stay shared
    for module in list(modules.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, LoraLayer):
                child.merge()
                setattr(module, name, child.get_base_layer())
    encoder: Any = modules.pop("encoder")
    return replace(checkpoint, encoder=encoder, heads=dict(modules.items()))
