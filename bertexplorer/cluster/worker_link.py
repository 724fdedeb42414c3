"""Worker link: the front's end of one worker. Starts its process again and again, knows what is in flight."""

from __future__ import annotations

import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from bertexplorer.api.admission import Reply, Tell, problem
from bertexplorer.cluster.wire import Head, frame, read, reply_of
from bertexplorer.settings import ROOT

COMMAND = (sys.executable, "-m", "bertexplorer", "worker")
SLOW_LOAD = 4.0  # how many quick calls a slow one counts for
PAUSES_S = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)  # before a start, by how many starts in a row have failed
log = logging.getLogger(__name__)


class RemoteTask:
    """A call on its way to a worker, and its reply on its way back."""

    def __init__(self, head: Head, asks: tuple[str, str], give: Callable[[RemoteTask], None]) -> None:
        self.head, self.asks, self.give = head, asks, give
        self.result: Future[Reply] = Future()
        self.link: WorkerLink | None = None
        self.id = self.deaths = 0
        self.news: dict[str, Any] = {}
        self.stopped = False
        self.tell: Tell = lambda line: None

    @property
    def load(self) -> float:
        return SLOW_LOAD if self.head["slow"] else 1.0

    def start(self, tell: Tell) -> Future[Reply]:
        self.tell = tell
        self.result.set_running_or_notify_cancel()
        self.give(self)
        return self.result

    def progress(self) -> dict[str, Any]:
        return self.news

    def stop(self) -> None:
        self.stopped = True
        if self.link:
            self.link.drop(self)
        self.reply(problem(499, "Stopped", "Stopped before it was done."))

    def reply(self, reply: Reply) -> None:
        with suppress(InvalidStateError):  # the first reply counts: another thread may have stopped the task just now
            self.result.set_result(reply)


class WorkerLink:
    """*first*: the frame that every new process is given. *lost*: takes what was in flight in a process that ended."""

    def __init__(
        self,
        name: str,
        first: Head,
        lost: Callable[[WorkerLink, list[RemoteTask]], None],
        command: Sequence[str] = COMMAND,
    ) -> None:
        self.name, self.first, self.lost, self.command = name, first, lost, command
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.tasks: dict[int, RemoteTask] = {}
        self.number = self.answered = self.restarts = self.failures = 0
        self.alive = False
        self.ready = threading.Event()
        self.error = ""  # of its first answer, which it computes before anyone asks
        self.seen = 0.0
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.run, name=f"worker {name}", daemon=True)
        self.thread.start()

    @property
    def load(self) -> float:
        with self.lock:
            return sum(task.load for task in self.tasks.values())

    def send(self, task: RemoteTask) -> bool:
        """Give *task* to the process; False if there is none."""
        with self.lock:
            if not self.alive:
                return False
            self.number += 1
            task.id, task.link, task.news = self.number, self, {}
            self.tasks[task.id] = task
            self.frames.put(frame({**task.head, "id": task.id}))
        return True

    def drop(self, task: RemoteTask) -> None:
        """Nobody waits for *task* any more."""
        with self.lock:
            if self.tasks.get(task.id) is task:
                del self.tasks[task.id]
                self.frames.put(frame({"id": task.id, "stop": True}))

    def hear(self, head: Head, body: bytes) -> None:
        """Take a frame of the process."""
        self.seen = time.monotonic()
        if "ready" in head:
            self.error, self.failures = head["ready"], 0
            self.ready.set()
        elif "status" in head:
            with self.lock:
                task = self.tasks.pop(head["id"], None)
                self.answered += task is not None
            if task:
                task.reply(reply_of(head, body))
        elif task := self.tasks.get(head.get("id", 0)):
            if "line" in head:
                task.tell(head["line"])
            else:
                task.news = head["progress"]

    def run(self) -> None:
        """Keep a process running until `close`."""
        while not self.closing.wait(PAUSES_S[min(self.failures, len(PAUSES_S) - 1)]):
            try:
                self.live()
            except OSError:
                log.exception("a worker could not be started", extra={"worker": self.name})
            self.failures += not self.ready.is_set()
            with self.lock:
                self.alive, left = False, list(self.tasks.values())
                self.tasks.clear()
            self.ready.clear()
            self.frames.put(None)
            self.frames = queue.SimpleQueue()
            if not self.closing.is_set():
                self.restarts += 1
                log.warning("a worker ended and is started again", extra={"worker": self.name, "in_flight": len(left)})
            self.lost(self, left)

    def live(self) -> None:
        """Start the process and hear it until it ends. Raises OSError if it cannot be started."""
        threads = str(self.first["threads"])
        kept = {name: value for name, value in os.environ.items() if name != "BERTEXPLORER_CODE"}
        with subprocess.Popen(
            self.command,
            cwd=ROOT,
            env=kept | {"OMP_NUM_THREADS": threads},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a terminal's Ctrl-C is for the server
        ) as self.process:
            assert self.process.stdin and self.process.stdout
            self.seen = time.monotonic()
            self.frames.put(frame(self.first))
            writer = threading.Thread(target=self.write, args=(self.process.stdin, self.frames), daemon=True)
            writer.start()
            with self.lock:
                self.alive = True
            while (heard := read(self.process.stdout)) is not None:
                self.hear(*heard)
            self.process.kill()

    def write(self, stream: Any, frames: queue.SimpleQueue[bytes | None]) -> None:
        with suppress(OSError, ValueError):  # it has ended, which `run` notices
            while (one := frames.get()) is not None:
                stream.write(one)
                stream.flush()

    def kill(self) -> None:
        """End the process; `run` starts another one."""
        if self.process:
            self.process.kill()

    def close(self) -> None:
        self.closing.set()
        self.kill()
        self.thread.join(10)
