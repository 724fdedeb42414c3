"""Ray runs: the process of a run on a node of a Ray cluster, in a folder that all nodes see, or in one that is carried
there over object storage.

An actor starts the same command as on this machine. It outlives the server. If its node dies, Ray starts it elsewhere,
and the run goes on from its last commit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bertexplorer.cluster.carried_run import AGAIN_S, EVERY_S, CarriedRun, unpack
from bertexplorer.cluster.ray_backend import connect
from bertexplorer.cluster.remote_folder import Refused, RemoteFolder, probe
from bertexplorer.settings import Settings
from bertexplorer.store.supervisor import SECRET, Handle, send, spawn
from bertexplorer.training import ownership

LOCKED_S = 120.0  # in which an earlier owner must have noticed that it is not the owner any more
FAILED = 70  # exit code of a run that could not be started
NAMESPACE = "bertexplorer"


class RunActor:
    """Starts the process of a run on its node and waits for its end. *url*: where its folder is, unless this node sees
    *folder*."""

    def __init__(self, command: Sequence[str], folder: str, environment: Mapping[str, str], url: str = "") -> None:
        self.command, self.folder, self.environment, self.url = command, Path(folder), dict(environment), url
        self.code: int | None = None
        self.trouble = ""
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        try:
            self.code = self.carry() if self.url else self.start().wait()
        except (OSError, ownership.Superseded) as error:
            with suppress(OSError), (self.folder / "output.txt").open("a", encoding="utf-8") as output:
                output.write(f"It could not be started: {error}\n")
            self.code = FAILED

    def start(self) -> subprocess.Popen[bytes]:
        """The process, once an earlier one has let go of the folder. Raises OSError if it does not."""
        mine = {**self.environment, ownership.VARIABLE: str(ownership.begin_epoch(self.folder))}
        until = time.monotonic() + LOCKED_S
        while True:
            try:
                return spawn((sys.executable, *self.command[1:]), self.folder, mine)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def carry(self) -> int:
        """Compute the run in a folder of this node, and write what it writes to the storage. Nothing is lost while the
        storage refuses: the run goes on, and what it has written is offered again until it is taken."""
        remote = RemoteFolder(self.url)
        with tempfile.TemporaryDirectory(prefix="bertexplorer-run-", ignore_cleanup_errors=True) as place:
            self.folder = Path(place)
            self.environment |= {ownership.PARENT: str(os.getpid())}
            while not self.taken(lambda: unpack(remote, self.folder)):
                time.sleep(AGAIN_S)
            process = self.start()
            try:
                while True:
                    code = process.poll()  # before the folder is read, so that its last words are in it
                    if self.taken(lambda: remote.push(self.folder)) and code is not None:
                        return code
                    time.sleep(AGAIN_S if self.trouble else EVERY_S)
            except ownership.Superseded:
                send(self.folder, signal.SIGKILL)
                return process.wait()

    def taken(self, action: Callable[[], object]) -> bool:
        """Do *action*; False if the storage refuses, for the server to say."""
        try:
            action()
        except Refused as error:
            self.trouble = str(error)
            return False
        self.trouble = ""
        return True

    def poll(self) -> tuple[int | None, str]:
        """The exit code of the process, None while it has none; and what refuses, "" if nothing does."""
        return self.code, self.trouble

    def send(self, number: int) -> None:
        """Send a signal to the process."""
        send(self.folder, number)

    def stop(self) -> None:
        """Ask the process to end after a commit."""
        (self.folder / "stop").touch()


class RayRun:
    """The handle of an actor. `poll` never waits for the cluster."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.asked: Any = None
        self.code: int | None = None
        self.trouble = ""

    def poll(self) -> int | None:
        import ray
        from ray.exceptions import ActorDiedError, RayError

        if self.code is None:
            self.asked = self.asked or self.actor.poll.remote()
            if ray.wait([self.asked], timeout=0.02)[0]:
                self.trouble = ""
                try:
                    self.code, self.trouble = ray.get(self.asked)
                except ActorDiedError:
                    self.code = -9  # for good: somebody has ended it
                except RayError:  # its node has died, and it is on its way to another one
                    pass
                self.asked = None
                if self.code is not None:
                    ray.kill(self.actor)
        return self.code

    def stop(self) -> None:
        self.actor.stop.remote()


def room(nodes: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """(runs at a time, GPUs of each) on *nodes*, as ray.nodes() describes them: a run for each GPU or, if there are
    none, for each node with a core."""
    found = [one["Resources"] for one in nodes if one["Alive"] and one["Resources"].get("CPU", 0) >= 1]
    gpus = sum(int(one.get("GPU", 0)) for one in found)
    return (gpus, 1) if gpus else (max(1, len(found)), 0)


class RayRuns:
    """Starts runs on the cluster that *settings* name. Raises ExplorerError if there is none, or if the storage cannot
    be written."""

    def __init__(self, settings: Settings) -> None:
        connect(settings)
        import ray

        self.slots, self.gpus = room(ray.nodes())
        self.url = settings.runs_url.rstrip("/")
        if self.url:
            probe(self.url)

    def start(self, command: Sequence[str], folder: Path) -> Handle:
        if self.url:
            return CarriedRun(folder, self.place(folder), lambda: self.begin(command, folder))
        return self.begin(command, folder)

    def begin(self, command: Sequence[str], folder: Path) -> RayRun:
        import ray

        passed = {name: value for name, value in os.environ.items() if name.startswith(("BERTEXPLORER_", "HF_"))}
        environment = {name: value for name, value in passed.items() if not SECRET.search(name)}
        actor = ray.remote(RunActor).options(
            name=folder.name,
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            num_cpus=1,
            num_gpus=self.gpus,
            max_restarts=-1,
        )
        return RayRun(actor.remote(tuple(command), str(folder), environment, self.place(folder)))

    def place(self, folder: Path) -> str:
        """Where the storage has the run, "" if the nodes see its folder."""
        return f"{self.url}/{folder.name}" if self.url else ""

    def find(self, folder: Path) -> Handle | None:
        """The run that an earlier server has started, if it is still there."""
        there = self.there(folder)
        if there is None or not self.url:
            return there
        return CarriedRun(folder, self.place(folder), lambda: there, there)

    def there(self, folder: Path) -> RayRun | None:
        import ray

        try:
            return RayRun(ray.get_actor(folder.name, namespace=NAMESPACE))
        except ValueError:
            return None

    def send(self, folder: Path, number: int) -> None:
        if found := self.there(folder):
            found.actor.send.remote(int(number))
