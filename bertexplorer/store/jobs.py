"""Jobs: which runs were requested, by whom and in which order. An accepted job is durable.

FOLDER/jobs.sqlite   a row for each run, written by the one server that holds
FOLDER/server.lock   (not for network file systems)
FOLDER/ID/           the run's folder; the ID is drawn here, and a name is never part of a path
FOLDER/.trash/ID/    a deleted run, for a week
"""

import json
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.store import runs
from bertexplorer.store.job_db import JobDatabase
from bertexplorer.store.runs import Job, Run
from bertexplorer.store.trash import Trash
from bertexplorer.training.checkpointing import flush

RESERVE = 1_000_000_000  # bytes of the disk to leave free
OWN = "(? IS NULL OR owner = ? OR owner = ?)"


def nothing(folder: Path) -> None:
    """Add no data to a new run's folder."""


class Jobs:
    """All jobs of one data folder. Safe to call from many threads.

    *owner*: who makes the request; None is the operator, who may see and do everything. Other owners' runs are
    reported as missing. Runs of owner "" are from before there were owners: they belong to everyone if *shared*, else
    to the operator. Every method raises ExplorerError for a missing run, and for a disk that is full or unreadable."""

    def __init__(self, folder: Path, *, reserve: int = RESERVE, shared: bool = True) -> None:
        """Raises ExplorerError if another server uses *folder*, or if it cannot be written."""
        self.folder = folder.resolve()
        self.reserve, self.shared = reserve, shared
        self.slots = 1  # runs at a time; the supervisor sets it
        self.table = JobDatabase(self.folder)
        self.trash = Trash(self.table)
        self.lock = self.table.lock
        self.accepting = threading.Lock()
        try:
            self.trash.take_unaccepted()
            self.trash.tidy()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the folder for another server. Runs continue."""
        self.table.close()

    # Actions of people

    def accept(
        self,
        owner: str,
        name: str,
        spec: dict[str, Any],
        *,
        fill: Callable[[Path], None] = nothing,
        key: str = "",
        group: str = "",
        seconds: float = 0.0,
    ) -> Run:
        """Queue a new run.

        The folder with *spec* and the data that *fill* puts there is on the disk first, then the row; then this
        returns. The same *key* of the same owner (the button pressed five times) gives the same run. *seconds*: how
        long it is estimated to take, 0 if unknown. Raises ExplorerError if less than 1 GB is free."""
        owner, key = held(owner), held(key) or secrets.token_hex(16)
        if there := self.table.jobs("WHERE owner = ? AND key = ?", owner, key):
            return self.run(there[0].id, owner)
        self.room()
        id = secrets.token_hex(16)
        self.write(self.folder / id, spec, fill)
        with self.accepting:  # after the files are written, so that nobody waits for other people's files
            if there := self.table.jobs("WHERE owner = ? AND key = ?", owner, key):
                shutil.rmtree(self.folder / id, ignore_errors=True)
                return self.run(there[0].id, owner)
            try:
                self.table.ask(
                    'INSERT INTO jobs (id, owner, key, name, "group", created, seconds, place)'
                    " SELECT ?, ?, ?, ?, ?, ?, ?, coalesce(max(place), 0) + 1 FROM jobs",
                    *(id, owner, key, runs.scrub(name) or f"Run {id[:8]}", held(group), time.time(), seconds),
                )
            except ExplorerError:
                shutil.rmtree(self.folder / id, ignore_errors=True)
                raise
        return self.run(id, owner)

    def write(self, folder: Path, spec: dict[str, Any], fill: Callable[[Path], None]) -> None:
        """Write a run's folder: all of it is on the disk when this returns, or nothing."""
        try:
            with self.table.errors_in_words():
                folder.mkdir()
                fill(folder)
                (folder / "spec.json").write_text(json.dumps(spec, indent=1), "utf-8")
                for path in [*folder.rglob("*"), folder, self.folder]:
                    flush(path)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def retry(self, id: str, owner: str | None, *, key: str = "") -> Run:
        """Start a run again from the beginning, as a new run."""
        run = self.run(id, owner)
        if run.spec is None:
            raise ExplorerError(f"The settings of {run.name} cannot be read. Set up a new run.")

        def copy(folder: Path) -> None:
            if (run.folder / "data").is_dir():
                shutil.copytree(run.folder / "data", folder / "data")

        name = run.name.removesuffix(" (again)")[: runs.MAX_NAME - 8] + " (again)"
        return self.accept(
            run.owner if owner is None else owner, name, run.spec, fill=copy, key=key, seconds=run.seconds
        )

    def resume(self, id: str, owner: str | None) -> Run:
        """Queue a stopped, failed or interrupted run, which resumes from its last commit. A queued or running one is
        left alone."""
        with self.lock:
            run = self.run(id, owner)
            if run.state in ("finished", "deleted"):
                raise ExplorerError(f"{run.name} is {run.state}; there is nothing to resume. Retry starts it again.")
            if run.state == "stopping":
                raise ExplorerError(f"{run.name} is being stopped. Resume it once it has stopped.")
            if run.state not in ("queued", "starting", "running"):
                self.room()
                log = run.folder / "events.jsonl"
                self.table.ask(
                    "UPDATE jobs SET wanted = 'queued', cause = '', since = ?,"
                    " place = (SELECT max(place) + 1 FROM jobs) WHERE id = ?",
                    *(log.stat().st_size if log.is_file() else 0, run.id),
                )
            return self.run(id, owner)

    def stop(self, id: str, owner: str | None) -> Run:
        """Ask a run to end after a commit. A queued one leaves the queue; a finished one is left alone."""
        with self.lock:
            run = self.run(id, owner)
            if run.state == "queued":
                self.table.ask("UPDATE jobs SET wanted = 'stopped' WHERE id = ?", run.id)
            elif run.state in runs.ACTIVE:
                self.table.ask("UPDATE jobs SET wanted = 'stop' WHERE id = ?", run.id)
                with self.table.errors_in_words():
                    (run.folder / "stop").touch()
            return self.run(id, owner)

    def rename(self, id: str, owner: str | None, name: str, version: int) -> Run:
        """Rename a run. *version*: that of the name that the person saw. Raises ExplorerError if the name has changed
        since."""
        with self.lock:
            job = self.job(id, owner)
            if not (title := runs.scrub(name)):
                raise ExplorerError(f"The name is empty; wanted 1 to {runs.MAX_NAME} characters. Type one.")
            if job.version != version:
                raise ExplorerError(f"Meanwhile the run was renamed to “{job.name}”. Check it, then rename it.")
            self.table.ask("UPDATE jobs SET name = ?, version = version + 1 WHERE id = ?", title, job.id)
            with self.table.errors_in_words():
                (self.place(job) / "name").write_text(title, "utf-8")  # for people who look at the folder only
            return self.run(id, owner)

    def delete(self, id: str, owner: str | None) -> None:
        """Move a run to the trash; `restore` brings it back for a week. Raises ExplorerError while it is running."""
        with self.lock:
            run = self.run(id, owner)
            if run.state in runs.ACTIVE:
                raise ExplorerError(f"{run.name} is {run.state}. Stop it first, then delete it.")
            if run.state != "deleted":
                sql = "UPDATE jobs SET wanted = 'deleted', key = id, deleted = ? WHERE id = ?"
                self.table.ask(sql, self.table.now(), run.id)
            self.trash.tidy()

    def restore(self, id: str, owner: str | None) -> Run:
        """Restore a deleted run: as it ended, or else as stopped."""
        with self.lock:
            run = self.run(id, owner)
            if run.state == "deleted":
                self.trash.move(run.folder, self.folder / run.id)
                self.table.ask("UPDATE jobs SET wanted = 'stopped' WHERE id = ?", run.id)
            return self.run(id, owner)

    def erase(self, id: str, owner: str | None) -> None:
        """Remove a deleted run for good, to make room. Raises ExplorerError if it is not deleted."""
        with self.lock:
            run = self.run(id, owner)
            if run.state != "deleted":
                raise ExplorerError(f"{run.name} is {run.state}. Delete it first.")
            self.trash.remove(run.folder)

    # Queries

    def job(self, id: str, owner: str | None) -> Job:
        """The row of one run."""
        found = self.table.jobs(f"WHERE id = ? AND {OWN}", held(id), *self.who(owner))
        if not found:
            raise ExplorerError(f"There is no run {runs.scrub(id, 40)!r} here (any more). Choose one from the list.")
        return found[0]

    def run(self, id: str, owner: str | None) -> Run:
        """One run in its current state."""
        return self.seen([self.job(id, owner)])[0]

    def runs(self, owner: str | None = None, *, deleted: bool = False) -> list[Run]:
        """The runs of one owner, or of all (None), newest first. *deleted*: the deleted ones instead."""
        which = "=" if deleted else "<>"
        rest = f"WHERE {OWN} AND wanted {which} 'deleted' ORDER BY number DESC"
        return self.seen(self.table.jobs(rest, *self.who(owner)))

    def ids(self, owner: str) -> set[str]:
        """The ids of the runs of one owner that are not deleted; reads no folder."""
        rest = f"WHERE {OWN} AND wanted <> 'deleted'"
        return {job.id for job in self.table.jobs(rest, *self.who(owner))}

    def who(self, owner: str | None) -> tuple[str | None, str | None, str | None]:
        """The parameters of the SQL condition OWN."""
        asks = owner if owner is None else held(owner)
        return asks, asks, "" if self.shared else asks

    def seen(self, jobs: list[Job]) -> list[Run]:
        waits = self.line() if any(job.wanted == "queued" for job in jobs) else {}
        found = [runs.read(self.place(job), job) for job in jobs]
        return [replace(run, message=waits.get(run.id, "")) if run.state == "queued" else run for run in found]

    def place(self, job: Job) -> Path:
        """The folder of a job, in the trash if it is deleted."""
        return (self.trash.folder if job.wanted == "deleted" else self.folder) / job.id

    def line(self) -> dict[str, str]:
        """The place in line of each queued run: id -> "2nd in line, about 4 min"."""
        going = [runs.read(self.place(job), job) for job in self.going()]
        ahead = [runs.left(run) for run in going if run.state in runs.ACTIVE]
        places = {}
        for n, job in enumerate(self.queued(), 1):
            known = len(ahead) >= self.slots and all(ahead)  # a run of unknown length makes the wait unknown
            about = f", {runs.duration(sum(ahead) / self.slots)}" if known else ""
            places[job.id] = f"{runs.ordinal(n)} in line{about}"
            ahead.append(job.seconds)
        return places

    # For the supervisor

    def queued(self) -> list[Job]:
        """Queued jobs, the next first."""
        return self.table.jobs("WHERE wanted = 'queued' ORDER BY place")

    def going(self) -> list[Job]:
        """Jobs that were started and have not been recorded as ended."""
        return self.table.jobs("WHERE wanted IN ('going', 'stop') ORDER BY place")

    def begun(self, id: str) -> None:
        """Record that a queued run has its process."""
        sql = "UPDATE jobs SET wanted = 'going', attempts = attempts + 1 WHERE id = ? AND wanted = 'queued'"
        self.table.ask(sql, id)

    def ended(self, id: str, cause: str) -> None:
        """Record that the process of a run is gone. *cause*: the reason in words, "" if there is nothing to say."""
        wanted = "CASE wanted WHEN 'stop' THEN 'stopped' ELSE 'ended' END"
        sql = f"UPDATE jobs SET wanted = {wanted}, cause = ? WHERE id = ? AND wanted IN ('going', 'stop')"
        self.table.ask(sql, cause, id)

    def room(self) -> None:
        """Raise ExplorerError if the disk is too full for a run."""
        with self.table.errors_in_words():
            free = shutil.disk_usage(self.folder).free
        if free < self.reserve:
            raise ExplorerError(
                f"{free / 1e9:,.2f} GB are free on this disk; a run needs {self.reserve / 1e9:,.2f} GB. "
                "Make room (deleted runs can be erased), then start it again."
            )


def held(text: str) -> str:
    """*text* as the table can hold it: without lone surrogates, and no longer than a key may be."""
    return text[:200].encode("utf-8", "replace").decode()
