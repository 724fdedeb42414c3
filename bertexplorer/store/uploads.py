"""Uploads: files that a page sent, and exports made for it. They stay for a day and have owners. A quota limits
how much of the disk one owner's uploads and runs may take.

gradio puts a file into a folder that is named after the hash of its content. The name of an empty file next to it is
that of its owner. Anyone who sends the same file becomes an owner too."""

import tempfile
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store.jobs import Jobs


def add_owner(file: Path, owner: str) -> None:
    """Make *owner* an owner of *file* and of everything else in its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    owner_mark(file, owner).touch()


def is_owner(file: str | Path, folder: Path, owner: str) -> bool:
    """Whether *file* is in the folder of uploads and belongs to *owner*."""
    try:
        path = Path(file).resolve()
        return path.is_relative_to(folder.resolve()) and owner_mark(path, owner).is_file()
    except (OSError, ValueError):  # a NUL character, or a name that is too long
        return False


def new_file(folder: Path, name: str, owner: str) -> Path:
    """An unguessable path at which a file called *name* may be written for *owner*."""
    folder.mkdir(parents=True, exist_ok=True)
    file = Path(tempfile.mkdtemp(dir=folder)) / name
    add_owner(file, owner)
    return file


def folders_of(folder: Path, owner: str) -> list[Path]:
    """The folders of the files that belong to *owner*."""
    return [mark.parent for mark in folder.glob(f"*/{owner_mark(Path(), owner).name}")]


def owner_mark(file: Path, owner: str) -> Path:
    return file.parent / f".of-{owner}"


class Quota:
    """Allows each owner Settings.quota bytes. Without *jobs*, only the uploads count."""

    def __init__(self, settings: Settings, jobs: Jobs | None = None) -> None:
        self.max_bytes, self.jobs = settings.quota, jobs
        self.text_folders = [settings.data_dir / name for name in ("lines", "corpora")]
        self.uploads = settings.uploads_dir

    def check(self, owner: str, more: int = 0) -> None:
        """Raises ExplorerError if *owner* has used up the quota, or would with *more* bytes. Before that, the owner's
        deleted runs are erased to make room."""
        if not self.max_bytes or self.used_bytes(owner) + more <= self.max_bytes:
            return
        for run in reversed(self.jobs.runs(owner, deleted=True)) if self.jobs else ():
            if self.jobs and run.owner == owner:
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
        return sum(folder_bytes(folder) for folder in folders)


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below *folder* that still exist."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # a run has just replaced it
            continue
    return total
