"""Replica: what answers calls in a further process, with checkpoints, queues and caches of its own."""

import os

from bertexplorer.api.admission import Admission, LocalTask
from bertexplorer.api.perform import perform
from bertexplorer.cluster.wire import Head, call_of
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.settings import QUIET, Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.ui.explore import Explore, opening


class Replica:
    """One engine. *threads*: cores that it may use; Ray and N workers on one machine divide them."""

    def __init__(self, settings: Settings, threads: int) -> None:
        os.environ.update(QUIET)
        self.settings = settings
        self.library = CheckpointRegistry(settings, shared=True, cores=threads)
        self.queues = RequestQueues(threads, quick_waiting=settings.waiting, limit=settings.tokens)
        self.admission = Admission(self.queues)
        self.explore, self.opening = Explore(self.library.of("")), opening(settings)

    def warm(self) -> str:
        """Answer once, so that torch and the opening checkpoint are there. Returns the error, "" if there is none."""
        return self.explore.answer(self.opening).error

    def task(self, head: Head) -> LocalTask:
        """The answer to a call, as `wire.call_head` writes it."""
        call, owns = call_of(head)
        own = self.explore.of(call.owner)
        own.library.owned = None if owns is None else lambda owner: owns
        return self.admission.task(lambda tell: perform(own, self.opening, call), slow=call.slow)
