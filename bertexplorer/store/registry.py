"""The registry: finds a checkpoint by name, loads it once, shares it, and drops the least recently used."""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bertexplorer.errors import ExplorerError
from bertexplorer.model.scheduler import ComputeScheduler
from bertexplorer.settings import Settings
from bertexplorer.store import convert, hub, memory, runs, training_snapshots
from bertexplorer.store.catalogue import BUNDLED, BY_NAME, CATALOGUE, series_of
from bertexplorer.store.examine import examine

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

PRECISIONS = ("auto", "fp32", "bf16")
DEFAULT = Settings()
MAX_NAME = 500  # characters of a checkpoint's name


class CheckpointRegistry:
    """All checkpoints of one app. Safe to call from many threads. Torch is imported at the first load."""

    def __init__(
        self, settings: Settings = DEFAULT, *, anywhere: bool = False, shared: bool = False, cores: int = 0
    ) -> None:
        """*anywhere*: folders outside the models folder are allowed too; for the command line, not for the page.
        *shared*: many people use it at once, so the number of threads of a pass depends on who else computes.
        *cores*: that it may use, 0 for those of this process."""
        self.settings = settings
        self.anywhere = anywhere
        self.loaded: OrderedDict[tuple[str, str], Checkpoint] = OrderedDict()
        self.lock = threading.Lock()
        self.scheduler = ComputeScheduler(cores, threads=shared)
        self.owner: str | None = None  # None: the operator, who may open every run
        self.owned: Callable[[str], set[str]] | None = None  # owner -> ids of the runs that they may open
        self.loading: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)

    def of(self, owner: str) -> "CheckpointRegistry":
        """The same checkpoints for *owner*, with the runs of that owner only."""
        made = copy(self)
        made.owner = owner
        return made

    def opens(self, name: str) -> bool:
        """Whether this owner may open the run that run:ID… names. Runs of other owners are reported as missing."""
        id = name.removeprefix("run:").partition("@")[0]
        return self.owner is None or self.owned is None or id in self.owned(self.owner)

    def get(self, name: str, precision: str = "auto") -> "Checkpoint":
        """The checkpoint called *name*, which is loaded at the first call. Raises ExplorerError if it is not on this
        disk (`fetch` it first) or cannot be used."""
        if precision not in PRECISIONS:
            raise ExplorerError(f"Precision {precision!r} is not known; wanted one of {', '.join(PRECISIONS)}.")
        name = name.strip()
        folder = self.find(name)
        if folder is None and name.startswith("run:"):
            raise ExplorerError(
                "This run is not here. It was deleted, or it belongs to another browser: a run opens in the one that "
                "started it. Choose another checkpoint."
            )
        if folder is None:
            message = f"{name} is not on this disk. Available offline: {', '.join(self.offline())}."
            raise ExplorerError(message, missing="checkpoint")
        from bertexplorer.model.precision import NAMES, best_device, resolve

        key = (str(folder), NAMES[resolve(precision, best_device())])  # type: ignore[arg-type]
        return self.once(key, lambda: self.read(folder, name, precision, key[1]))

    def read(self, folder: Path, name: str, precision: str, width: str) -> "Checkpoint":
        """The checkpoint in *folder*, if its weights fit into memory. *width*: what *precision* means on this
        machine."""
        from bertexplorer.model.load import load

        ours = (BUNDLED, (self.settings.data_dir / "runs").resolve())
        if not any(folder.resolve().is_relative_to(one) for one in ours):
            folder = convert.readable(name, folder, self.settings.data_dir, allowed=self.settings.converts)
            examine(name, folder, self.settings.data_dir)
        with self.lock:
            missing = memory.missing_bytes(name, folder, width, sum(c.num_bytes for c in self.loaded.values()))
            while missing > 0 and self.loaded:
                missing -= self.loaded.popitem(last=False)[1].num_bytes
        return load(folder, name=name, precision=precision, frozen=True)  # type: ignore[arg-type]

    def control(self, name: str, precision: str = "auto") -> "Checkpoint":
        """A checkpoint with the shape, tokenizer and heads of *name* but random weights, the same every time, in fp32.

        What it shows too comes from the architecture, not from training."""
        real = self.get(name, precision)

        from bertexplorer.model.initialise import random_copy

        return self.once((str(real.folder), "random"), lambda: random_copy(replace(real, name=name)))

    def once(self, key: tuple[str, str], make: "Callable[[], Checkpoint]") -> "Checkpoint":
        """The loaded checkpoint of *key*, made by one caller while others wait for it."""
        with self.lock:
            gate = self.loading[key]  # after find, so that mistyped names leave nothing behind
        with gate:
            with self.lock:
                if key in self.loaded:
                    self.loaded.move_to_end(key)
                    return self.loaded[key]
            checkpoint = make()
            checkpoint = replace(checkpoint, scheduler=self.scheduler)
            checkpoint.cache.limit = self.settings.cache_mb * 1_000_000
            with self.lock:
                self.loaded[key] = checkpoint
                self.drop()
            return checkpoint

    def drop(self) -> None:
        """Drop the least recently used checkpoints until the rest fits the budget. The newest always stays."""
        while len(self.loaded) > 1 and sum(c.num_bytes for c in self.loaded.values()) > self.settings.memory_mb * 1e6:
            self.loaded.popitem(last=False)

    def trained(self) -> list[tuple[str, str]]:
        """(title, name) of the checkpoints that runs have saved here, newest first."""
        whose = None if self.owner is None or self.owned is None else self.owned(self.owner)
        return runs.trained(self.settings.data_dir / "runs", whose)

    def called(self, name: str) -> str:
        """What people call the checkpoint *name*. For a checkpoint of a run, this contains the run's current name."""
        return next((saved.label for saved in self.series(name) if saved.name == name), name)

    def series(self, name: str) -> list[runs.Saved]:
        """The checkpoints of the training that *name* belongs to, in order; none if it belongs to no training."""
        if name.startswith("run:") and not self.opens(name):
            return []
        if published := series_of(name):
            size = max(BY_NAME[one].megabytes for one in published if one in BY_NAME)
            places = {one: hub.cached(one) for one in published}
            return [
                runs.Saved(one, label, places[one] or Path(), 0.0 if places[one] else size)
                for one, label in published.items()
            ]
        return training_snapshots.series(name) or runs.series(self.settings.data_dir / "runs", name)

    def find(self, name: str) -> Path | None:
        """The folder of *name*: bundled, in the models folder, or already downloaded. None if it must be fetched.

        Raises ExplorerError for a path outside the models folder and for text that cannot be a name."""
        name = name.strip()
        if not name:
            raise ExplorerError("No checkpoint is chosen. Pick one from the list, or type a hub name.")
        if not name.isprintable() or len(name) > MAX_NAME:
            fault = (
                "holds a character that cannot be seen" if len(name) <= MAX_NAME else f"has {len(name):,} characters"
            )
            raise ExplorerError(f"The checkpoint name {fault}. Type a hub name, at most {MAX_NAME} characters long.")
        if name.startswith("run:"):
            return runs.find(self.settings.data_dir / "runs", name) if self.opens(name) else None
        if bundled := training_snapshots.find(name):
            return bundled
        if any(entry.name == name for entry in CATALOGUE) and (BUNDLED / name / "config.json").is_file():
            return BUNDLED / name
        try:
            folder = self.local(name)
        except (OSError, RuntimeError) as error:  # a part is too long, access is denied, or ~ names an unknown user
            raise ExplorerError(f"The folder {name} cannot be opened: {error}. Choose another one.") from error
        if folder is not None:
            return folder
        hub.check_name(name)
        return hub.cached(name)

    def local(self, name: str) -> Path | None:
        """The folder *name* below the models folder, with links resolved; None if it does not exist and may be a hub
        name."""
        root = self.settings.models_dir.resolve()
        asked = Path(name).expanduser()
        if self.anywhere and (asked / "config.json").is_file():  # as in a shell: relative to the current folder
            return asked.resolve()
        folder = (asked if asked.is_absolute() else root / asked).resolve()
        inside = folder != root and folder.is_relative_to(root)
        if (inside or self.anywhere) and folder.is_dir():
            return folder  # loading reports what it lacks
        if asked.is_absolute() or name.startswith((".", "~")) or not inside:
            raise ExplorerError(
                f"{name} is {'not a folder in' if inside else 'outside'} the models folder {root}. Put the checkpoint "
                "there, or start the app with BERTEXPLORER_MODELS set to its parent folder."
            )
        return None

    def fetch(self, name: str) -> Iterator[hub.Progress]:
        """Download *name* from the hub unless it is on this disk, and yield the progress. Raises ExplorerError on
        failure."""
        if self.find(name := name.strip()) is None:
            yield from hub.download(
                name,
                timeout_s=self.settings.hub_timeout_s,
                offline_names=self.offline(),
                pickles=self.settings.converts,
            )

    def offline(self) -> list[str]:
        """The names that load without a network."""
        bundled = [entry.name for entry in CATALOGUE if (BUNDLED / entry.name / "config.json").is_file()]
        bundled += [one.name for one in training_snapshots.saved()[-1:]]
        root = self.settings.models_dir
        local = (
            sorted(str(path.parent.relative_to(root)) for path in root.glob("*/**/config.json"))
            if root.is_dir()
            else []
        )
        return list(dict.fromkeys(bundled + local + hub.cached_names()))
