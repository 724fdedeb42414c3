"""Opening turns: checkpoints from outside are opened one at a time of each owner and two in all, and few may wait.

Whoever waits for a checkpoint gives back the place in the queue of answers, see `engine.progress.aside`."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from bertexplorer.engine.progress import aside
from bertexplorer.engine.queues import Busy

TOGETHER = 2
MAX_WAITING, MAX_OWN = 32, 4  # callers that wait for a checkpoint, in all and of one owner; each holds a thread
RETRY_S = 10


class OpeningTurns:
    """Thread-safe."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.opening: set[str | None] = set()  # owners whose checkpoint is being opened
        self.waiting: Counter[str | None] = Counter()  # owner -> callers that wait for one, or open it

    @contextmanager
    def wait(self, owner: str | None) -> Iterator[None]:
        """Count a caller that waits for a checkpoint while the block runs. *owner* None: the operator, who may always
        wait. Raises Busy if too many wait already."""
        with self.changed:
            if owner is not None and (self.waiting[owner] >= MAX_OWN or self.waiting.total() >= MAX_WAITING):
                raise Busy(self.waiting.total(), RETRY_S)
            self.waiting[owner] += 1
        try:
            with aside():
                yield
        finally:
            with self.changed:
                self.waiting[owner] -= 1
                if not self.waiting[owner]:
                    del self.waiting[owner]

    @contextmanager
    def turn(self, owner: str | None) -> Iterator[None]:
        """Wait for the turn of *owner*, and hold it while the block runs."""
        with self.changed:
            self.changed.wait_for(lambda: owner not in self.opening and len(self.opening) < TOGETHER)
            self.opening.add(owner)
        try:
            yield
        finally:
            with self.changed:
                self.opening.discard(owner)
                self.changed.notify_all()
