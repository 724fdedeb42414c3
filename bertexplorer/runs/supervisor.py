"""The job supervisor: starts queued runs as separate processes in order, and records how they end.

The process of a run outlives the server. RUN/process contains its pid, and is locked from its start to its end. Its
stdout and stderr go to RUN/output.txt."""

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from bertexplorer import locks
from bertexplorer.errors import ExplorerError
from bertexplorer.runs import run_folder
from bertexplorer.runs.jobs import Jobs
from bertexplorer.runs.run_folder import Job, Run
from bertexplorer.settings import ROOT
from bertexplorer.store.sandbox import environment

COMMAND = (sys.executable, "-m", "bertexplorer", "train")  # and the run's folder
OUT_OF_MEMORY = re.compile(
    r"MemoryError|out of memory|not enough memory|can.t allocate memory|bad_alloc", re.IGNORECASE
)
MEMORY_ADVICE = "Try a smaller batch or shorter texts."
FULL_BYTES = 20_000_000  # with less free, a run cannot even record why it ended
MAX_ATTEMPTS = 3  # starts of a run, after which it is not resumed automatically

log = logging.getLogger("bertexplorer.store.trainer")  # a name that log configurations may use


class Handle(Protocol):
    """A run that was started."""

    def poll(self) -> int | None:
        """The exit code of its process, None while it has none."""


class Launcher(Protocol):
    """Where runs are computed."""

    @property
    def slots(self) -> int:
        """The number of concurrent runs, which may change while the server runs."""

    def start(self, command: Sequence[str], folder: Path) -> Handle:
        """Start *command* for the run in *folder*, without waiting for it. Raises OSError."""

    def find(self, folder: Path) -> Handle | None:
        """The handle of a run that an earlier server has started; None if its lock alone shows whether it is alive.
        Raises ExplorerError if that is unknown, as a cluster does not answer."""

    def send_signal(self, folder: Path, number: int) -> None:
        """Send a signal to the process of a run. Raises ExplorerError if a cluster does not answer."""


class Processes:
    """Starts runs as processes of this machine."""

    slots = 1

    def start(self, command: Sequence[str], folder: Path) -> Handle:
        return spawn(command, folder)

    def find(self, folder: Path) -> Handle | None:
        return None

    def send_signal(self, folder: Path, number: int) -> None:
        send_signal(folder, number)


class JobSupervisor:
    """A thread of the server. It adopts the runs that are alive when it starts. Interrupted runs wait until a person
    resumes them, unless *resume_interrupted*."""

    def __init__(
        self,
        jobs: Jobs,
        command: Sequence[str] = COMMAND,
        *,
        slots: int | None = None,
        poll_s: float = 0.5,
        patience_s: float = 20.0,
        resume_interrupted: bool = False,
        launcher: Launcher | None = None,
    ) -> None:
        """*slots*: concurrent runs, None: as the *launcher* says. *patience_s*: seconds from RUN/stop to SIGTERM."""
        self.launcher: Launcher = launcher or Processes()
        self.jobs = jobs
        self.command = tuple(command)
        self.slots = slots
        self.poll_s, self.patience_s = poll_s, patience_s
        self.children: dict[str, Handle] = {}
        self.stopped_at: dict[str, float] = {}  # when a run was first asked to stop; infinite after SIGTERM
        self.causes: dict[str, str] = {}  # why runs ended, until the table has it
        self.closing = threading.Event()
        for job in jobs.started() if resume_interrupted else ():
            self.resume_if_interrupted(job)
        self.thread = threading.Thread(target=self.work, name="trainer", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """End the thread. The runs continue, and the next supervisor adopts them."""
        self.closing.set()
        self.thread.join()

    def stop(self, id: str, owner: str | None, *, kill: bool = False) -> Run:
        """Ask a run to end after a commit. *kill*: end it now, and lose everything after its last commit."""
        run = self.jobs.stop(id, owner)
        if kill and run.state in run_folder.ACTIVE_STATES:
            self.launcher.send_signal(run.folder, signal.SIGKILL)
        return run

    def work(self) -> None:
        """The loop of the thread."""
        while not self.closing.is_set():
            try:
                self.tick()
            except Exception:  # such as a full disk; the runs continue
                log.exception("The queue of runs cannot be processed; the server retries.")
            self.closing.wait(self.poll_s)

    def tick(self) -> None:
        """Record ended runs, stop those that should stop, start the next."""
        slots = self.launcher.slots if self.slots is None else self.slots
        self.jobs.slots = max(1, slots)
        busy = 0
        for job in self.jobs.started():  # without the lock: a cluster may answer late
            busy += self.is_running(job)
        with self.jobs.lock:
            for job in self.jobs.queued():
                if busy >= slots:
                    break
                busy += self.start(job)

    def is_running(self, job: Job) -> bool:
        """Whether the run still has its process. If not, this records its end."""
        folder = self.jobs.folder_of(job)
        if job.id not in self.children:
            try:
                handle = self.launcher.find(folder)
            except ExplorerError:
                return True
            if handle:
                self.children[job.id] = handle
        child = self.children.get(job.id)
        code = child.poll() if child else None  # reaps the process
        if run_folder.is_alive(folder) or (child and code is None):
            if job.wanted == "stop":
                self.request_stop(job.id, folder)
            return True
        state = run_folder.read(folder, job).state
        explained = state in run_folder.FINAL_EVENTS  # by its last event, or it was asked to stop
        cause = self.causes.setdefault(job.id, "" if explained else explain_end(code, folder))
        self.jobs.mark_ended(job.id, cause)  # raises while the disk is full
        self.children.pop(job.id, None)
        self.stopped_at.pop(job.id, None)
        self.causes.pop(job.id, None)
        return False

    def request_stop(self, id: str, folder: Path) -> None:
        """Write RUN/stop, again if a run that was just starting removed it; later send SIGTERM."""
        (folder / "stop").touch()
        if time.monotonic() - self.stopped_at.setdefault(id, time.monotonic()) > self.patience_s:
            with suppress(ExplorerError):  # the next tick tries again
                self.launcher.send_signal(folder, signal.SIGTERM)
                self.stopped_at[id] = float("inf")

    def start(self, job: Job) -> bool:
        """Start the process of a queued run, unless it has one already or has ended, as a server may have died after
        starting it and before recording that. Returns whether it counts as started."""
        folder = self.jobs.folder_of(job)
        try:
            is_alive = run_folder.is_alive(folder)
            has_ended = run_folder.read(folder, replace(job, wanted="going")).state in run_folder.FINAL_EVENTS
            if not is_alive and not has_ended:
                self.children[job.id] = self.launcher.start(self.command, folder)
        except OSError as error:
            self.jobs.mark_started(job.id)
            self.jobs.mark_ended(job.id, f"It could not be started ({error.strerror or error}).")
            return False
        self.jobs.mark_started(job.id)
        return True

    def resume_if_interrupted(self, job: Job) -> None:
        """Queue a run that was interrupted while no server was running."""
        with self.jobs.lock:
            if job.attempts < MAX_ATTEMPTS and run_folder.read(self.jobs.folder_of(job), job).state == "interrupted":
                with suppress(ExplorerError):  # the disk is full: it stays interrupted
                    self.jobs.resume(job.id, None)


def spawn(
    command: Sequence[str], folder: Path, variables: Mapping[str, str] = MappingProxyType({})
) -> "subprocess.Popen[bytes]":
    """Start the process of a run, which holds the lock of RUN/process from its start on. *variables*: are added to its
    environment. Raises OSError."""
    (folder / "stop").unlink(missing_ok=True)
    lock = locks.acquire(folder / "process")
    if lock is None:
        raise BlockingIOError(0, "another process uses it")
    with lock, (folder / "output.txt").open("ab") as output:
        process = subprocess.Popen(
            [*command, str(folder)],
            cwd=ROOT,
            env=environment({**os.environ, **variables}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock.fileno(),) if os.name == "posix" else (),
        )
        locks.write_process(lock, process.pid)
    if hasattr(os, "setpriority"):
        with suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, 19)
    return process


def send_signal(folder: Path, number: int) -> None:
    """Send a signal to the process of a run, if a server started it and the pid is still that process. SIGKILL also
    goes to its children."""
    pid = locks.holder_pid(folder / "process")
    if not pid:
        return
    with suppress(ProcessLookupError):
        if number == signal.SIGKILL:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


def explain_end(code: int | None, folder: Path) -> str:
    """Why a process ended without a final event, from its exit *code* (None if no server was running) and its
    output."""
    output = run_folder.last_output(folder)
    if shutil.disk_usage(folder).free < FULL_BYTES:
        return "The disk was full. Make room, then resume it."
    if OUT_OF_MEMORY.search(output):
        return f"Memory ran out. {MEMORY_ADVICE}"
    if code is None:
        end = "It ended while no server was running"
    elif code == -signal.SIGKILL:
        return f"It was killed, perhaps because memory ran out. {MEMORY_ADVICE}"
    elif code < 0:
        end = f"It was ended by {signal.Signals(-code).name}"
    else:
        end = f"It ended with exit code {code}"
    return f"{end}: {output}" if output else f"{end}."
