"""Ray replica: an engine as an actor of Ray Serve. Ray is not imported here: Serve is given the class."""

import asyncio
from collections.abc import AsyncIterator

from bertexplorer.cluster.replica import Replica
from bertexplorer.cluster.wire import Head, frame, reply_frame, settings_of, unframe

FIRST_S, NEXT_S = 0.5, 1.0  # seconds between reports of progress, each of which costs as much as an answer


class RayReplica:
    """*settings*: as `wire.settings_head` writes them. *threads*: said outright, as Ray hides no cores of a node."""

    def __init__(self, settings: Head, threads: int) -> None:
        self.replica = Replica(settings_of(settings), threads)
        self.error = self.replica.warm()

    async def opening(self) -> str:
        """The error of the first answer, "" if there is none."""
        return self.error

    async def answer(self, whole: bytes, checkpoint: str, text: str, key: str) -> AsyncIterator[bytes]:
        """Frames: how far the answer has come, then the answer. *checkpoint*, *text*, *key*: for the router."""
        task = self.replica.task(unframe(whole)[0])
        reported: Head = {}
        made = asyncio.wrap_future(task.start(lambda line: None))
        try:
            wait = FIRST_S
            while not made.done():
                await asyncio.wait({made}, timeout=wait)
                if not made.done() and (news := task.progress()) != reported:
                    reported, wait = news, NEXT_S
                    yield frame({"progress": news})
            yield reply_frame(made.result())
        finally:
            if not made.done():  # the front has given it up
                task.stop()
