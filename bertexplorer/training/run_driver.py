"""The base class of fine-tuning and pretraining runs: resume, commits, snapshots and the training state."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bertexplorer.model.precision import Precision, resolve
from bertexplorer.model.scheduler import available_cores
from bertexplorer.training import ownership
from bertexplorer.training.checkpointing import commit, newest_first
from bertexplorer.training.events import Event
from bertexplorer.training.loop import LoopState

MOMENTS = ("exp_avg", "exp_avg_sq", "step")  # of AdamW, for each parameter


class RunDriver(ABC):
    """A run while it is computed in *folder*. *stop*: whether to end early; *threads*: 0 for all cores."""

    stage = 0  # index of the current stage of training, saved as `stretch`; a fine-tuning run has only one

    def __init__(
        self,
        folder: Path,
        stop: Callable[[], bool],
        *,
        threads: int,
        precision: Precision,
        device: torch.device,
    ) -> None:
        self.folder = folder
        self.stop = stop
        self.device = device
        self.state = LoopState()
        self.threads = threads or available_cores()
        self.bf16 = resolve(precision, device) == torch.bfloat16

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """Compute the run, yielding its events as their further fields; a process adds time, stage and step."""

    def position(self) -> Event:
        """The stage and the step, which every event has."""
        return {"stretch": self.stage, "step": self.state.step}

    @property
    def name(self) -> str:
        """The folder of a commit or a snapshot at this step."""
        return f"step-{self.state.step:09d}"

    def newest_commit(self) -> Generator[Event, None, Path | None]:
        """Find the newest undamaged commit, None if there is none; warn of each damaged one."""
        for path, fault in newest_first(self.folder / "commits"):
            if not fault:
                return path
            yield {"event": "warning", "text": f"commit {path.name} is damaged ({fault}) and is skipped"}
        return None

    def resume(
        self, modules: nn.Module, optimiser: torch.optim.Optimizer, source: Path | None
    ) -> Generator[Event, None, dict[str, Any]]:
        """Restore weights, moments and state from the commit *source*, if there is one; a new stage counts its budget
        from here. Returns the further data in the commit, {} without one."""
        if source is None:
            yield {"event": "begun"}
            return {}
        saved = read_training_state(modules, optimiser, self.threads, source)
        self.state = saved.state
        event: Event = {"event": "resumed", "commit": source.name}
        if self.state.stretch < self.stage:
            step, seconds = self.state.step, self.state.seconds
            self.state = replace(self.state, stretch=self.stage, begun_step=step, begun_seconds=seconds)
            event["new_stretch"] = True
        yield event
        if saved.changed:
            yield {"event": "warning", "text": f"the resume may not be exact: {'; '.join(saved.changed)}"}
        return saved.more

    def write_commit(self, write: Callable[[Path], None], *, keep: int = 2) -> Event:
        """Have *write* fill a new commit. The last *keep* commits are kept. Raises Superseded if another process has
        taken over the run, and ExplorerError if the disk is full."""
        began = time.monotonic()
        ownership.check(self.folder)
        commit(self.folder / "commits", self.name, write, keep=keep)
        return {"event": "committed", "commit": self.name, "seconds": time.monotonic() - began}

    def write_snapshot(self, write: Callable[[Path], None]) -> Event:
        """Have *write* fill a snapshot, which is kept permanently. Raises as `write_commit` does."""
        ownership.check(self.folder)
        commit(self.folder / "snapshots", self.name, write, keep=10**6)
        return {"event": "snapshot", "name": self.name}


def write_training_state(
    modules: nn.Module, optimiser: torch.optim.Optimizer, state: LoopState, threads: int, folder: Path, **more: Any
) -> None:
    """Write into *folder* training.safetensors with every trained parameter and its moments, and state.json with
    *state*, the `environment` and *more*."""
    tensors: dict[str, Tensor] = {}
    for name, parameter in modules.named_parameters():
        if not parameter.requires_grad:
            continue
        tensors[f"weight.{name}"] = parameter.detach()
        for moment in MOMENTS:
            if moment in optimiser.state.get(parameter, {}):
                tensors[f"{moment}.{name}"] = optimiser.state[parameter][moment]
    on_cpu = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    save_file(on_cpu, folder / "training.safetensors")
    saved = asdict(state) | environment(threads) | {"more": more}
    (folder / "state.json").write_text(json.dumps(saved), "utf-8")


def environment(threads: int) -> dict[str, Any]:
    """The versions and settings that an exact resume needs to be equal."""
    return {"torch": torch.__version__, "threads": threads}


class SavedState(NamedTuple):
    """What a commit has besides the tensors."""

    state: LoopState
    more: dict[str, Any]  # further data, as it was given to `write_training_state`
    changed: list[str]  # differences between the machines that may make the resume inexact


def read_training_state(modules: nn.Module, optimiser: torch.optim.Optimizer, threads: int, folder: Path) -> SavedState:
    """Put what `write_training_state` saved into *modules* and *optimiser*. Returns the rest of it."""
    # 1. Weights and moments
    tensors = load_file(folder / "training.safetensors")
    with torch.no_grad():
        for name, parameter in modules.named_parameters():
            if f"weight.{name}" not in tensors:
                continue  # a frozen parameter, or a new head
            parameter.copy_(tensors[f"weight.{name}"])
            if f"exp_avg.{name}" in tensors:
                moments = {moment: tensors[f"{moment}.{name}"].to(parameter.device) for moment in MOMENTS}
                optimiser.state[parameter] = moments

    # 2. The state, and what differs
    saved = json.loads((folder / "state.json").read_text("utf-8"))
    current = environment(threads)
    changed = []
    for key, value in current.items():
        before = saved.pop(key)
        if before != value:
            changed.append(f"{key} was {before}, is {value}")
    more = saved.pop("more", {})
    return SavedState(LoopState(**saved), more, changed)


def set_dropout(modules: nn.Module, share: float) -> None:
    """Set the dropout to *share* everywhere, also of attention weights."""
    for module in modules.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        elif isinstance(getattr(module, "dropout", None), float):
            module.__dict__["dropout"] = share  # in Attention it is a number
