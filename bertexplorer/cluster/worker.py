"""Worker: a process that answers the calls that come as frames on its standard input, by frames on its output.

It ends when its input does, so none outlives the server that started it."""

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import IO, Any

from bertexplorer.api.admission import FIRST_S, NEXT_S, LocalTask, Reply
from bertexplorer.cluster.replica import Replica
from bertexplorer.cluster.wire import Head, frame, read, reply_frame, settings_of

BEAT_S = 2.0  # between two signs of life


@dataclass
class Going:
    """A call that is being answered, and what was last reported of it."""

    task: LocalTask
    since: float = field(default_factory=time.monotonic)
    reported: dict[str, Any] = field(default_factory=dict)


class Worker:
    """Answers the calls that come in, many at a time. *out*: where frames go."""

    def __init__(self, replica: Replica, out: IO[bytes]) -> None:
        self.replica, self.out = replica, out
        self.frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.going: dict[int, Going] = {}
        for target in (self.write, self.report, self.warm):
            threading.Thread(target=target, daemon=True).start()

    def warm(self) -> None:
        self.frames.put(frame({"ready": self.replica.warm()}))

    def take(self, head: Head) -> None:
        """Begin a call, or stop it."""
        id: int = head["id"]
        if head.get("stop"):
            if going := self.going.get(id):
                going.task.stop()
            return
        task = self.replica.task(head)
        self.going[id] = Going(task)
        task.start(lambda line: self.tell(id, line)).add_done_callback(lambda made: self.done(id, made))

    def done(self, id: int, made: "Future[Reply]") -> None:
        self.going.pop(id, None)
        self.frames.put(reply_frame(made.result(), id=id))

    def tell(self, id: int, line: dict[str, Any]) -> None:
        self.frames.put(frame({"id": id, "line": line}))

    def write(self) -> None:
        """Write the frames of all threads, one after the other."""
        with contextlib.suppress(OSError):  # the server has gone
            while True:
                self.out.write(self.frames.get())
                self.out.flush()

    def report(self) -> None:
        """Tell how far each call has come, and that this process lives."""
        beat = 0.0
        while True:
            time.sleep(NEXT_S / 2)
            now = time.monotonic()
            for id, one in list(self.going.items()):
                if now - one.since > FIRST_S and (line := one.task.progress()) != one.reported:
                    one.reported = line
                    self.frames.put(frame({"id": id, "progress": line}))
            if now - beat > BEAT_S:
                beat = now
                self.frames.put(frame({"beat": True}))


def main() -> int:
    """Answer until the input ends. The first frame holds the settings."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no frame
    if (first := read(sys.stdin.buffer)) is None:
        return 0
    worker = Worker(Replica(settings_of(first[0]["settings"]), first[0]["threads"]), out)
    while (taken := read(sys.stdin.buffer)) is not None:
        worker.take(taken[0])
    os._exit(0)  # nobody waits for what is being computed
