"""Jobs: which runs were requested, by whom and in which order. An accepted job is durable.

FOLDER/jobs.sqlite   a row for each run; not for network file systems
FOLDER/server.lock   locked by the one server that writes the table
FOLDER/ID/           the run's folder; the ID is random, and a name is never part of a path
FOLDER/.trash/ID/    a deleted run, for a week
"""

import json
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.runs import run_folder
from bertexplorer.runs.job_db import JobDatabase, Trash
from bertexplorer.runs.run_folder import Job, Run, one_line
from bertexplorer.training.checkpointing import flush

RESERVE_BYTES = 1_000_000_000  # of the disk to leave free
LEFTOVER = re.compile(r"tmp[a-z0-9_]{8}")  # as Python names a temporary folder
OWNED = "(? IS NULL OR owner = ? OR owner = ?)"


class Jobs:
    """All jobs of one data folder. Thread-safe.

    *owner*: who makes the request; None is the operator, who may see and do everything. For others, the runs of other
    owners do not exist. Runs of owner "" are from before there were owners: they belong to everyone if *shared*, else
    to the operator. Every method raises ExplorerError if the run does not exist, and if the disk is full or
    unreadable."""

    def __init__(self, folder: Path, *, reserve: int = RESERVE_BYTES, shared: bool = True) -> None:
        """Opens *folder*, and deletes there what is too old to be restored and what a kill has left. *reserve*: bytes
        of the disk to leave free. Raises ExplorerError if another server uses *folder*, or if it cannot be written."""
        self.folder = folder.resolve()
        self.reserve, self.shared = reserve, shared
        self.slots = 1  # concurrent runs; the supervisor sets it
        self.table = JobDatabase(self.folder)
        self.trash = Trash(self.table)
        self.lock = self.table.lock
        self.accepting = threading.Lock()
        try:
            self.trash.collect_orphans()
            self.trash.purge()
            self.delete_leftovers()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the folder for another server. Runs continue."""
        self.table.close()

    def delete_leftovers(self) -> None:
        """Delete the temporary folders of previews that a kill has left here: no other server uses this folder."""
        for path in self.folder.iterdir():
            if LEFTOVER.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)

    # Actions of people

    def accept(
        self,
        owner: str,
        name: str,
        spec: dict[str, Any],
        *,
        fill: Callable[[Path], object] = lambda folder: None,
        key: str = "",
        group: str = "",
        seconds: float = 0.0,
    ) -> Run:
        """Queue a new run.

        First the folder is written, with *spec* and the data that *fill* adds, then the row; both are on the disk when
        this returns. The same *key* of the same owner (the button pressed five times) gives the same run. *seconds*:
        its estimated duration, 0 if unknown. Raises ExplorerError if less than 1 GB is free."""
        owner, key = sanitize(owner), sanitize(key) or secrets.token_hex(16)
        existing = self.table.jobs("WHERE owner = ? AND key = ?", owner, key)
        if existing:
            return self.run(existing[0].id, owner)
        self.check_disk()
        id = secrets.token_hex(16)
        self.write(self.folder / id, spec, fill)
        with self.accepting:  # only now, so that nobody waits while other people's files are written
            existing = self.table.jobs("WHERE owner = ? AND key = ?", owner, key)
            if existing:
                shutil.rmtree(self.folder / id, ignore_errors=True)
                return self.run(existing[0].id, owner)
            try:
                self.table.execute(
                    'INSERT INTO jobs (id, owner, key, name, "group", created, seconds, place)'
                    " SELECT ?, ?, ?, ?, ?, ?, ?, coalesce(max(place), 0) + 1 FROM jobs",
                    *(id, owner, key, one_line(name) or f"Run {id[:8]}", sanitize(group), time.time(), seconds),
                )
            except ExplorerError:
                shutil.rmtree(self.folder / id, ignore_errors=True)
                raise
        return self.run(id, owner)

    def write(self, folder: Path, spec: dict[str, Any], fill: Callable[[Path], object]) -> None:
        """Write the folder of a run, with spec.json and what *fill* adds: completely, or not at all."""
        try:
            with self.table.disk_errors():
                folder.mkdir()
                fill(folder)
                (folder / "spec.json").write_text(json.dumps(spec, indent=1), "utf-8")
                for path in [*folder.rglob("*"), folder, self.folder]:
                    flush(path)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def retry(self, id: str, owner: str | None, *, key: str = "", tuning: Mapping[str, Any] | None = None) -> Run:
        """Queue a run again from the beginning, as a new run. *tuning*: the settings in its place of spec.json, if they
        change. *key*: as for `accept`. Raises ExplorerError if its settings cannot be read."""
        run = self.run(id, owner)
        if run.spec is None:
            raise ExplorerError(f"The settings of {run.name} cannot be read. Set up a new run.")
        spec = run.spec if tuning is None else {**run.spec, "tuning": dict(tuning)}

        def copy(folder: Path) -> None:
            if (run.folder / "data").is_dir():
                shutil.copytree(run.folder / "data", folder / "data")

        name = run.name.removesuffix(" (again)")[: run_folder.MAX_NAME - 8]
        new_owner = run.owner if owner is None else owner
        return self.accept(new_owner, f"{name} (again)", spec, fill=copy, key=key, seconds=run.seconds)

    def resume(self, id: str, owner: str | None) -> Run:
        """Queue a stopped, failed or interrupted run, which resumes from its last commit. Does nothing for a queued or
        running one."""
        with self.lock:
            run = self.run(id, owner)
            if run.state in ("finished", "deleted"):
                raise ExplorerError(f"{run.name} is {run.state}; there is nothing to resume. Retry starts it again.")
            if run.state == "stopping":
                raise ExplorerError(f"{run.name} is being stopped. Resume it once it has stopped.")
            if run.state not in ("queued", "starting", "running"):
                self.check_disk()
                log = run.folder / "events.jsonl"
                self.table.execute(
                    "UPDATE jobs SET wanted = 'queued', cause = '', since = ?,"
                    " place = (SELECT max(place) + 1 FROM jobs) WHERE id = ?",
                    *(log.stat().st_size if log.is_file() else 0, run.id),
                )
            return self.run(id, owner)

    def stop(self, id: str, owner: str | None) -> Run:
        """Ask a run to end after a commit. A queued one leaves the queue. Does nothing for a finished one."""
        with self.lock:
            run = self.run(id, owner)
            if run.state == "queued":
                self.table.execute("UPDATE jobs SET wanted = 'stopped' WHERE id = ?", run.id)
            elif run.state in run_folder.ACTIVE_STATES:
                self.table.execute("UPDATE jobs SET wanted = 'stop' WHERE id = ?", run.id)
                with self.table.disk_errors():
                    (run.folder / "stop").touch()
            return self.run(id, owner)

    def rename(self, id: str, owner: str | None, name: str, version: int) -> Run:
        """Rename a run. *version*: that of the name that the person saw. Raises ExplorerError if somebody has renamed
        the run since."""
        with self.lock:
            job = self.job(id, owner)
            title = one_line(name)
            if not title:
                raise ExplorerError(f"The name is empty; wanted 1 to {run_folder.MAX_NAME} characters. Type one.")
            if job.version != version:
                raise ExplorerError(f"Meanwhile the run was renamed to “{job.name}”. Check it, then rename it.")
            self.table.execute("UPDATE jobs SET name = ?, version = version + 1 WHERE id = ?", title, job.id)
            with self.table.disk_errors():
                (self.folder_of(job) / "name").write_text(title, "utf-8")  # for people who see only the folder
            return self.run(id, owner)

    def delete(self, id: str, owner: str | None) -> None:
        """Move a run to the trash; `restore` brings it back for a week. Raises ExplorerError while it is running."""
        with self.lock:
            run = self.run(id, owner)
            if run.state in run_folder.ACTIVE_STATES:
                raise ExplorerError(f"{run.name} is {run.state}. Stop it first, then delete it.")
            if run.state != "deleted":
                sql = "UPDATE jobs SET wanted = 'deleted', key = id, deleted = ? WHERE id = ?"
                self.table.execute(sql, self.table.now(), run.id)
            self.trash.purge()

    def restore(self, id: str, owner: str | None) -> Run:
        """Restore a deleted run to the state in which it ended, or else as stopped."""
        with self.lock:
            run = self.run(id, owner)
            if run.state == "deleted":
                self.trash.move(run.folder, self.folder / run.id)
                self.table.execute("UPDATE jobs SET wanted = 'stopped' WHERE id = ?", run.id)
            return self.run(id, owner)

    def erase(self, id: str, owner: str | None) -> None:
        """Remove a deleted run permanently, to make room. Raises ExplorerError if it is not deleted."""
        with self.lock:
            run = self.run(id, owner)
            if run.state != "deleted":
                raise ExplorerError(f"{run.name} is {run.state}. Delete it first.")
            self.trash.remove(run.folder)

    # Queries

    def job(self, id: str, owner: str | None) -> Job:
        """The row of one run."""
        rows = self.table.jobs(f"WHERE id = ? AND {OWNED}", sanitize(id), *self.owned_parameters(owner))
        if not rows:
            raise ExplorerError(
                f"There is no run {one_line(id, 40)!r} here. It was deleted, or it belongs to another browser: a run "
                "is seen in the one that started it. Choose one from the list."
            )
        return rows[0]

    def run(self, id: str, owner: str | None) -> Run:
        """One run in its current state."""
        return self.read([self.job(id, owner)])[0]

    def runs(self, owner: str | None = None, *, deleted: bool = False) -> list[Run]:
        """The runs of one owner, or of all (None), newest first. *deleted*: the deleted ones instead."""
        operator = "=" if deleted else "<>"
        condition = f"WHERE {OWNED} AND wanted {operator} 'deleted' ORDER BY number DESC"
        return self.read(self.table.jobs(condition, *self.owned_parameters(owner)))

    def ids(self, owner: str) -> set[str]:
        """The ids of the runs of one owner that are not deleted. Reads no folder."""
        condition = f"WHERE {OWNED} AND wanted <> 'deleted'"
        return {job.id for job in self.table.jobs(condition, *self.owned_parameters(owner))}

    def owned_parameters(self, owner: str | None) -> tuple[str | None, str | None, str | None]:
        """The parameters of the SQL condition OWNED."""
        name = owner if owner is None else sanitize(owner)
        return name, name, "" if self.shared else name

    def read(self, jobs: list[Job]) -> list[Run]:
        """The jobs with the state of their folders."""
        positions = {}
        if any(job.wanted == "queued" for job in jobs):
            positions = self.queue_positions()
        runs = []
        for job in jobs:
            run = run_folder.read(self.folder_of(job), job)
            if run.state == "queued":
                run = replace(run, message=positions.get(run.id, ""))
            runs.append(run)
        return runs

    def folder_of(self, job: Job) -> Path:
        """The folder of a job, in the trash if it is deleted."""
        folder = self.trash.folder if job.wanted == "deleted" else self.folder
        return folder / job.id

    def queue_positions(self) -> dict[str, str]:
        """The position of each queued run: id -> "2nd in line, about 4 min"."""
        seconds_ahead = []  # of the runs before, 0 if unknown
        for job in self.started():
            run = run_folder.read(self.folder_of(job), job)
            if run.state in run_folder.ACTIVE_STATES:
                seconds_ahead.append(run_folder.remaining_seconds(run))
        positions = {}
        for number, job in enumerate(self.queued(), 1):
            position = f"{run_folder.ordinal(number)} in line"
            is_known = len(seconds_ahead) >= self.slots and all(seconds_ahead)
            if is_known:
                position += f", {run_folder.duration(sum(seconds_ahead) / self.slots)}"
            positions[job.id] = position
            seconds_ahead.append(job.seconds)
        return positions

    # For the supervisor

    def queued(self) -> list[Job]:
        """The queued jobs, the next one first."""
        return self.table.jobs("WHERE wanted = 'queued' ORDER BY place")

    def started(self) -> list[Job]:
        """The jobs that were started and have not been marked as ended."""
        return self.table.jobs("WHERE wanted IN ('going', 'stop') ORDER BY place")

    def mark_started(self, id: str) -> None:
        """Record that a queued run has a process."""
        sql = "UPDATE jobs SET wanted = 'going', attempts = attempts + 1 WHERE id = ? AND wanted = 'queued'"
        self.table.execute(sql, id)

    def mark_ended(self, id: str, cause: str) -> None:
        """Record that the process of a run has ended. *cause*: the reason for people, "" if the run itself has
        recorded it."""
        wanted = "CASE wanted WHEN 'stop' THEN 'stopped' ELSE 'ended' END"
        sql = f"UPDATE jobs SET wanted = {wanted}, cause = ? WHERE id = ? AND wanted IN ('going', 'stop')"
        self.table.execute(sql, cause, id)

    def check_disk(self) -> None:
        """Raises ExplorerError if the disk is too full for a run."""
        with self.table.disk_errors():
            free = shutil.disk_usage(self.folder).free
        if free < self.reserve:
            raise ExplorerError(
                f"{free / 1e9:,.2f} GB are free on this disk; a run needs {self.reserve / 1e9:,.2f} GB. "
                "Make room (deleted runs can be erased), then start it again."
            )


def sanitize(text: str) -> str:
    """*text* without lone surrogates, which the table cannot store, and cut to the length of a key."""
    return text[:200].encode("utf-8", "replace").decode()
