"""A student: a checkpoint made of some layers of another one, from which distillation or pretraining starts."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.cache import LRUCache
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Encoder


def teacher_layers(layers: int, student_layers: int, selection: str) -> list[int]:
    """The teacher's layers (0-based) from which the student starts. With "spread", 6 of 12 layers are 0, 2, 4, 7, 9 and
    11, as in DistilBERT. Raises ExplorerError unless there are fewer than the teacher has."""
    count = student_layers or layers // 2
    if not 0 < count < layers:
        raise ExplorerError(
            f"A student of {count} layers was requested; the teacher has {layers}. Choose from 1 to {layers - 1}."
            if layers > 1
            else "The teacher has one layer; a student would need fewer. Choose a larger teacher."
        )
    if selection == "first" or count == 1:
        return list(range(count))
    return [round(i * (layers - 1) / (count - 1)) for i in range(count)]


def create_student(teacher: Checkpoint, layers: Sequence[int], heads: Sequence[str]) -> Checkpoint:
    """A copy of *teacher* with only *layers*, which include the first, and those of *heads* that it has."""
    kept_heads = {name: head for name, head in teacher.heads.items() if name in heads}
    modules = copy.deepcopy(
        nn.ModuleDict({"encoder": teacher.encoder, **kept_heads})
    )  # in one copy, so that shared weights stay shared
    encoder = cast(Encoder, modules.pop("encoder"))
    old, hf_config = teacher.config, dict(teacher.hf_config)
    hf_config["n_layers" if "n_layers" in hf_config else "num_hidden_layers"] = len(layers)
    if old.window:  # ModernBERT: which layers attend globally, by their new number
        kinds = ["sliding_attention" if old.is_local(i) else "full_attention" for i in layers]
        hf_config["layer_types"] = kinds
    global_ = tuple(new for new, i in enumerate(layers) if old.window and not old.is_local(i))
    config = replace(old, num_layers=len(layers), global_layers=global_)
    encoder.layers, encoder.config = nn.ModuleList(encoder.layers[i] for i in layers), config
    changes: dict[str, Any] = {
        "config": config,
        "encoder": encoder,
        "heads": dict(modules.items()),
        "hf_config": hf_config,
    }
    return replace(teacher, **changes, folder=Path(), cache=LRUCache())
