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
    """The teacher's layers (0-based) from which the student starts. *student_layers*: 0 for half as many as the teacher
    has; *selection*: "spread" or "first". With "spread", 6 of 12 layers are 0, 2, 4, 7, 9 and
    11, as in DistilBERT. Raises ExplorerError unless there are fewer than the teacher has."""
    count = student_layers or layers // 2
    if layers == 1:
        raise ExplorerError("The teacher has one layer; a student would need fewer. Choose a larger teacher.")
    if not 0 < count < layers:
        raise ExplorerError(
            f"A student of {count} layers was requested; the teacher has {layers}. Choose from 1 to {layers - 1}."
        )
    if selection == "first" or count == 1:
        return list(range(count))
    return [round(i * (layers - 1) / (count - 1)) for i in range(count)]


def create_student(teacher: Checkpoint, layers: Sequence[int], heads: Sequence[str]) -> Checkpoint:
    """A copy of *teacher* with only *layers*, which include the first, and those of *heads* that it has."""
    # 1. The modules, in one copy, so that shared weights stay shared
    own_heads = {name: head for name, head in teacher.heads.items() if name in heads}
    modules = copy.deepcopy(nn.ModuleDict({"encoder": teacher.encoder, **own_heads}))
    encoder = cast(Encoder, modules.pop("encoder"))
    encoder.layers = nn.ModuleList(encoder.layers[i] for i in layers)

    # 2. Their configuration
    before, hf_config = teacher.config, dict(teacher.hf_config)
    hf_config["n_layers" if "n_layers" in hf_config else "num_hidden_layers"] = len(layers)
    global_layers: tuple[int, ...] = ()
    if before.window:  # ModernBERT: which layers attend globally, by their new number
        is_local = [before.is_local(i) for i in layers]
        hf_config["layer_types"] = ["sliding_attention" if local else "full_attention" for local in is_local]
        global_layers = tuple(new for new, local in enumerate(is_local) if not local)
    config = replace(before, num_layers=len(layers), global_layers=global_layers)
    encoder.config = config

    changes: dict[str, Any] = {
        "config": config,
        "encoder": encoder,
        "heads": dict(modules.items()),
        "hf_config": hf_config,
    }
    return replace(teacher, **changes, folder=Path(), cache=LRUCache())
