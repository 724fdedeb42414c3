"""The checkpoints that runs have saved, which the picker offers as run:ID and run:ID@STEP. Read-only."""

import json
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.training.checkpointing import list_commits

MAX_LISTED = 50  # runs in a picker
CHECKPOINT_NAME = re.compile(r"run:([0-9a-f]{32})(?:@(\d{1,12}))?")
STEP_FOLDER = re.compile(r"step-(\d{1,12})")


@dataclass(frozen=True)
class SavedCheckpoint:
    """A checkpoint of a training for the picker: run:ID is the best one, run:ID@STEP the snapshot of a step."""

    name: str
    label: str
    folder: Path  # Path() if it is not on this disk
    megabytes: float = 0.0  # to download before it can be used; 0 if it is on this disk


def read_spec(folder: Path) -> dict[str, Any] | None:
    """The content of spec.json of the run in *folder*; None if it cannot be read."""
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads((folder / "spec.json").read_text("utf-8"))
        return content if isinstance(content, dict) else None
    return None


def title_of(folder: Path) -> str:
    """The current name of the run in *folder*, cut to 40 characters."""
    with suppress(OSError):
        return (folder / "name").read_text("utf-8")[:40]
    return (str((read_spec(folder) or {}).get("name", "")) or f"run {folder.name[:8]}")[:40]


def last_commits(folder: Path) -> list[Path]:
    """The checkpoint of a pretraining run's last commit, [] if there is none."""
    models = [commit / "model" for commit in list_commits(folder / "commits")[-1:]]
    return [model for model in models if (model / "config.json").is_file()]


def is_run(folder: Path) -> bool:
    """Whether *folder* is that of a run that trains a checkpoint."""
    spec = read_spec(folder)
    return (folder / "best").is_dir() or (spec is not None and spec.get("kind") != "suite")


def best_checkpoint(folder: Path) -> Path:
    """The best checkpoint of the run in *folder*; the last one of a pretraining run. Raises ExplorerError if there is
    none yet."""
    checkpoints = list_commits(folder / "best")[-1:] or last_commits(folder)
    if checkpoints:
        return checkpoints[0]
    raise ExplorerError(f"The run in {folder.name} has no checkpoint yet. Resume it until its first evaluation.")


def list_trained(root: Path, ids: Collection[str] | None = None) -> list[tuple[str, str]]:
    """(title, name of the best checkpoint) of all runs that have saved one, newest first. *ids*: only these runs."""
    folders = [path for path in root.glob("[0-9a-f]*") if re.fullmatch(r"[0-9a-f]{32}", path.name)]
    folders = [path for path in folders if ids is None or path.name in ids]
    trained = [path for path in folders if list_commits(path / "best") or last_commits(path)]
    trained.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [(title_of(path), f"run:{path.name}") for path in trained[:MAX_LISTED]]


def list_checkpoints(folder: Path) -> list[SavedCheckpoint]:
    """Of the run in *folder*: its start (run:ID@0), its snapshots by step, and its best checkpoint."""
    name = f"run:{folder.name}"
    title = title_of(folder)
    checkpoints = []
    start = Path(str((read_spec(folder) or {}).get("folder", "")))
    if (start / "config.json").is_file():
        checkpoints.append(SavedCheckpoint(f"{name}@0", f"{title}, before", start))
    snapshots = {}
    for path in list_commits(folder / "snapshots"):
        if match := STEP_FOLDER.fullmatch(path.name):
            snapshots[int(match[1])] = path
    for step in sorted(snapshots):
        checkpoints.append(SavedCheckpoint(f"{name}@{step}", f"{title}, step {step:,}", snapshots[step]))
    best = list_commits(folder / "best")[-1:]
    for path in best or last_commits(folder):
        checkpoints.append(SavedCheckpoint(name, f"{title}, best" if best else f"{title}, last", path))
    return checkpoints


def series(root: Path, name: str) -> list[SavedCheckpoint]:
    """The checkpoints of the run that *name* belongs to, in the order of training; [] for any other name."""
    match = CHECKPOINT_NAME.fullmatch(name)
    return list_checkpoints(root / match[1]) if match else []


def find(root: Path, name: str) -> Path | None:
    """The folder of the checkpoint run:ID or run:ID@STEP among the runs in *root*. None for any other name, or if
    there is no such checkpoint."""
    return next((saved.folder for saved in series(root, name) if saved.name == name), None)
