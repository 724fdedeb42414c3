"""A run on a cluster that shares no disk: its folder is carried to a node and back over object storage."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from bertexplorer import locks
from bertexplorer.cluster.remote_folder import RemoteFolder

EVERY_S = 1.0  # between two looks at what has changed
AGAIN_S = 5.0  # after a refusal


class OnNode(Protocol):
    """A run that is computed elsewhere, as RayRun is."""

    trouble: str

    def poll(self) -> int | None: ...

    def stop(self) -> None: ...


class CarriedRun:
    """The server's end. A thread writes the folder to *url*, has *begin* start the run, and reads what it writes until
    it has ended; then the storage is emptied. *there*: the run that an earlier server has begun.

    While the server watches, it holds the lock RUN/process. While something refuses, RUN/trouble says what, and it is
    tried again."""

    def __init__(self, folder: Path, url: str, begin: Callable[[], OnNode], there: OnNode | None = None) -> None:
        self.folder, self.begin, self.there = folder, begin, there
        self.remote = RemoteFolder(url)
        self.code: int | None = None
        self.ended: int | None = None  # the code of the process, before all that it wrote is here
        self.closing = threading.Event()
        self.held = locks.hold(folder / "process")
        if self.held is None:
            raise BlockingIOError(0, "another server watches it")
        if there is None:
            (folder / "stop").unlink(missing_ok=True)  # of an earlier time
        self.thread = threading.Thread(target=self.work, name="carrier", daemon=True)
        self.thread.start()

    def poll(self) -> int | None:
        """The exit code of the process once all that it wrote is here, None before."""
        return self.code

    def close(self) -> None:
        """Leave the run to another server."""
        self.closing.set()
        self.thread.join()

    @property
    def stopping(self) -> bool:
        return (self.folder / "stop").exists()

    def work(self) -> None:
        try:
            self.code = self.carried()
        finally:
            if self.held:
                self.held.close()

    def carried(self) -> int | None:
        begun = self.there is not None or self.tried(self.start, lambda: self.stopping)
        if self.closing.is_set():
            return None
        if not begun or self.there is None:
            return 0  # stopped before it began
        while self.ended is None:
            self.attempt(self.look)
            if self.ended is None and self.closing.wait(EVERY_S):
                return None
        arrived = self.tried(lambda: self.remote.pull(self.folder)) and self.tried(self.remote.remove)
        return self.ended if arrived else None

    def start(self) -> None:
        """Write the folder, with what an earlier run that was lost had written, and start the run there."""
        self.remote.pull(self.folder)
        self.remote.take()
        checkpoint = Path(json.loads((self.folder / "spec.json").read_text("utf-8"))["folder"])
        self.remote.push(self.folder, {"checkpoint": checkpoint})
        self.there = self.begin()

    def look(self) -> None:
        """Pass a stop on, and read what is new. Raises OSError for what refuses the node."""
        assert self.there is not None
        self.ended = self.there.poll()
        if self.ended is None and self.stopping:
            self.there.stop()
        self.remote.pull(self.folder)
        if self.there.trouble:
            raise OSError(self.there.trouble)

    def tried(self, action: Callable[[], object], given_up: Callable[[], bool] = lambda: False) -> bool:
        """Do *action*, again until nothing refuses. False if it was *given_up*, or the server ends."""
        while not self.attempt(action):
            if given_up() or self.closing.wait(AGAIN_S):
                return False
        return True

    def attempt(self, action: Callable[[], object]) -> bool:
        """Do *action*; what refuses is written to RUN/trouble."""
        trouble, aside = self.folder / "trouble", self.folder / ".trouble.partial"
        try:
            action()
        except Exception as error:  # of the storage, the cluster or the disk: said, and tried again
            with suppress(OSError):  # of a full disk
                aside.write_text(f"{error}. It is tried again every {AGAIN_S:.0f} s.", "utf-8")
                aside.replace(trouble)  # so that the page never reads half of it
            return False
        with suppress(OSError):
            trouble.unlink(missing_ok=True)
        return True


def unpack(remote: RemoteFolder, folder: Path) -> None:
    """The node's end, before the run: its folder as it was last written, with the checkpoint beside it. Raises
    OSError, and Superseded."""
    remote.take()
    if not remote.pull(folder, inputs=True) and not remote.state:
        raise FileNotFoundError(f"{remote.url} holds no run")
    path = folder / "spec.json"
    spec = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**spec, "folder": str(folder / "inputs" / "checkpoint")}), "utf-8")
    remote.push(folder)
