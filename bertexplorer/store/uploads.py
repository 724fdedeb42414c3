"""Uploads: files that a page sent, and exports made for it. They stay for a day and have owners. A quota limits how
much of the disk one owner's uploads and runs may take.

FOLDER/ID/NAME         a file; its ID is random
FOLDER/ID/.of-OWNER    empty; says whose it is
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings

DAY_S = 86_400.0
MAX_NAME = 120  # characters of a file's name to keep
UNUSABLE = re.compile(r"[/\\\x00-\x1f\x7f]" if os.name == "posix" else r'[<>:"/\\|?*\x00-\x1f\x7f]')  # in a name


def new_file(folder: Path, name: str, owner: str) -> Path:
    """The path at which a file called *name* may be written for *owner*, in a folder of its own. Files of yesterday are
    deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    delete_old(folder)
    own = Path(tempfile.mkdtemp(dir=folder))
    owner_mark(own, owner).touch()
    usable = UNUSABLE.sub("_", name).strip(". ")[-MAX_NAME:]
    return own / (usable or "file")


def find(folder: Path, id: str, owner: str) -> Path:
    """The file *id* of *owner*. Raises ExplorerError if there is none."""
    own = folder / id
    if own.parent == folder and id != ".." and owner_mark(own, owner).is_file():
        for path in own.iterdir():
            if path != owner_mark(own, owner):
                return path
    raise ExplorerError(
        f"There is no file {id!r:.60} of yours here (any more); files stay for a day. Upload it, or make it, again."
    )


def delete_old(folder: Path) -> None:
    """Delete files older than a day."""
    for path in list(folder.iterdir()):
        with suppress(OSError):  # another upload deletes it too
            if time.time() - path.stat().st_mtime > DAY_S:
                shutil.rmtree(path, ignore_errors=True)


def folders_of(folder: Path, owner: str) -> list[Path]:
    """The folders of the files that belong to *owner*."""
    return [mark.parent for mark in folder.glob(f"*/{owner_mark(Path(), owner).name}")]


def owner_mark(own: Path, owner: str) -> Path:
    """The file in the folder *own* of a file that says that it belongs to *owner*."""
    return own / f".of-{owner}"


class OnDisk(Protocol):
    """What has a folder, such as a run."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def owner(self) -> str:
        """The browser that it belongs to, "" for none."""

    @property
    def folder(self) -> Path:
        """Where its files are."""


class RunsOnDisk(Protocol):
    """The runs of a server, which count against their owners' quota: `runs.jobs.Jobs`."""

    def runs(self, owner: str | None = None, *, deleted: bool = False) -> Sequence[OnDisk]:
        """Those of *owner*, the newest first. *deleted*: the deleted ones instead."""

    def erase(self, id: str, owner: str | None) -> object:
        """Remove a deleted run permanently."""


class Quota:
    """Allows each owner Settings.quota bytes. Without *jobs*, only the uploads count."""

    def __init__(self, settings: Settings, jobs: RunsOnDisk | None = None) -> None:
        self.max_bytes = settings.quota  # 0: no limit
        self.jobs = jobs
        names = ("lines", "rows", "vectors", "corpora", "runs/.prepared")
        self.text_folders = [settings.data_dir / name for name in names]  # each with a folder for each owner
        self.uploads = settings.uploads_dir

    def check(self, owner: str, more: int = 0) -> None:
        """Raises ExplorerError if *owner* has used up the quota, or would with *more* bytes. Before that, the owner's
        deleted runs are erased to make room."""
        if not self.max_bytes or self.used_bytes(owner) + more <= self.max_bytes:
            return
        if self.jobs:
            for run in reversed(self.jobs.runs(owner, deleted=True)):  # the oldest first
                if run.owner == owner:
                    self.jobs.erase(run.id, owner)
                if self.used_bytes(owner) + more <= self.max_bytes:
                    return
        raise ExplorerError(
            f"Your runs and uploads take {self.used_bytes(owner) / 1e9:,.2f} GB of the {self.max_bytes / 1e9:,.2f} GB "
            "that each person has on this server. Export what you want to keep, then delete runs."
        )

    def used_bytes(self, owner: str) -> int:
        """Bytes on the disk that belong to *owner*."""
        folders = [folder / owner for folder in self.text_folders] if owner else []
        folders += folders_of(self.uploads, owner)
        if self.jobs:
            runs = [*self.jobs.runs(owner), *self.jobs.runs(owner, deleted=True)]
            folders += [run.folder for run in runs if run.owner == owner]
        return sum(map(folder_bytes, folders))


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below *folder* that still exist."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # a run has just replaced it
            continue
    return total
