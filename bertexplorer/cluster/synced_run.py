"""A run on a cluster, followed by the server. Without a shared disk, its folder is synchronized with the node over
object storage."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from bertexplorer import locks
from bertexplorer.cluster.remote_folder import RemoteFolder
from bertexplorer.errors import describe

SYNC_S = 1.0  # between two looks at a run
RETRY_S = 5.0  # after an error
log = logging.getLogger(__name__)


class NodeRun(Protocol):
    """A run that is computed on a node, such as RayRun. *error*: what keeps it from going on, or ""."""

    error: str

    def poll(self) -> int | None: ...

    def stop(self) -> None: ...

    def release(self) -> None:
        """Free what the run occupies on the cluster, once it has ended and its folder is complete."""


class FollowedRun:
    """The server's side of a run on a node that sees its folder. A thread starts the run with *start_on_node* and
    follows it to its end, as a cluster may take any time to answer. *node_run*: the run that an earlier server has
    started.

    While the thread runs, it holds the lock of RUN/*lock_name*, by which the run counts as started before it has
    a process, and after its node has died. RUN/trouble contains what keeps the run from going on. The thread retries
    whatever fails."""

    lock_name = "launch"

    def __init__(self, folder: Path, start_on_node: Callable[[], NodeRun], node_run: NodeRun | None = None) -> None:
        self.folder = folder
        self.start_on_node = start_on_node
        self.node_run = node_run
        self.exit_code: int | None = None  # once the whole folder is here
        self.node_exit_code: int | None = None  # as soon as the process has ended
        self.closing = threading.Event()
        self.logged = ""  # the last error in the log
        self.lock = locks.acquire(folder / self.lock_name)
        if self.lock is None:
            raise BlockingIOError(0, "another server watches it")
        if node_run is None:
            (folder / "stop").unlink(missing_ok=True)  # left by an earlier stop
        self.thread = threading.Thread(target=self.work, name="follow", daemon=True)
        self.thread.start()

    def poll(self) -> int | None:
        """The exit code once the whole folder is here, None until then. Never waits."""
        return self.exit_code

    def close(self) -> None:
        """Leave the run to another server."""
        self.closing.set()
        self.thread.join()

    @property
    def stopping(self) -> bool:
        """Whether somebody wants the run to stop."""
        return (self.folder / "stop").exists()

    def work(self) -> None:
        """Follow the run, then release its lock."""
        try:
            self.exit_code = self.follow()
        finally:
            if self.lock:
                self.lock.close()

    def follow(self) -> int | None:
        """Start the run and follow it to its end. Return its exit code, None if the server ends first."""
        started = self.node_run is not None or self.retry(self.start, until=lambda: self.stopping)
        if self.closing.is_set():
            return None
        if not started or self.node_run is None:  # stopped before it started
            self.attempt(self.discard)
            return 0
        while self.node_exit_code is None:
            self.attempt(self.sync)
            if self.node_exit_code is None and self.closing.wait(SYNC_S):
                return None
        if not self.finish():
            return None
        if not self.retry(self.node_run.release):
            return None
        end_trouble(self.folder, self.node_run.error)
        return self.node_exit_code

    def start(self) -> None:
        """Start the run on a node."""
        self.node_run = self.start_on_node()

    def sync(self) -> None:
        """Forward a stop, and note whether the process has ended."""
        assert self.node_run is not None
        self.node_exit_code = self.node_run.poll()
        if self.node_exit_code is None and self.stopping:
            self.node_run.stop()

    def finish(self) -> bool:
        """Complete the folder of a run that has ended. False if the server ends first."""
        return True

    def discard(self) -> None:
        """Delete what a run that was stopped before its start has uploaded."""

    def retry(self, action: Callable[[], object], until: Callable[[], bool] = lambda: False) -> bool:
        """Do *action*, again and again until it succeeds. False if *until* comes true first, or the server ends."""
        while not self.attempt(action):
            if until() or self.closing.wait(RETRY_S):
                return False
        return True

    def attempt(self, action: Callable[[], object]) -> bool:
        """Do *action*. If it fails, write the error to RUN/trouble and return False; else write what the node
        reports."""
        try:
            action()
        except Exception as error:  # from the storage, the cluster or the disk
            if str(error) != self.logged:
                log.warning("a run on the cluster waits", extra={"run": self.folder.name, "error": str(error)})
            self.logged = str(error)
            write_trouble(self.folder, f"{describe(error).rstrip('.')}. The server retries every {RETRY_S:.0f} s.")
            return False
        reported = ""
        if self.node_run and self.node_exit_code is None:
            reported = self.node_run.error
        write_trouble(self.folder, reported)
        return True


class SyncedRun(FollowedRun):
    """The server's side of a run on a node that does not see its folder. The thread also uploads the folder to *url*,
    downloads what the run writes, and empties the storage after the end of the run."""

    lock_name = "process"

    def __init__(
        self, folder: Path, url: str, start_on_node: Callable[[], NodeRun], node_run: NodeRun | None = None
    ) -> None:
        self.remote = RemoteFolder(url)
        super().__init__(folder, start_on_node, node_run)

    def start(self) -> None:
        """Upload the folder, including what a run whose node was lost had written, and start the run."""
        if not self.has_gone_on():
            self.remote.pull(self.folder)
        checkpoint = Path(json.loads((self.folder / "spec.json").read_text("utf-8"))["folder"])
        if not checkpoint.exists():
            raise FileNotFoundError("The checkpoint that the run starts from is no longer there. Stop the run")
        self.remote.take_ownership()
        self.remote.push(self.folder, {"checkpoint": checkpoint})
        super().start()

    def sync(self) -> None:
        """Also download what the run has written."""
        super().sync()
        self.remote.pull(self.folder)

    def has_gone_on(self) -> bool:
        """Whether the run was resumed in its folder, so that the storage has an older state or lacks a part of it."""
        log = self.folder / "events.jsonl"
        here = log.read_bytes() if log.is_file() else b""
        return not self.remote.read_log(log.name).startswith(here[: here.rfind(b"\n") + 1])

    def discard(self) -> None:
        if self.remote.owner:  # all that an earlier node had written is here
            self.remote.delete()

    def finish(self) -> bool:
        return self.retry(lambda: self.remote.pull(self.folder)) and self.retry(self.remote.delete)


def write_trouble(folder: Path, error: str) -> None:
    """Have the page show *error* with the run in *folder*; "" removes the last one."""
    path = folder / "trouble"
    partial = folder / ".trouble.partial"
    with suppress(OSError):  # the disk may be full
        if error:
            partial.write_text(error, "utf-8")
            partial.replace(path)  # in one step, so that the page never reads half of it
        else:
            path.unlink(missing_ok=True)


def end_trouble(folder: Path, error: str) -> None:
    """The run in *folder* has ended. Add the *error* that ended it, if any, to its output."""
    write_trouble(folder, "")
    if error:
        with suppress(OSError), (folder / "output.txt").open("a", encoding="utf-8") as output:
            output.write(f"{error}\n")


def prepare_folder(remote: RemoteFolder, folder: Path) -> None:
    """Download the newest state of a run to a *folder* of this node, with the checkpoint that it starts from, and
    become the owner. Raises OSError and Superseded."""
    remote.take_ownership()
    if not remote.pull(folder, inputs=True) and not remote.state:
        raise FileNotFoundError("The storage has no such run")
    path = folder / "spec.json"
    spec = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**spec, "folder": str(folder / "inputs" / "checkpoint")}), "utf-8")
    remote.push(folder)
