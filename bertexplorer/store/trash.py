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

    def take_unaccepted(self) -> None:
        """Take folders that a crash left before they had a row. Trained runs are spared, in case the table was lost."""
        known = {id for (id,) in self.table.ask("SELECT id FROM jobs")}
        for path in [path for path in self.table.folder.iterdir() if ID.fullmatch(path.name)]:
            if path.name not in known and not (path / "events.jsonl").exists():
                self.move(path, self.folder / path.name)

    def tidy(self) -> None:
        """Move deleted runs aside, and remove for good those that were deleted over a week ago according to both their
        row and their folder."""
        now = self.table.now()
        deleted = dict(self.table.ask("SELECT id, deleted FROM jobs WHERE wanted = 'deleted'"))
        for id in deleted:
            if (self.table.folder / id).is_dir():
                self.move(self.table.folder / id, self.folder / id)
        with self.table.errors_in_words():
            for path in list(self.folder.iterdir()) if self.folder.is_dir() else []:
                if now - max(deleted.get(path.name, 0.0), path.stat().st_mtime) > KEPT_S:
                    self.remove(path)

    def remove(self, folder: Path) -> None:
        """Remove a run from the trash: first its folder, then its row."""
        with self.table.errors_in_words():
            if folder.exists():
                shutil.rmtree(folder)
        self.table.ask("DELETE FROM jobs WHERE id = ? AND wanted = 'deleted'", folder.name)

    def move(self, source: Path, target: Path) -> None:
        """Move a folder into the trash or out of it, and set its time of change to now."""
        with self.table.errors_in_words():
            target.parent.mkdir(exist_ok=True)
            source.replace(target)
            os.utime(target)
            for folder in (source.parent, target.parent):
                flush(folder)
