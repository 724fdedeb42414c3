"""Ray runs: the process of a run on a node of a Ray cluster. All nodes see its folder, or the folder is synchronized
over object storage.

A detached actor starts the same command as on this machine, and outlives the server. If its node dies, Ray restarts it
on another one, where the run resumes from its last commit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Any

from bertexplorer.cluster.check import check_storage
from bertexplorer.cluster.ray_connection import connect, reach_head
from bertexplorer.cluster.remote_folder import RemoteFolder, StorageError
from bertexplorer.cluster.synced_run import (
    RETRY_S,
    SYNC_S,
    FollowedRun,
    SyncedRun,
    prepare_folder,
)
from bertexplorer.errors import ExplorerError, describe
from bertexplorer.runs.supervisor import Handle, send_signal, spawn
from bertexplorer.settings import Settings
from bertexplorer.store.sandbox import SECRET
from bertexplorer.training import ownership

LOCK_TIMEOUT_S = 120.0  # in which an earlier owner must have noticed that it has been superseded
STOP_S = 60.0  # for which a stopped run that has ended tries to upload its last output
NODES_S = 30.0  # between two looks at the nodes
PATIENCE_S = 10.0  # until the page says that a run has no node
SIGNAL_TIMEOUT_S = 3.0
START_FAILED = 70  # exit code of a run that could not be started
NAMESPACE = "bertexplorer"
NO_CORE = "It waits for a free core of the cluster."
NO_CLUSTER = "The Ray cluster does not answer."
NO_ANSWER = "The node on which it runs does not answer. It goes on as soon as the cluster answers."


class RunActor:
    """Starts the process of a run on its node and waits for it to end. *url*: where its folder is stored; "" if this
    node sees *folder*."""

    def __init__(self, command: Sequence[str], folder: str, environment: Mapping[str, str], url: str = "") -> None:
        self.command = command
        self.folder = Path(folder)
        self.environment = dict(environment)
        self.url = url
        self.exit_code: int | None = None
        self.error = ""
        self.stopping = threading.Event()  # a stop was asked for
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        """Compute the run to its end, and note how it ended."""
        try:
            if self.url:
                self.exit_code = self.run_synced()
            else:
                self.exit_code = self.start_process().wait()
        except Exception as error:  # of the disk, the storage or what it contains; the server reports it
            self.error = f"It could not be started: {describe(error)}"
            self.exit_code = START_FAILED

    def start_process(self) -> subprocess.Popen[bytes]:
        """Start the process once an earlier one has released the folder. Raises OSError if that takes too long."""
        environment = {**self.environment, ownership.VARIABLE: str(ownership.begin_epoch(self.folder))}
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                return spawn((sys.executable, *self.command[1:]), self.folder, environment)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def run_synced(self) -> int:
        """Compute the run in a temporary folder and upload what it writes. While the storage fails, the run continues
        and the uploads are retried; after a stop, for STOP_S."""
        remote = RemoteFolder(self.url)
        with tempfile.TemporaryDirectory(prefix="bertexplorer-run-", ignore_cleanup_errors=True) as folder:
            self.folder = Path(folder)
            self.environment |= {ownership.PARENT: str(os.getpid())}
            while not self.attempt(lambda: prepare_folder(remote, self.folder)):
                if self.stopping.wait(RETRY_S):
                    return 0
            process = self.start_process()
            try:
                return self.upload(remote, process)
            except BaseException as error:
                send_signal(self.folder, signal.SIGKILL)  # before its folder is removed
                exit_code = process.wait()
                if isinstance(error, ownership.Superseded):
                    return exit_code
                raise

    def upload(self, remote: RemoteFolder, process: subprocess.Popen[bytes]) -> int:
        """Upload what the process writes, until it has ended and everything is uploaded, or a stop has waited for that
        for STOP_S. Return its exit code."""
        deadline = inf  # set once it has ended and was stopped
        while True:
            exit_code = process.poll()  # before the upload, which then includes its last output
            uploaded = self.attempt(lambda: remote.push(self.folder), OSError)
            if exit_code is not None and (uploaded or time.monotonic() > deadline):
                return exit_code
            if exit_code is not None and self.stopping.is_set():
                deadline = min(deadline, time.monotonic() + STOP_S)
            time.sleep(RETRY_S if self.error else SYNC_S)

    def attempt(self, action: Callable[[], object], errors: type[OSError] = StorageError) -> bool:
        """Do *action*. If it raises one of *errors*, keep it for the server and return False."""
        try:
            action()
        except errors as error:
            self.error = describe(error)
            return False
        self.error = ""
        return True

    def poll(self) -> tuple[int | None, str]:
        """Return (exit code of the process or None, why it could not be started or what fails at the moment, or "")."""
        return self.exit_code, self.error

    def send(self, number: int) -> None:
        """Send a signal to the process."""
        self.stopping.set()
        send_signal(self.folder, number)

    def stop(self) -> None:
        """Ask the process to end after a commit."""
        self.stopping.set()
        (self.folder / "stop").touch()


class RayRun:
    """The handle of an actor. *error*: what keeps the run from going on, or ""."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.pending_poll: Any = None
        self.asked_at = 0.0
        self.placed = False  # a node has taken it
        self.exit_code: int | None = None
        self.error = ""

    def poll(self) -> int | None:
        """The exit code of the run, None while it goes on or waits for a node. Asks the actor without waiting for it,
        and sets `error`."""
        import ray
        from ray.exceptions import ActorDiedError, RayError

        if self.exit_code is not None:
            return self.exit_code
        if self.pending_poll is None:
            self.pending_poll = self.actor.poll.remote()
            self.asked_at = time.monotonic()
        answered, _ = ray.wait([self.pending_poll], timeout=0.02)
        if not answered:
            if time.monotonic() - self.asked_at > PATIENCE_S:
                self.error = NO_ANSWER if self.placed else NO_CORE
            return None
        self.error = ""
        code = None
        try:
            code, self.error = ray.get(self.pending_poll)
            self.placed = True
        except ActorDiedError as error:
            if self.placed:  # somebody has killed it permanently
                code = -9
            else:
                code = START_FAILED
                why = describe(str(error).strip().splitlines()[-1])[:200]
                self.error = f"It could not be started on its node: {why}"
        except RayError:  # its node has died, and Ray restarts it on another one
            self.placed = False
        self.pending_poll = None
        self.exit_code = code
        return code

    def stop(self) -> None:
        """Ask the run to end after a commit, if a node has taken it."""
        if self.placed:
            self.actor.stop.remote()

    def release(self) -> None:
        """End the actor, which has done its work."""
        import ray

        ray.kill(self.actor)

    def send(self, number: int) -> None:
        """Send a signal to the process. An actor that does not answer is given up."""
        import ray

        if not ray.wait([self.actor.send.remote(number)], timeout=SIGNAL_TIMEOUT_S)[0]:
            ray.kill(self.actor)


def capacity(nodes: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return (concurrent runs, GPUs of each) on *nodes*, as ray.nodes() describes them: one run per GPU or, without
    GPUs, one per node with a core."""
    resources = [node["Resources"] for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    gpus = sum(int(resource.get("GPU", 0)) for resource in resources)
    if gpus:
        return gpus, 1
    return max(1, len(resources)), 0


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Turn errors of a cluster that does not answer into an ExplorerError. Its head is tried first, as some calls of
    Ray wait for it for hours."""
    from ray.exceptions import RayError

    try:
        reach_head()
        yield
    except (RayError, OSError, RuntimeError) as error:
        raise ExplorerError(NO_CLUSTER) from error


class RayRuns:
    """Starts runs on the cluster that *settings* name. Raises ExplorerError if it cannot be joined, or if the storage
    cannot be written."""

    def __init__(self, settings: Settings) -> None:
        connect(settings)
        import ray

        self.known_slots, self.gpus = capacity(ray.nodes())
        self.looked_at = time.monotonic()
        self.url = settings.runs_url.rstrip("/")
        if self.url:
            check_storage(self.url)

    @property
    def slots(self) -> int:
        """Concurrent runs on the nodes that the cluster has now, or had when it last answered."""
        import ray

        if time.monotonic() - self.looked_at > NODES_S:
            with suppress(ExplorerError), cluster_errors():
                self.known_slots, gpus = capacity(ray.nodes())
                self.gpus = gpus or self.gpus  # those that are away for a moment are waited for
            self.looked_at = time.monotonic()
        return self.known_slots

    def start(self, command: Sequence[str], folder: Path) -> Handle:
        """Start *command* for the run in *folder* on a node, as soon as one is free; returns at once."""
        if self.url:
            return SyncedRun(folder, self.url_of(folder), lambda: self.start_actor(command, folder))
        return FollowedRun(folder, lambda: self.start_actor(command, folder))

    def start_actor(self, command: Sequence[str], folder: Path) -> RayRun:
        """The actor of the run in *folder*, a new one unless it has one. Raises ExplorerError if the cluster does not
        answer."""
        import ray

        environment = {}
        for name, value in os.environ.items():
            if name.startswith(("BERTEXPLORER_", "HF_")) and not SECRET.search(name):
                environment[name] = value
        actor = ray.remote(RunActor).options(
            name=folder.name,
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            num_cpus=1,
            num_gpus=self.gpus,
            max_restarts=-1,
        )
        with cluster_errors():
            return RayRun(actor.remote(tuple(command), str(folder), environment, self.url_of(folder)))

    def url_of(self, folder: Path) -> str:
        """Where the storage has the run, "" if the nodes see its folder."""
        return f"{self.url}/{folder.name}" if self.url else ""

    def find(self, folder: Path) -> Handle | None:
        """The run that an earlier server has started, None if there is none."""
        run = self.find_actor(folder)
        if run is None:
            return None
        if self.url:
            return SyncedRun(folder, self.url_of(folder), lambda: run, run)
        return FollowedRun(folder, lambda: run, run)

    def find_actor(self, folder: Path) -> RayRun | None:
        """The actor of the run in *folder*, None if there is none. Raises ExplorerError if the cluster does not
        answer."""
        import ray

        with cluster_errors(), suppress(ValueError):
            return RayRun(ray.get_actor(folder.name, namespace=NAMESPACE))
        return None

    def send_signal(self, folder: Path, number: int) -> None:
        """Send a signal to the process of the run in *folder*, if there is one. Raises as `find_actor` does."""
        if run := self.find_actor(folder):
            run.send(int(number))
