"""Replica: an engine that answers calls in another process, with its own checkpoints, queues and caches.

Ray is not imported here: Ray Serve is given the class RayReplica."""

import asyncio
import os
from collections.abc import AsyncIterator

from bertexplorer.api.admission import Admission, LocalTask
from bertexplorer.api.perform import perform
from bertexplorer.cluster.wire import Header, decode_call, decode_settings, encode_reply, pack_frame, unpack_frame
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.settings import QUIET, Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import VIEWS

FIRST_REPORT_S, REPORT_INTERVAL_S = 0.5, 1.0  # over Ray, a report of progress costs as much as an answer


class Replica:
    """One engine. *threads*: cores that it may use; all replicas of a machine share its cores. Sets variables of
    libraries in the environment of this process, and the views that it has."""

    def __init__(self, settings: Settings, threads: int) -> None:
        os.environ.update(QUIET)
        if settings.plugins is not None:
            VIEWS.choose(settings.plugins)  # those of the server
        self.settings = settings
        self.registry = CheckpointRegistry(settings, shared=True, cores=threads)
        self.queues = RequestQueues(threads, quick_waiting=settings.waiting, limit=settings.tokens)
        self.admission = Admission(self.queues)
        self.answerer = Answerer(self.registry.for_owner(""))
        self.opening = opening(settings)

    def warm_up(self) -> str:
        """Answer once, which loads torch and the opening checkpoint. Return the error, "" if there is none."""
        return self.answerer.answer(self.opening).error

    def task(self, header: Header) -> LocalTask:
        """Create the task of a call that `wire.encode_call` has written."""
        call, owned_runs = decode_call(header)
        answerer = self.answerer.for_owner(call.owner)
        answerer.registry.owned_runs = None if owned_runs is None else lambda owner: owned_runs
        return self.admission.task(lambda send_line: perform(answerer, self.opening, call), slow=call.slow)


class RayReplica:
    """A replica as an actor of Ray Serve. *settings*: from `wire.encode_settings`. *threads*: an argument because Ray
    does not hide the other cores of the node."""

    def __init__(self, settings: Header, threads: int) -> None:
        self.replica = Replica(decode_settings(settings), threads)
        self.error = self.replica.warm_up()

    async def warm_up_error(self) -> str:
        """The error of the first answer, "" if there is none."""
        return self.error

    async def answer(self, frame: bytes, checkpoint: str, text: str, key: str) -> AsyncIterator[bytes]:
        """Yield frames with the progress of the answer, then the answer. The router reads *checkpoint*, *text* and
        *key*."""
        header, _ = unpack_frame(frame)
        task = self.replica.task(header)
        reply = asyncio.wrap_future(task.start(lambda line: None))
        reported: Header = {}
        wait = FIRST_REPORT_S
        try:
            while not reply.done():
                await asyncio.wait({reply}, timeout=wait)
                if reply.done():
                    break
                progress = task.progress()
                if progress != reported:
                    reported = progress
                    wait = REPORT_INTERVAL_S
                    yield pack_frame({"progress": progress})
            yield encode_reply(reply.result())
        finally:
            if not reply.done():  # the server has given up this call
                task.stop()
