"""Worker: a process that reads calls as frames from its standard input and writes replies as frames to its output.

It ends when its input ends, so it never outlives the server that started it."""

import contextlib
import os
import queue
import signal
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import IO, Any

from bertexplorer.api.admission import FIRST_REPORT_S, REPORT_INTERVAL_S, LocalTask, Reply
from bertexplorer.cluster.replica import Replica
from bertexplorer.cluster.wire import Header, decode_settings, encode_reply, pack_frame, read_frame

HEARTBEAT_S = 2.0  # between two signs of life


@dataclass
class PendingCall:
    """A call that is being answered, and the progress that was last reported."""

    task: LocalTask
    since: float = field(default_factory=time.monotonic)
    reported: dict[str, Any] = field(default_factory=dict)


class Worker:
    """Answers calls, many concurrently. *out*: the stream to which frames are written."""

    def __init__(self, replica: Replica, out: IO[bytes]) -> None:
        self.replica = replica
        self.out = out
        self.frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.pending: dict[int, PendingCall] = {}
        for target in (self.write_frames, self.report_progress, self.warm_up):
            threading.Thread(target=target, daemon=True).start()

    def warm_up(self) -> None:
        self.frames.put(pack_frame({"ready": self.replica.warm_up()}))

    def handle(self, header: Header) -> None:
        """Start a call, or stop it."""
        id: int = header["id"]
        if header.get("stop"):
            if call := self.pending.get(id):
                call.task.stop()
            return
        task = self.replica.task(header)
        self.pending[id] = PendingCall(task)
        reply = task.start(lambda line: self.send_line(id, line))
        reply.add_done_callback(lambda reply: self.send_reply(id, reply))

    def send_reply(self, id: int, reply: "Future[Reply]") -> None:
        self.pending.pop(id, None)
        self.frames.put(encode_reply(reply.result(), id=id))

    def send_line(self, id: int, line: dict[str, Any]) -> None:
        self.frames.put(pack_frame({"id": id, "line": line}))

    def write_frames(self) -> None:
        """Write the frames of all threads one after the other."""
        with contextlib.suppress(OSError):  # the server has ended
            while True:
                self.out.write(self.frames.get())
                self.out.flush()

    def report_progress(self) -> None:
        """Report the progress of each call, and that this process is alive."""
        last_heartbeat = 0.0
        while True:
            time.sleep(REPORT_INTERVAL_S / 2)
            now = time.monotonic()
            for id, call in list(self.pending.items()):
                if now - call.since <= FIRST_REPORT_S:
                    continue
                progress = call.task.progress()
                if progress != call.reported:
                    call.reported = progress
                    self.frames.put(pack_frame({"id": id, "progress": progress}))
            if now - last_heartbeat > HEARTBEAT_S:
                last_heartbeat = now
                self.frames.put(pack_frame({"beat": True}))


def main() -> int:
    """Answer calls until the input ends. The first frame contains the settings. Standard input and output of this
    process lead elsewhere afterwards."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    frames = os.fdopen(os.dup(0), "rb")
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # libraries may read stdin, and exit() closes it
    os.dup2(2, 1)  # libraries may print to stdout, which must contain frames only
    first = read_frame(frames)
    if first is None:
        return 0
    setup, _ = first
    worker = Worker(Replica(decode_settings(setup["settings"]), setup["threads"]), out)
    while (frame := read_frame(frames)) is not None:
        header, _ = frame
        worker.handle(header)
    os._exit(0)  # nobody waits for the pending calls
