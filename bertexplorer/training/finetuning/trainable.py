"""Which parameters are trained and how fast: all, the head alone, the upper layers, or LoRA matrices."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bertexplorer.errors import ExplorerError
from bertexplorer.model.config import EncoderConfig
from bertexplorer.training.finetuning import lora
from bertexplorer.training.finetuning.spec import Tuning, rate_of
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.optimiser import Learning
from bertexplorer.training.texts import Item, by_length, run


def prepare(learner: Learner, tuning: Tuning) -> None:
    """Set requires_grad of each parameter. Raises ExplorerError if nothing would be trained, or if layers that are one
    should learn differently."""
    encoder, layers = learner.checkpoint.encoder, learner.checkpoint.config.num_layers
    if learner.checkpoint.config.shared_layers and (tuning.frozen_layers or tuning.layer_decay < 1):
        raise ExplorerError(
            "ALBERT's layers are one layer, so none can be frozen or slowed down alone. Set frozen layers to 0 and "
            "layer decay to 1."
        )
    learner.modules.requires_grad_(True)
    if tuning.method == "lora":
        encoder.requires_grad_(False)
        lora.add(encoder, tuning.rank, tuning.seed)
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


def learning_of(tuning: Tuning, config: EncoderConfig) -> Learning:
    """The schedule of the learning rate: warm-up, then decay to 0."""
    return Learning(
        peak=rate_of(tuning, config),
        warmup=tuning.warmup,
        decay=tuning.decay,
        final=0.0,
        weight_decay=tuning.weight_decay,
        beta2=0.999,
        clip=tuning.clip,
    )


def scale_of(tuning: Tuning, config: EncoderConfig) -> Callable[[str], float]:
    """The learning rate of a parameter relative to the head's: layer_decay once for each layer above it (Clark et al.,
    2020)."""

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
    size = learner.checkpoint.config.hidden_size
    rows = [1 if learner.first_only else len(item.ids) for item in items]
    starts = np.concatenate([[0], np.cumsum(rows)])
    folder.mkdir(exist_ok=True)
    path, shape = folder / "vectors.npy", (int(starts[-1]), size)
    whole = np.load(path, mmap_mode="r") if path.is_file() else None
    if whole is None or whole.shape != shape:
        aside = folder / "partial.npy"
        made = np.lib.format.open_memmap(aside, mode="w+", dtype=np.float32, shape=shape)
        device = learner.checkpoint.device
        with evaluation_mode(learner):
            for part in by_length(items):
                batch = learner.collate([items[i] for i in part]).to(device)
                last = run(learner.checkpoint.encoder, batch.ids, batch.segments, batch.mask).float().cpu().numpy()
                for row, i in enumerate(part):
                    made[starts[i] : starts[i + 1]] = last[row, : rows[i]]
        made.flush()
        aside.replace(path)
        whole = np.load(path, mmap_mode="r")
    return [replace(item, vectors=whole[starts[i] : starts[i + 1]]) for i, item in enumerate(items)]
