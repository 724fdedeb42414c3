"""The training that ships with the app: one small model at several steps, from random weights to the last step."""

import re
from pathlib import Path

from bertexplorer.store.catalogue import BUNDLED
from bertexplorer.store.runs import SavedCheckpoint

NAME = "tiny"
STEP = re.compile(r"step-(\d{1,12})")


def snapshots(root: Path = BUNDLED / NAME) -> list[SavedCheckpoint]:
    """The checkpoints in the order of training: tiny@STEP each, except that the last one is called tiny."""
    folders = {
        int(match[1]): path
        for path in root.glob("step-*")
        if (match := STEP.fullmatch(path.name)) and (path / "config.json").is_file()
    }
    last = max(folders, default=None)
    return [
        SavedCheckpoint(NAME if step == last else f"{NAME}@{step}", f"{NAME}, step {step:,}", folders[step])
        for step in sorted(folders)
    ]


def series(name: str) -> list[SavedCheckpoint]:
    """All snapshots if *name* is one of them, else []."""
    saved = snapshots() if name.startswith(NAME) else []
    return saved if any(snapshot.name == name for snapshot in saved) else []


def find(name: str) -> Path | None:
    """The folder of the snapshot *name*; None for any other name."""
    return next((snapshot.folder for snapshot in series(name) if snapshot.name == name), None)
