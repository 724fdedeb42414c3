"""The table of jobs on disk: SQLite with a rollback journal and full synchronization, written by one server."""

import os
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
from bertexplorer.store.runs import Job

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
