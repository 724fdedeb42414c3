"""Worker link: the server's side of one worker. Restarts its process and keeps track of its pending calls."""

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

from bertexplorer.api.admission import Reply, SendLine, problem
from bertexplorer.cluster.wire import Header, decode_reply, pack_frame, read_frame
from bertexplorer.settings import ROOT

COMMAND = (sys.executable, "-m", "bertexplorer", "worker")
SLOW_LOAD = 4.0  # a slow call counts as this many quick ones
RESTART_PAUSES_S = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)  # by how many starts in a row have failed
log = logging.getLogger(__name__)


class RemoteTask:
    """A call that a worker answers. *routing_key*: its checkpoint and its text. *dispatch*: sends the task to a
    worker."""

    def __init__(self, header: Header, routing_key: tuple[str, str], dispatch: Callable[[RemoteTask], None]) -> None:
        self.header = header
        self.routing_key = routing_key
        self.dispatch = dispatch
        self.result: Future[Reply] = Future()
        self.link: WorkerLink | None = None
        self.id = 0  # among the tasks of its link
        self.deaths = 0  # processes that have ended while they computed it
        self.last_progress: dict[str, Any] = {}
        self.stopped = False
        self.send_line: SendLine = lambda line: None

    @property
    def load(self) -> float:
        return SLOW_LOAD if self.header["slow"] else 1.0

    def start(self, send_line: SendLine) -> Future[Reply]:
        """Send the call to a worker, whose lines go to *send_line*, and return the reply to come."""
        self.send_line = send_line
        self.result.set_running_or_notify_cancel()
        self.dispatch(self)
        return self.result

    def progress(self) -> dict[str, Any]:
        return self.last_progress

    def stop(self) -> None:
        """Nobody waits for the reply any more: have the worker stop, and reply so."""
        self.stopped = True
        if self.link:
            self.link.cancel(self)
        self.reply(problem(499, "Stopped", "Stopped before it was done."))

    def reply(self, reply: Reply) -> None:
        """Give *reply* to whoever waits, unless there was one before."""
        with suppress(InvalidStateError):  # another thread may just have stopped the task; the first reply counts
            self.result.set_result(reply)


class WorkerLink:
    """The process of one worker, and its successors. *setup*: the first frame for each process. *on_end*: called when
    a process has ended, with the tasks that it had not answered."""

    def __init__(
        self,
        name: str,
        setup: Header,
        on_end: Callable[[WorkerLink, list[RemoteTask]], None],
        command: Sequence[str] = COMMAND,
    ) -> None:
        self.name = name
        self.setup = setup
        self.on_end = on_end
        self.command = command
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.tasks: dict[int, RemoteTask] = {}  # those that the process has not answered, by id
        self.last_id = 0
        self.answered = 0  # calls
        self.restarts = 0
        self.failures = 0  # starts in a row that have failed
        self.alive = False
        self.ready = threading.Event()
        self.warm_up_error = ""
        self.last_frame_at = 0.0
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.keep_running, name=f"worker {name}", daemon=True)
        self.thread.start()

    @property
    def load(self) -> float:
        with self.lock:
            return sum(task.load for task in self.tasks.values())

    def send(self, task: RemoteTask) -> bool:
        """Send *task* to the process; False if no process is running."""
        with self.lock:
            if not self.alive:
                return False
            self.last_id += 1
            task.id = self.last_id
            task.link = self
            task.last_progress = {}
            self.tasks[task.id] = task
            self.frames.put(pack_frame({**task.header, "id": task.id}))
        return True

    def cancel(self, task: RemoteTask) -> None:
        """Have the process stop *task*, as nobody waits for it any more."""
        with self.lock:
            if self.tasks.get(task.id) is task:
                del self.tasks[task.id]
                self.frames.put(pack_frame({"id": task.id, "stop": True}))

    def handle(self, header: Header, body: bytes) -> None:
        """Handle a frame from the process."""
        self.last_frame_at = time.monotonic()
        if "ready" in header:
            self.warm_up_error = header["ready"]
            self.failures = 0
            self.ready.set()
        elif "status" in header:
            with self.lock:
                task = self.tasks.pop(header["id"], None)
                if task:
                    self.answered += 1
            if task:
                task.reply(decode_reply(header, body))
        elif task := self.tasks.get(header.get("id", 0)):
            if "line" in header:
                task.send_line(header["line"])
            else:
                task.last_progress = header["progress"]

    def keep_running(self) -> None:
        """Restart the process whenever it ends, until `close`."""
        longest = len(RESTART_PAUSES_S) - 1
        while not self.closing.wait(RESTART_PAUSES_S[min(self.failures, longest)]):
            try:
                self.run_process()
            except OSError:
                log.exception("a worker could not be started", extra={"worker": self.name})
            if not self.ready.is_set():
                self.failures += 1
            with self.lock:
                self.alive = False
                unanswered = list(self.tasks.values())
                self.tasks.clear()
            self.ready.clear()
            self.frames.put(None)  # ends `write_frames`
            self.frames = queue.SimpleQueue()
            if not self.closing.is_set():
                self.restarts += 1
                fields = {"worker": self.name, "in_flight": len(unanswered)}
                log.warning("a worker ended; restarting it", extra=fields)
            self.on_end(self, unanswered)

    def run_process(self) -> None:
        """Start the process and handle its frames until it ends. Raises OSError if it cannot be started."""
        threads = str(self.setup["threads"])
        environment = {name: value for name, value in os.environ.items() if name != "BERTEXPLORER_CODE"}
        with subprocess.Popen(
            self.command,
            cwd=ROOT,
            env=environment | {"OMP_NUM_THREADS": threads},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that Ctrl-C in a terminal reaches only the server
        ) as self.process:
            assert self.process.stdin and self.process.stdout
            self.last_frame_at = time.monotonic()
            self.frames.put(pack_frame(self.setup))
            writer = threading.Thread(target=self.write_frames, args=(self.process.stdin, self.frames), daemon=True)
            writer.start()
            with self.lock:
                self.alive = True
            while (frame := read_frame(self.process.stdout)) is not None:
                self.handle(*frame)
            self.process.kill()
            with suppress(OSError):  # it has ended before it had read everything
                self.process.stdin.close()

    def write_frames(self, stream: Any, frames: queue.SimpleQueue[bytes | None]) -> None:
        """Write *frames* to *stream* as they come, until None comes."""
        with suppress(OSError, ValueError):  # the process has ended, which `keep_running` notices
            while (frame := frames.get()) is not None:
                stream.write(frame)
                stream.flush()

    def kill(self) -> None:
        """End the process; `keep_running` starts another one."""
        if self.process:
            self.process.kill()

    def close(self) -> None:
        """End the process for good."""
        self.closing.set()
        self.kill()
        self.thread.join(10)
