"""The table of jobs on disk: SQLite with a rollback journal and full synchronization, written by one server. Deleted
runs stay in the trash for a week, even if the clock is changed."""

import os
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from bertexplorer import locks
from bertexplorer.errors import ExplorerError
from bertexplorer.runs.run_folder import Job
from bertexplorer.training.checkpointing import flush

FORMAT = 1
TABLES = """
CREATE TABLE jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, key TEXT NOT NULL,
  name TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1, "group" TEXT NOT NULL DEFAULT '', created REAL NOT NULL,
  wanted TEXT NOT NULL DEFAULT 'queued', place INTEGER NOT NULL DEFAULT 0, seconds REAL NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0, since INTEGER NOT NULL DEFAULT 0, cause TEXT NOT NULL DEFAULT '',
  deleted REAL NOT NULL DEFAULT 0, UNIQUE (owner, key));
CREATE TABLE clock (seen REAL NOT NULL);
INSERT INTO clock VALUES (0);
"""
COLUMNS = ", ".join(f'"{field.name}"' for field in fields(Job))
KEPT_S = 7 * 86_400 + 7_200  # two hours more than a week, in case the clock is set
ID = re.compile(r"[0-9a-f]{32}")


class JobDatabase:
    """The rows, and the lock that keeps a second server out. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Raises ExplorerError if another server uses *folder*, or if it cannot be written."""
        self.folder = folder
        self.lock = threading.RLock()
        with self.disk_errors():
            folder.mkdir(parents=True, exist_ok=True)
            server_lock = locks.acquire(folder / "server.lock")
        if server_lock is None:
            pid = locks.holder_pid(folder / "server.lock") or "unknown"
            raise ExplorerError(
                f"Another BERT Explorer (process {pid}) uses {folder}. "
                "Use that one, or start this one with BERTEXPLORER_DATA set to another folder."
            )
        self.server_lock = server_lock
        try:
            locks.write_process(server_lock, os.getpid())
            self.db = self.open_database()
        except BaseException:
            server_lock.close()
            raise

    def open_database(self) -> sqlite3.Connection:
        """Create the tables if they do not exist. Raises ExplorerError if a newer version wrote them."""
        with self.disk_errors():
            db = sqlite3.connect(self.folder / "jobs.sqlite", isolation_level=None, check_same_thread=False)
            db.execute("PRAGMA journal_mode=DELETE")
            db.execute("PRAGMA synchronous=FULL")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                db.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version={FORMAT}; COMMIT;")
        if version > FORMAT:
            db.close()
            raise ExplorerError(
                f"{self.folder} belongs to a newer BERT Explorer (format {version}, not {FORMAT}); use it."
            )
        return db

    def close(self) -> None:
        """Release the folder for another server."""
        with self.lock:
            self.db.close()
            self.server_lock.close()

    @contextmanager
    def disk_errors(self) -> Iterator[None]:
        """Turn errors of the disk and the database into an ExplorerError."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise ExplorerError(
                f"The runs in {self.folder} cannot be saved ({reason}). Make room or check its permissions, then try "
                "again."
            ) from error

    def execute(self, sql: str, *values: Any) -> list[Any]:
        """Run one statement and return its rows. Its effect is on the disk when this returns."""
        with self.lock, self.disk_errors(), closing(self.db.execute(sql, values)) as cursor:
            return cursor.fetchall()

    def jobs(self, condition: str, *values: Any) -> list[Job]:
        """The rows that *condition*, the end of an SQL query, selects."""
        return [Job(*row) for row in self.execute(f"SELECT {COLUMNS} FROM jobs {condition}", *values)]

    def now(self) -> float:
        """Unix seconds that never go backwards, even if the clock is set back."""
        with self.lock:
            self.execute("UPDATE clock SET seen = max(seen, ?)", time.time())
            return float(self.execute("SELECT seen FROM clock")[0][0])


class Trash:
    """FOLDER/.trash, next to the runs of a job table."""

    def __init__(self, table: JobDatabase) -> None:
        self.table = table
        self.folder = table.folder / ".trash"

    def collect_orphans(self) -> None:
        """Move folders into the trash that a crash left without a row. Trained runs stay, in case the table was
        lost."""
        known = {id for (id,) in self.table.execute("SELECT id FROM jobs")}
        for path in list(self.table.folder.iterdir()):
            is_orphan = bool(ID.fullmatch(path.name)) and path.name not in known
            if is_orphan and not (path / "events.jsonl").exists():
                self.move(path, self.folder / path.name)

    def purge(self) -> None:
        """Move deleted runs into the trash, and remove those permanently that were deleted over a week ago according
        to both their row and their folder."""
        # 1. Those that were deleted since
        now = self.table.now()
        deleted = dict(self.table.execute("SELECT id, deleted FROM jobs WHERE wanted = 'deleted'"))
        for id in deleted:
            if (self.table.folder / id).is_dir():
                self.move(self.table.folder / id, self.folder / id)

        # 2. Those that were deleted long ago
        with self.table.disk_errors():
            if not self.folder.is_dir():
                return
            for path in list(self.folder.iterdir()):
                since = max(deleted.get(path.name, 0.0), path.stat().st_mtime)
                if now - since > KEPT_S:
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
