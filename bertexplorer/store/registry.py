"""The registry: finds a checkpoint by name, loads it once, shares it, and evicts the least recently used one."""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bertexplorer.engine.progress import aside
from bertexplorer.errors import ExplorerError, describe
from bertexplorer.model.file_state import FileState, file_state
from bertexplorer.model.layout import MODULES, encoder_folder
from bertexplorer.model.scheduler import ComputeScheduler
from bertexplorer.settings import Settings
from bertexplorer.store import catalogue, convert, examine, hub, hub_cache, trained
from bertexplorer.store.catalogue import BUNDLED, BY_NAME, CATALOGUE, series_of
from bertexplorer.store.opening_turns import OpeningTurns
from bertexplorer.store.trained import SavedCheckpoint

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

PRECISIONS = ("auto", "fp32", "bf16")
DEFAULT = Settings()
MAX_NAME = 500  # characters of a checkpoint's name
SUFFIXES = (*examine.SUFFIXES, ".md", ".metadata", ".bin", ".safetensors")  # of files that a checkpoint is read from
CONFIGS = ("config.json", "adapter_config.json")  # one of which each checkpoint has


def has_config(folder: Path) -> bool:
    """Whether *folder* holds a checkpoint or an adapter."""
    return any((encoder_folder(folder) / name).is_file() for name in CONFIGS)


def checkpoint_in(folder: Path) -> Path:
    """*folder*, or the best checkpoint of the run in it. Loading reports a folder that holds neither. Raises
    ExplorerError for a run that has none yet."""
    if not has_config(folder) and trained.is_run(folder):
        return trained.best_checkpoint(folder)
    return folder


def state_of(folder: Path | None) -> FileState:
    """Changes if a file that the checkpoint in *folder* is read from is written, replaced or deleted."""
    if folder is None:
        return ()
    files = [*folder.glob("*.*"), *folder.glob("[0-9]*_*/*.*")]  # the second: of a sentence encoder
    return file_state(sorted(file for file in files if file.suffix in SUFFIXES))


class CheckpointRegistry:
    """All checkpoints of one app. Thread-safe. Imports torch at the first load."""

    def __init__(
        self, settings: Settings = DEFAULT, *, anywhere: bool = False, shared: bool = False, cores: int = 0
    ) -> None:
        """*anywhere*: folders outside the models folder are allowed too; for the command line, not for the page.
        *shared*: many people use it concurrently, so the threads of a pass depend on what else is being computed.
        *cores*: how many it may use, 0 for those of this process."""
        self.settings = settings
        self.anywhere = anywhere
        self.loaded: OrderedDict[tuple[str, str], Checkpoint] = OrderedDict()
        self.states: dict[tuple[str, str], tuple[FileState, FileState]] = {}  # of its files and its base's, when read
        self.lock = threading.Lock()
        self.scheduler = ComputeScheduler(cores, threads=shared)
        self.owner: str | None = None  # None: the operator, who may open every run
        self.owned_runs: Callable[[str], set[str]] | None = None  # owner -> ids of the runs that they may open
        self.loading: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)
        self.turns = OpeningTurns()

    def for_owner(self, owner: str) -> "CheckpointRegistry":
        """The same checkpoints for *owner*, with the runs of that owner only."""
        registry = copy(self)
        registry.owner = owner
        return registry

    def may_open(self, name: str) -> bool:
        """Whether this owner may open the run that *name*, run:ID…, refers to."""
        if self.owner is None or self.owned_runs is None:
            return True
        id = name.removeprefix("run:").partition("@")[0]
        return id in self.owned_runs(self.owner)

    def get(self, name: str, precision: str = "auto") -> "Checkpoint":
        """The checkpoint called *name*, which the first call loads. Raises ExplorerError if it is not on this disk
        (`fetch` it first) or cannot be used."""
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
            raise ExplorerError(message, code="checkpoint")
        from bertexplorer.model.precision import NAMES, best_device, resolve

        width = NAMES[resolve(precision, best_device())]  # type: ignore[arg-type]
        return self.load_once((str(folder), width), lambda: self.read(folder, name, precision, width))

    def read(self, folder: Path, name: str, precision: str, width: str) -> "Checkpoint":
        """Load the checkpoint in *folder*. *width*: what *precision* means on this machine. Raises ExplorerError if it
        is not safe or does not fit into memory."""
        if not self.is_foreign(folder):
            return self.load(folder, folder, name, precision, width)
        with self.turns.turn(self.owner):
            examine.check_kinds(name, folder)
            converted = self.converted(name, folder)
            with convert.kept_if_usable(converted, folder):
                examine.examine(name, converted, self.settings.data_dir)
            self.examine_base(name, converted)
            return self.load(converted, folder, name, precision, width)

    def is_foreign(self, folder: Path) -> bool:
        """Whether the files in *folder* were written neither by this project nor by a run of this server."""
        trusted = (BUNDLED, (self.settings.data_dir / "runs").resolve())
        return not any(folder.resolve().is_relative_to(root) for root in trusted)

    def load(self, folder: Path, source: Path, name: str, precision: str, width: str) -> "Checkpoint":
        """Load the checkpoint in *folder*, which was made from *source*, after evicting others if memory is short."""
        from bertexplorer.model.load import load

        base = self.base_of(folder)
        with self.lock:
            missing = examine.missing_bytes(name, base or folder, width, self.loaded_bytes())
            while missing > 0 and self.loaded:
                _, oldest = self.loaded.popitem(last=False)
                missing -= oldest.num_bytes
        with convert.kept_if_usable(folder, source):
            return load(folder, name=name, precision=precision, frozen=True, base=base)  # type: ignore[arg-type]

    def examine_base(self, name: str, folder: Path) -> None:
        """Examine the checkpoint that a foreign adapter belongs to, which may never have been opened itself."""
        base = self.base_of(folder)
        if base and self.is_foreign(base):
            examine.check_kinds(name, base)
            examine.examine(name, base, self.settings.data_dir)

    def base_of(self, folder: Path) -> Path | None:
        """The folder of the checkpoint that the adapter in *folder* belongs to; None for a checkpoint of its own.
        Raises ExplorerError if it is not on this disk."""
        from bertexplorer.model.adapter import is_adapter, read_adapter

        if not is_adapter(folder):
            return None
        name = read_adapter(folder).base
        beside = folder.parent / Path(name).name
        base = beside if (beside / "config.json").is_file() else self.find(name)
        if base is None or base == folder or is_adapter(base):
            raise ExplorerError(
                f"{folder.name} is an adapter for {name}, which is not on this disk. Open {name} first, then this one."
            )
        return base

    def converted(self, name: str, folder: Path) -> Path:
        """*folder*, or that with its weights as safetensors. A download of this app whose weights are harmful is
        deleted. Raises ExplorerError."""
        try:
            return convert.with_safetensors(name, folder, self.settings.data_dir, allowed=self.settings.converts)
        except convert.HarmfulError as error:
            if not hub_cache.file_list(folder).is_file():
                raise
            for file in convert.pickle_files(folder):
                hub_cache.delete(file)
            raise ExplorerError(f"{error} The download was deleted.") from error

    def control(self, name: str, precision: str = "auto") -> "Checkpoint":
        """A checkpoint with the shape, tokenizer and heads of *name* but random weights, the same every time, in fp32.

        Patterns that it shows too come from the architecture, not from training."""
        real = self.get(name, precision)

        from bertexplorer.model.initialise import random_copy

        return self.load_once((str(real.folder), "random"), lambda: random_copy(replace(real, name=name)))

    def load_once(self, key: tuple[str, str], load: "Callable[[], Checkpoint]") -> "Checkpoint":
        """The checkpoint of *key*, (folder, precision). If it is not loaded, or its files have changed since, one
        caller loads it while the others wait."""
        with self.lock:
            if found := self.unchanged(key):
                return found
            key_lock = self.loading[key]
        waiting = self.turns.wait(self.owner) if self.is_foreign(Path(key[0])) else aside()
        with waiting, key_lock:
            with self.lock:
                if found := self.unchanged(key):
                    return found
                self.loaded.pop(key, None)
            state = state_of(Path(key[0]))
            checkpoint = replace(load(), scheduler=self.scheduler)
            checkpoint.cache.limit = self.settings.cache_mb * 1_000_000
            with self.lock:
                self.loaded[key] = checkpoint
                self.states[key] = (state, state_of(checkpoint.base))
                self.evict()
            return checkpoint

    def unchanged(self, key: tuple[str, str]) -> "Checkpoint | None":
        """The loaded checkpoint of *key*, from now on the most recently used, unless its files have changed."""
        checkpoint = self.loaded.get(key)
        if checkpoint is None or self.states[key] != (state_of(Path(key[0])), state_of(checkpoint.base)):
            return None
        self.loaded.move_to_end(key)
        return checkpoint

    def evict(self) -> None:
        """Evict the least recently used checkpoints until the others fit the budget. The newest always stays."""
        while len(self.loaded) > 1 and self.loaded_bytes() > self.settings.memory_mb * 1e6:
            self.loaded.popitem(last=False)

    def loaded_bytes(self) -> int:
        """Bytes of memory that all loaded checkpoints take."""
        return sum(checkpoint.num_bytes for checkpoint in self.loaded.values())

    def trained(self) -> list[tuple[str, str]]:
        """(title, name) of the checkpoints that runs have saved here, newest first."""
        ids = None if self.owner is None or self.owned_runs is None else self.owned_runs(self.owner)
        return trained.list_trained(self.settings.data_dir / "runs", ids)

    def title(self, name: str) -> str:
        """The title of the checkpoint *name*. For a checkpoint of a run, it contains the run's current name."""
        return next((saved.label for saved in self.series(name) if saved.name == name), name)

    def series(self, name: str) -> list[SavedCheckpoint]:
        """The checkpoints of the training that *name* belongs to, in order; [] if it belongs to none."""
        if name.startswith("run:") and not self.may_open(name):
            return []
        published = series_of(name)
        if not published:
            return catalogue.snapshot_series(name) or trained.series(self.settings.data_dir / "runs", name)
        size = max(BY_NAME[step].megabytes for step in published if step in BY_NAME)  # all have one architecture
        saved = []
        for step, label in published.items():
            folder = hub_cache.find_cached(step)
            saved.append(SavedCheckpoint(step, label, folder or Path(), megabytes=0.0 if folder else size))
        return saved

    def find(self, name: str) -> Path | None:
        """The folder of *name*: bundled, in the models folder, or already downloaded. None if it must be fetched.

        Raises ExplorerError for a path outside the models folder and for text that cannot be a name."""
        name = name.strip()
        if not name:
            raise ExplorerError("No checkpoint is chosen. Pick one from the list, or type a hub name.")
        advice = f"Type a hub name, at most {MAX_NAME} characters long."
        if len(name) > MAX_NAME:
            raise ExplorerError(f"The checkpoint name has {len(name):,} characters. {advice}")
        if not name.isprintable():
            raise ExplorerError(f"The checkpoint name contains an invisible character. {advice}")
        if name.startswith("run:"):
            return trained.find(self.settings.data_dir / "runs", name) if self.may_open(name) else None
        if bundled := catalogue.find_snapshot(name):
            return bundled
        if any(entry.name == name for entry in CATALOGUE) and has_config(BUNDLED / name):
            return BUNDLED / name
        try:
            folder = self.local(name)
        except (OSError, RuntimeError) as error:  # a part is too long, access is denied, or ~ names an unknown user
            reason = describe(error)
            raise ExplorerError(f"The folder {name} cannot be opened: {reason}. Choose another one.") from error
        if folder is not None:
            return folder
        hub_cache.check_name(name)
        return hub_cache.find_cached(name)

    def local(self, name: str) -> Path | None:
        """The folder *name* below the models folder, with links resolved; None if it does not exist and *name* may be a
        hub name. Raises ExplorerError for a path that does not exist or is not allowed here."""
        # 1. As in a shell, from the current folder.
        path = Path(name).expanduser()
        if self.anywhere and (has_config(path) or trained.is_run(path)):
            return checkpoint_in(path.resolve())
        # 2. In the models folder.
        root = self.settings.models_dir.resolve()
        folder = (path if path.is_absolute() else root / path).resolve()
        inside = folder != root and folder.is_relative_to(root)
        if (inside or self.anywhere) and folder.is_dir():
            return checkpoint_in(folder)
        # 3. What cannot be a name of the hub.
        if self.anywhere and path.is_dir():
            return path.resolve()  # loading reports that it holds no checkpoint
        wanted = "wanted the folder of a checkpoint, with its config.json, or a name such as mini. Check the spelling."
        if self.anywhere and path.is_file():
            raise ExplorerError(f"{name} is a file; {wanted}")
        is_path = path.is_absolute() or name.startswith((".", "~")) or name.endswith("/") or not inside
        if not is_path:
            return None
        if self.anywhere:
            raise ExplorerError(f"There is no folder {name}; {wanted}")
        place = "not a folder in" if inside else "outside"
        if not self.settings.local:  # visitors need not know the folders of the server
            raise ExplorerError(f"{name} is {place} the models folder of this server. Choose another checkpoint.")
        raise ExplorerError(
            f"{name} is {place} the models folder {root}. Put the checkpoint there, or start the app with "
            "BERTEXPLORER_MODELS set to its parent folder."
        )

    def fetch(self, name: str) -> Iterator[hub.Progress]:
        """Download *name* from the hub unless it is on this disk, and yield the progress. Raises ExplorerError on
        failure."""
        if self.find(name := name.strip()) is None:
            yield from hub.download(
                name,
                timeout_s=self.settings.hub_timeout_s,
                offline_names=self.offline(),
                pickles=self.settings.converts,
                as_operator=self.anywhere or self.settings.local,  # visitors must not reach private checkpoints
            )

    def offline(self) -> list[str]:
        """The names of the checkpoints that load without a network, each once."""
        names = [entry.name for entry in CATALOGUE if has_config(BUNDLED / entry.name)]
        names += [snapshot.name for snapshot in catalogue.snapshots()[-1:]]
        names += self.local_names()
        names += hub_cache.cached_names(pickles=self.settings.converts)
        return list(dict.fromkeys(names))

    def local_names(self) -> list[str]:
        """The checkpoints in the models folder. The folder of a module of a sentence encoder is none."""
        root = self.settings.models_dir
        names = set()
        for kind in CONFIGS:
            for path in root.glob(f"*/**/{kind}"):
                folder = path.parent
                if folder.parent != root and (folder.parent / MODULES).is_file():
                    folder = folder.parent
                if has_config(folder):
                    names.add(str(folder.relative_to(root)))
        return sorted(names)


class OneReplaced:
    """The checkpoints of *library*, of which the one with the name of *checkpoint* is that."""

    def __init__(self, library: CheckpointRegistry, checkpoint: "Checkpoint") -> None:
        self.library = library
        self.checkpoint = checkpoint

    def get(self, name: str, precision: str = "auto") -> "Checkpoint":
        return self.checkpoint if name == self.checkpoint.name else self.library.get(name, precision)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)


def with_checkpoint(library: CheckpointRegistry, checkpoint: "Checkpoint") -> CheckpointRegistry:
    """The checkpoints of *library*, and *checkpoint*, such as one that only a program or a browser has, by its name."""
    return cast(CheckpointRegistry, OneReplaced(library, checkpoint))
