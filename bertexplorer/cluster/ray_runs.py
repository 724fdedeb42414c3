"""Ray runs: the process of a run on a node of a Ray cluster, in a folder that all nodes see.

An actor starts the same command as on this machine. It outlives the server. If its node dies, Ray starts it elsewhere,
and the run goes on from its last commit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bertexplorer.cluster.ray_backend import connect
from bertexplorer.settings import Settings
from bertexplorer.store.supervisor import SECRET, send, spawn
from bertexplorer.training import epoch

LOCKED_S = 120.0  # in which an earlier owner must have noticed that it is not the owner any more
FAILED = 70  # exit code of a run that could not be started
NAMESPACE = "bertexplorer"


class RunActor:
    """Starts the process of a run on its node and waits for its end."""

    def __init__(self, command: Sequence[str], folder: str, environment: Mapping[str, str]) -> None:
        self.command, self.folder, self.environment = command, Path(folder), environment
        self.process: subprocess.Popen[bytes] | None = None
        self.code: int | None = None
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        try:
            self.code = self.start().wait()
        except OSError as error:
            with suppress(OSError), (self.folder / "output.txt").open("a", encoding="utf-8") as output:
                output.write(f"It could not be started: {error}\n")
            self.code = FAILED

    def start(self) -> subprocess.Popen[bytes]:
        """The process, once an earlier one has let go of the folder. Raises OSError if it does not."""
        mine = {**self.environment, epoch.VARIABLE: str(epoch.succeed(self.folder))}
        until = time.monotonic() + LOCKED_S
        while True:
            try:
                return spawn((sys.executable, *self.command[1:]), self.folder, mine)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def poll(self) -> int | None:
        """The exit code of the process, None while it has none."""
        return self.code

    def send(self, number: int) -> None:
        """Send a signal to the process."""
        send(self.folder, number)


class RayRun:
    """The handle of an actor. `poll` never waits for the cluster."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.asked: Any = None
        self.code: int | None = None

    def poll(self) -> int | None:
        import ray
        from ray.exceptions import ActorDiedError, RayError

        if self.code is None:
            self.asked = self.asked or self.actor.poll.remote()
            if ray.wait([self.asked], timeout=0.02)[0]:
                try:
                    self.code = ray.get(self.asked)
                except ActorDiedError:
                    self.code = -9  # for good: somebody has ended it
                except RayError:  # its node has died, and it is on its way to another one
                    pass
                self.asked = None
                if self.code is not None:
                    ray.kill(self.actor)
        return self.code


def room(nodes: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """(runs at a time, GPUs of each) on *nodes*, as ray.nodes() describes them: a run for each GPU or, if there are
    none, for each node with a core."""
    found = [one["Resources"] for one in nodes if one["Alive"] and one["Resources"].get("CPU", 0) >= 1]
    gpus = sum(int(one.get("GPU", 0)) for one in found)
    return (gpus, 1) if gpus else (max(1, len(found)), 0)


class RayRuns:
    """Starts runs on the cluster that *settings* name. Raises ExplorerError if there is none."""

    def __init__(self, settings: Settings) -> None:
        connect(settings)
        import ray

        self.slots, self.gpus = room(ray.nodes())

    def start(self, command: Sequence[str], folder: Path) -> RayRun:
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
        return RayRun(actor.remote(tuple(command), str(folder), environment))

    def find(self, folder: Path) -> RayRun | None:
        """The run that an earlier server has started, if it is still there."""
        import ray

        try:
            return RayRun(ray.get_actor(folder.name, namespace=NAMESPACE))
        except ValueError:
            return None

    def send(self, folder: Path, number: int) -> None:
        if found := self.find(folder):
            found.actor.send.remote(int(number))
