"""The job supervisor: starts queued runs as separate processes, one after the other, and notices how they end.

A run's process outlives the server. RUN/process names it, and is locked from the moment it starts until it is gone.
Its stdout and stderr go to RUN/output.txt."""

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
from bertexplorer.settings import ROOT
from bertexplorer.store import runs
from bertexplorer.store.jobs import Jobs
from bertexplorer.store.runs import Job, Run

COMMAND = (sys.executable, "-m", "bertexplorer", "train")  # and the run's folder
SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|BERTEXPLORER_CODE", re.IGNORECASE)
MEMORY = re.compile(r"MemoryError|out of memory|not enough memory|can.t allocate memory|bad_alloc", re.IGNORECASE)
SMALLER = "Try a smaller batch or shorter texts."
FULL = 20_000_000  # free bytes below which a run cannot even write down why it ended
ATTEMPTS = 3  # how often a run is resumed automatically

log = logging.getLogger("bertexplorer.store.trainer")  # the name that readers of the log know


class Handle(Protocol):
    """A run that was started."""

    def poll(self) -> int | None:
        """The exit code of its process, None while it has none."""


class Launcher(Protocol):
    """Where runs are computed. *slots*: how many at a time."""

    slots: int

    def start(self, command: Sequence[str], folder: Path) -> Handle:
        """Start *command* for the run in *folder*. Raises OSError."""

    def find(self, folder: Path) -> Handle | None:
        """A run that an earlier server has started, if it must be asked how it ended."""

    def send_signal(self, folder: Path, number: int) -> None:
        """Send a signal to the process of a run."""


class Processes:
    """Runs are processes of this machine."""

    slots = 1

    def start(self, command: Sequence[str], folder: Path) -> Handle:
        return spawn(command, folder)

    def find(self, folder: Path) -> Handle | None:
        return None  # its lock says whether it lives

    def send_signal(self, folder: Path, number: int) -> None:
        send_signal(folder, number)


class JobSupervisor:
    """A thread of the server. It adopts the runs that are alive when it starts. Interrupted ones wait until a person
    resumes them, unless *resume_interrupted*."""

    def __init__(
        self,
        jobs: Jobs,
        command: Sequence[str] = COMMAND,
        *,
        slots: int = 0,
        poll_s: float = 0.5,
        patience_s: float = 20.0,
        resume_interrupted: bool = False,
        launcher: Launcher | None = None,
    ) -> None:
        """*slots*: runs at a time, 0: as the *launcher* says. *patience_s*: seconds from RUN/stop to SIGTERM."""
        self.launcher: Launcher = launcher or Processes()
        self.jobs, self.command, self.slots = jobs, tuple(command), slots or self.launcher.slots
        self.poll_s, self.patience_s = poll_s, patience_s
        jobs.slots = self.slots
        self.children: dict[str, Handle] = {}
        self.asked: dict[str, float] = {}  # when a run was first asked to stop; infinite once it was sent SIGTERM
        self.causes: dict[str, str] = {}  # why runs ended, until it is written down
        self.closing = threading.Event()
        for job in jobs.going() if resume_interrupted else ():
            self.take_up(job)
        self.thread = threading.Thread(target=self.work, name="trainer", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """End the thread. The runs continue, and the next supervisor adopts them."""
        self.closing.set()
        self.thread.join()

    def stop(self, id: str, owner: str | None, *, kill: bool = False) -> Run:
        """Ask a run to end after a commit. *kill*: end it now, and lose everything after its last commit."""
        with self.jobs.lock:
            run = self.jobs.stop(id, owner)
            if kill and run.state in runs.ACTIVE:
                self.launcher.send_signal(run.folder, signal.SIGKILL)
        return run

    def work(self) -> None:
        while not self.closing.is_set():
            try:
                self.tick()
            except Exception:  # a full disk, say: the runs continue, and the next tick tries again
                log.exception("The queue of runs cannot be worked on; it is tried again.")
            self.closing.wait(self.poll_s)

    def tick(self) -> None:
        """Notice ended runs, stop those that should stop, start the next."""
        with self.jobs.lock:
            busy = sum([self.goes(job) for job in self.jobs.going()])
            for job in self.jobs.queued():
                if busy >= self.slots:
                    break
                busy += self.start(job)

    def goes(self, job: Job) -> bool:
        """Whether the run still has its process. If not, its end is recorded."""
        folder = self.jobs.place(job)
        if job.id not in self.children and (found := self.launcher.find(folder)):
            self.children[job.id] = found
        child = self.children.get(job.id)
        code = child.poll() if child else None  # reaps the process
        if runs.alive(folder) or (child and code is None):
            if job.wanted == "stop":
                self.press(job.id, folder)
            return True
        ended = runs.read(folder, job).state in runs.LAST  # or asked to stop
        why = self.causes.setdefault(job.id, "" if ended else cause(code, folder))
        self.jobs.ended(job.id, why)  # raises while the disk is full
        for kept in (self.children, self.asked, self.causes):
            kept.pop(job.id, None)
        return False

    def press(self, id: str, folder: Path) -> None:
        """Write RUN/stop, again if a run that was just starting removed it; later send SIGTERM."""
        (folder / "stop").touch()
        if time.monotonic() - self.asked.setdefault(id, time.monotonic()) > self.patience_s:
            self.asked[id] = float("inf")
            self.launcher.send_signal(folder, signal.SIGTERM)

    def start(self, job: Job) -> bool:
        """Start the process of a queued run, unless the run has one already or has ended: a server may have died after
        starting it and before recording that."""
        folder = self.jobs.place(job)
        try:
            if not runs.alive(folder) and runs.read(folder, replace(job, wanted="going")).state not in runs.LAST:
                self.children[job.id] = self.launcher.start(self.command, folder)
        except OSError as error:
            self.jobs.begun(job.id)
            self.jobs.ended(job.id, f"It could not be started ({error.strerror or error}).")
            return False
        self.jobs.begun(job.id)
        return True

    def take_up(self, job: Job) -> None:
        """Queue a run that was interrupted while no server was running."""
        with self.jobs.lock:
            if job.attempts < ATTEMPTS and runs.read(self.jobs.place(job), job).state == "interrupted":
                with suppress(ExplorerError):  # the disk is full: it stays interrupted
                    self.jobs.resume(job.id, None)


def spawn(
    command: Sequence[str], folder: Path, more: Mapping[str, str] = MappingProxyType({})
) -> "subprocess.Popen[bytes]":
    """Start the process of a run, which holds the lock of RUN/process from its first moment on. *more*: of its
    environment. Raises OSError."""
    (folder / "stop").unlink(missing_ok=True)
    held = locks.hold(folder / "process")
    if held is None:
        raise BlockingIOError(0, "another process has it")
    with held, (folder / "output.txt").open("ab") as output:
        process = subprocess.Popen(
            [*command, str(folder)],
            cwd=ROOT,
            env=environment({**os.environ, **more}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(held.fileno(),) if os.name == "posix" else (),
        )
        locks.name(held, process.pid)
    if hasattr(os, "setpriority"):
        with suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, 19)
    return process


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a run's process: no secrets, one thread."""
    kept = {name: value for name, value in given.items() if not SECRET.search(name)}
    return kept | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def send_signal(folder: Path, number: int) -> None:
    """Send a signal to the process of a run, if a server started it and it is still the same process. SIGKILL goes to
    its children too."""
    if pid := locks.holder(folder / "process"):
        with suppress(ProcessLookupError):
            (os.killpg if number == signal.SIGKILL else os.kill)(pid, number)


def cause(code: int | None, folder: Path) -> str:
    """Why a process ended without a final event, from its exit *code* (None: nobody was watching) and its output."""
    said = runs.last_words(folder)
    if shutil.disk_usage(folder).free < FULL:
        return "The disk was full. Make room, then resume it."
    if MEMORY.search(said):
        return f"Memory ran out. {SMALLER}"
    if code is None:
        how = "It ended while no server was watching it"
    elif code == -signal.SIGKILL:
        return f"It was killed, perhaps because memory ran out. {SMALLER}"
    elif code < 0:
        how = f"It was ended by {signal.Signals(-code).name}"
    else:
        how = f"It ended with exit code {code}"
    return f"{how}: {said}" if said else f"{how}."
