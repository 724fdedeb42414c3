"""Weights and the optimiser's moments, written and restored for an exact resume."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bertexplorer.training.loop import State

MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def write(
    modules: nn.Module, optimiser: torch.optim.Optimizer, state: State, threads: int, folder: Path, **more: Any
) -> None:
    """Write training.safetensors with every trained parameter, and state.json with *state*, the machine and *more*."""
    tensors: dict[str, Tensor] = {}
    for name, parameter in modules.named_parameters():
        if not parameter.requires_grad:
            continue
        tensors[f"weight.{name}"] = parameter.detach()
        for moment in MOMENTS:
            if moment in optimiser.state.get(parameter, {}):
                tensors[f"{moment}.{name}"] = optimiser.state[parameter][moment]
    save_file({k: v.cpu().contiguous() for k, v in tensors.items()}, folder / "training.safetensors")
    held = asdict(state) | machine(threads) | {"more": more}
    (folder / "state.json").write_text(json.dumps(held), "utf-8")


def machine(threads: int) -> dict[str, Any]:
    """What must be equal for an exact resume."""
    return {"torch": torch.__version__, "threads": threads}


def read(
    modules: nn.Module, optimiser: torch.optim.Optimizer, threads: int, folder: Path
) -> tuple[State, dict[str, Any], list[str]]:
    """Restore what `write` saved. Returns the State, what else was saved, and what may make the resume inexact."""
    tensors = load_file(folder / "training.safetensors")
    with torch.no_grad():
        for name, parameter in modules.named_parameters():
            if f"weight.{name}" not in tensors:
                continue  # frozen, or a head that is new
            parameter.copy_(tensors[f"weight.{name}"])
            if f"exp_avg.{name}" in tensors:
                moments = {m: tensors[f"{m}.{name}"].to(parameter.device) for m in MOMENTS}
                optimiser.state[parameter] = moments
    held = json.loads((folder / "state.json").read_text("utf-8"))
    now = machine(threads)
    before = {key: held.pop(key) for key in now}
    changed = [f"{key} was {before[key]}, is {now[key]}" for key in now if before[key] != now[key]]
    more = held.pop("more", {})
    return State(**held), more, changed


def set_dropout(modules: nn.Module, share: float) -> None:
    """Dropout of *share* everywhere, attention weights included."""
    for module in modules.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        elif isinstance(getattr(module, "dropout", None), float):
            module.__dict__["dropout"] = share  # of Attention: a number
