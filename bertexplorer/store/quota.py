"""Quota: how much of the disk one owner's uploads and runs may take."""

from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store import uploads
from bertexplorer.store.jobs import Jobs


class Quota:
    """Allows each owner Settings.quota bytes. Without *jobs*, only the uploads count."""

    def __init__(self, settings: Settings, jobs: Jobs | None = None) -> None:
        self.most, self.jobs = settings.quota, jobs
        self.kept = [settings.data_dir / name for name in ("lines", "corpora")]
        self.uploads = settings.uploads_dir

    def room(self, owner: str, more: int = 0) -> None:
        """Raise ExplorerError if *owner* has used up the quota, or would with *more* bytes. To make room, deleted runs
        are erased first."""
        if not self.most or self.used(owner) + more <= self.most:
            return
        for run in reversed(self.jobs.runs(owner, deleted=True)) if self.jobs else ():
            if self.jobs and run.owner == owner:
                self.jobs.erase(run.id, owner)
            if self.used(owner) + more <= self.most:
                return
        raise ExplorerError(
            f"Your runs and uploads take {self.used(owner) / 1e9:,.2f} GB of the {self.most / 1e9:,.2f} GB that each "
            "person has on this server. Export what you want to keep, then delete runs."
        )

    def used(self, owner: str) -> int:
        """Bytes on the disk that belong to *owner*."""
        own = [folder / owner for folder in self.kept] if owner else []
        own += uploads.folders(self.uploads, owner)
        if self.jobs:
            every = [*self.jobs.runs(owner), *self.jobs.runs(owner, deleted=True)]
            own += [run.folder for run in every if run.owner == owner]
        return sum(size(folder) for folder in own)


def size(folder: Path) -> int:
    """Bytes of all files below *folder* that still exist."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # a run has just replaced it
            continue
    return total
