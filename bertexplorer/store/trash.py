"""Trash: deleted runs stay for a week, even if the clock is changed."""

import os
import re
import shutil
from pathlib import Path

from bertexplorer.store.job_db import JobDatabase
from bertexplorer.training.checkpointing import flush

KEPT_S = 7 * 86_400 + 7_200  # two hours more than a week, in case the clock is set
ID = re.compile(r"[0-9a-f]{32}")


class Trash:
    """FOLDER/.trash, next to the runs of a job table."""

    def __init__(self, table: JobDatabase) -> None:
        self.table = table
        self.folder = table.folder / ".trash"

    def collect_orphans(self) -> None:
        """Move folders into the trash that a crash left without a row. Trained runs stay, in case the table was
        lost."""
        known = {id for (id,) in self.table.execute("SELECT id FROM jobs")}
        for path in [path for path in self.table.folder.iterdir() if ID.fullmatch(path.name)]:
            if path.name not in known and not (path / "events.jsonl").exists():
                self.move(path, self.folder / path.name)

    def purge(self) -> None:
        """Move deleted runs into the trash, and remove those permanently that were deleted over a week ago according
        to both their row and their folder."""
        now = self.table.now()
        deleted = dict(self.table.execute("SELECT id, deleted FROM jobs WHERE wanted = 'deleted'"))
        for id in deleted:
            if (self.table.folder / id).is_dir():
                self.move(self.table.folder / id, self.folder / id)
        with self.table.disk_errors():
            for path in list(self.folder.iterdir()) if self.folder.is_dir() else []:
                if now - max(deleted.get(path.name, 0.0), path.stat().st_mtime) > KEPT_S:
                    self.remove(path)

    def remove(self, folder: Path) -> None:
        """Remove a run from the trash: first its folder, then its row."""
        with self.table.disk_errors():
            if folder.exists():
                shutil.rmtree(folder)
        self.table.execute("DELETE FROM jobs WHERE id = ? AND wanted = 'deleted'", folder.name)

    def move(self, source: Path, target: Path) -> None:
        """Move a folder into or out of the trash, and set its modification time to now."""
        with self.table.disk_errors():
            target.parent.mkdir(exist_ok=True)
            source.replace(target)
            os.utime(target)
            for folder in (source.parent, target.parent):
                flush(folder)
