"""Request queues: quick and long work wait in separate queues, so nobody waits for someone else's long analysis."""

import ctypes
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from bertexplorer.engine.progress import Stopped, Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.scheduler import available_cores

TOGETHER = 16  # quick requests for each core that are answered at once: those that wait for a core share a pass
SLOW_WAITING = 8  # requests to slow views that may wait
SMOOTHING = 0.9  # of the moving average of the time that an answer takes: the weight of the old one


def return_freed_memory() -> None:
    """Give back to the system what long work has freed, which glibc keeps for the thread that asked for it."""
    with suppress(OSError, AttributeError):  # other systems have another library, and do without
        ctypes.CDLL("libc.so.6").malloc_trim(0)


class Busy(ExplorerError):
    """Raised if the queue is full. *seconds*: when to try again."""

    def __init__(self, others: int, seconds: int) -> None:
        super().__init__(f"Busy: {others} others are already waiting. Your text is kept; try again in {seconds} s.")
        self.seconds = seconds


@dataclass(eq=False)
class Ticket:
    """One piece of work in a queue."""

    work: Work
    turn: threading.Event = field(default_factory=threading.Event)
    since: float = 0.0  # when its turn came, by time.monotonic; 0.0 while it waits


class RequestQueue:
    """A bounded queue: first come, first served. Safe to call from many threads."""

    def __init__(self, capacity: int, max_waiting: int) -> None:
        """*capacity*: requests that are answered at once; *max_waiting*: others that may wait."""
        self.capacity = capacity
        self.max_waiting = max_waiting
        self.lock = threading.Lock()
        self.line: deque[Ticket] = deque()
        self.active: list[Ticket] = []
        self.answered = 0
        self.refused = 0
        self.mean_s = 0.0  # of the time that an answer takes

    @property
    def waiting(self) -> int:
        return len(self.line)

    def enter(self, work: Work, *, again: bool = False) -> Ticket:
        """Wait for the turn of *work* and return its ticket. *again*: it gave back its place, so a full queue takes it.
        Raises Busy at once if the queue is full, and Stopped if *work* is dropped from it."""
        ticket = Ticket(work)
        with self.lock:
            if work.stopped:
                raise Stopped
            if len(self.active) < self.capacity:
                self.admit(ticket)
            elif self.waiting >= self.max_waiting and not again:
                self.refused += 1
                raise Busy(self.waiting, self.seconds(self.waiting))
            else:
                self.line.append(ticket)
        ticket.turn.wait()
        if not ticket.since:
            raise Stopped
        return ticket

    def admit(self, ticket: Ticket) -> None:
        """Admit *ticket*. The caller holds the lock."""
        ticket.since = time.monotonic()
        self.active.append(ticket)
        ticket.turn.set()

    def leave(self, ticket: Ticket) -> None:
        """Free the place of *ticket* for the first in the queue."""
        with self.lock:
            duration = time.monotonic() - ticket.since
            if self.answered == 0:
                self.mean_s = duration
            else:
                self.mean_s = SMOOTHING * self.mean_s + (1 - SMOOTHING) * duration
            self.answered += 1
            self.active.remove(ticket)
            if self.line:
                self.admit(self.line.popleft())

    def drop(self, work: Work) -> None:
        """Take *work* out of the queue if it waits there."""
        with self.lock:
            for ticket in list(self.line):
                if ticket.work is work:
                    self.line.remove(ticket)
                    ticket.turn.set()

    def seconds(self, position: int) -> int:
        """The estimated seconds until the request at *position* (1: the first) is answered, by the mean of the
        answers so far. It is more if the current ones already take longer."""
        now = time.monotonic()
        ages_s = [now - ticket.since for ticket in self.active]
        seconds_each = max([self.mean_s, *ages_s])
        return max(1, round((position + 1) * seconds_each / self.capacity))

    def position(self, work: Work) -> int:
        """The position of *work* in the queue (1: the first); 0 if it does not wait."""
        with self.lock:
            for position, ticket in enumerate(self.line, 1):
                if ticket.work is work:
                    return position
        return 0


class RequestQueues:
    """The queue of quick requests and that of slow ones."""

    def __init__(
        self,
        cores: int = 0,
        quick_waiting: int = 50,
        slow_waiting: int = SLOW_WAITING,
        limit: int = 0,
        together: int = TOGETHER,
    ) -> None:
        """*limit*: tokens that one question may compute, 0 for any number. *together*: quick requests for each core
        that are answered at once."""
        cores = cores or available_cores()
        self.limit = limit
        self.quick = RequestQueue(together * cores, quick_waiting)
        self.slow = RequestQueue(max(1, cores - 1), slow_waiting)

    def new_work(self) -> Work:
        """A new Work for one question."""
        return Work(self.limit)

    @contextmanager
    def turn(self, work: Work, *, slow: bool = False) -> Iterator[None]:
        """Wait for the turn of *work* and hold it while the block runs: in the slow queue if *slow*, or once *work*
        proves long. Raises Busy if the queue is full, and Stopped if *work* was stopped."""
        queue = self.slow if slow else self.quick
        tickets: list[tuple[RequestQueue, Ticket]] = []

        def move() -> None:
            """Move to the slow queue, after giving back the place in the quick one."""
            if tickets and tickets[0][0] is self.slow:
                return
            for queue, ticket in tickets:
                queue.leave(ticket)
            tickets.clear()
            tickets.append((self.slow, self.slow.enter(work)))

        @contextmanager
        def aside() -> Iterator[None]:
            """Give back the place, and take one again after the block."""
            held = [queue for queue, _ in tickets]
            for queue, ticket in tickets:
                queue.leave(ticket)
            tickets.clear()
            yield  # an error needs no place any more
            tickets.extend((queue, queue.enter(work, again=True)) for queue in held)

        work.on_long = move
        work.on_aside = aside
        tickets.append((queue, queue.enter(work)))
        try:
            with working(work):
                work.check()
                yield
        finally:
            if any(queue is self.slow for queue, _ in tickets):
                return_freed_memory()
            for queue, ticket in tickets:
                queue.leave(ticket)

    def stop(self, work: Work) -> None:
        """End *work* before its next batch, or take it out of its queue. Safe to call from another thread."""
        work.stopped = True
        for queue in (self.quick, self.slow):
            queue.drop(work)

    @property
    def max_requests(self) -> int:
        """How many requests both queues can hold at once, in progress or waiting."""
        return sum(queue.capacity + queue.max_waiting for queue in (self.quick, self.slow))

    def progress(self, work: Work) -> dict[str, int | float]:
        """The progress of *work*. If it waits: its `place` in the queue and the `seconds` until its answer. If it is
        long, or has taken long: the share that is `done` and the `seconds` left. Empty if the answer is near."""
        for queue in (self.slow, self.quick):
            position = queue.position(work)
            if position:
                return {"place": position, "seconds": queue.seconds(position)}
        shown = work.leader or work
        if not shown.shown or shown.seconds_left is None:
            return {}
        return {"done": round(shown.done / shown.total, 3), "seconds": max(1, round(shown.seconds_left))}
