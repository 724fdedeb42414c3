"""The base class of fine-tuning and pretraining runs: resume, commits and snapshots."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bertexplorer.model.precision import Precision, resolve
from bertexplorer.model.scheduler import available
from bertexplorer.training import epoch, weights
from bertexplorer.training.checkpointing import commit, newest
from bertexplorer.training.events import Event
from bertexplorer.training.loop import State


class RunDriver(ABC):
    """A run while it is computed in *folder*. *stop*: asks whether to end early; *threads*: 0 for all cores."""

    stretch = 0  # index of the stretch of training that is computed; a fine-tuning run has one

    def __init__(
        self,
        folder: Path,
        stop: Callable[[], bool],
        *,
        threads: int,
        precision: Precision,
        device: torch.device,
    ) -> None:
        self.folder, self.stop, self.device = folder, stop, device
        self.state = State()
        self.threads = threads or available()
        torch.set_num_threads(self.threads)
        self.bf16 = resolve(precision, device) == torch.bfloat16

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """Compute the run and say what happens."""

    def where(self) -> Event:
        """Stretch and step."""
        return {"stretch": self.stretch, "step": self.state.step}

    @property
    def name(self) -> str:
        """The folder of a commit or a snapshot at this step."""
        return f"step-{self.state.step:09d}"

    def newest_commit(self) -> Generator[Event, None, Path | None]:
        """Returns the newest whole commit, None if there is none; warns of each damaged one."""
        for path, wrong in newest(self.folder / "commits"):
            if not wrong:
                return path
            yield {"event": "warning", "text": f"commit {path.name} is damaged ({wrong}) and is skipped"}
        return None

    def resume(
        self, modules: nn.Module, optimiser: torch.optim.Optimizer, source: Path | None
    ) -> Generator[Event, None, dict[str, Any]]:
        """Restore weights, moments and state from the commit *source*, if there is one; a new stretch counts its budget
        from here. Returns what else the commit holds."""
        if source is None:
            yield {"event": "begun"}
            return {}
        self.state, more, changed = weights.read(modules, optimiser, self.threads, source)
        if new := self.state.stretch < self.stretch:
            now = self.state
            self.state = replace(now, stretch=self.stretch, begun_step=now.step, begun_seconds=now.seconds)
        yield {"event": "resumed", "commit": source.name} | ({"new_stretch": True} if new else {})
        if changed:
            yield {"event": "warning", "text": f"the resume may not be exact: {'; '.join(changed)}"}
        return more

    def committed(self, write: Callable[[Path], None], *, keep: int = 2) -> Event:
        """Have *write* fill a commit. The last *keep* commits are kept."""
        began = time.monotonic()
        epoch.check(self.folder)
        commit(self.folder / "commits", self.name, write, keep=keep)
        return {"event": "committed", "commit": self.name, "seconds": time.monotonic() - began}

    def snapshot(self, write: Callable[[Path], None]) -> Event:
        """Have *write* fill a snapshot, which is kept for good."""
        epoch.check(self.folder)
        commit(self.folder / "snapshots", self.name, write, keep=10**6)
        return {"event": "snapshot", "name": self.name}
