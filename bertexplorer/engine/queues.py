"""Request queues: quick and long work wait in queues of their own, so nobody waits behind another's long analysis."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bertexplorer.engine.progress import Stopped, Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.scheduler import available

SLOW_WAITING = 8  # answers of slow views that are waited for
MEMORY = 0.9  # how much of the mean time of an answer is kept at each new one


class Busy(ExplorerError):
    """Raised where too many wait already. *seconds*: when to come again."""

    def __init__(self, others: int, seconds: int) -> None:
        super().__init__(f"Busy: {others} others wait already. Your text is kept; try again in {seconds} s.")
        self.seconds = seconds


@dataclass(eq=False)
class Ticket:
    """The place of one piece of work in a line."""

    work: Work
    turn: threading.Event = field(default_factory=threading.Event)
    since: float = 0.0  # by time.monotonic, when its turn came; 0.0 while it waits


class RequestQueue:
    """A bounded line, first come, first served. Safe to call from many threads."""

    def __init__(self, at_once: int, most_waiting: int) -> None:
        self.at_once, self.most_waiting = at_once, most_waiting
        self.lock = threading.Lock()
        self.line: deque[Ticket] = deque()
        self.inside: list[Ticket] = []
        self.answered = self.refused = 0
        self.mean_s = 0.0

    @property
    def waiting(self) -> int:
        return len(self.line)

    def enter(self, work: Work) -> Ticket:
        """The place of *work*, once its turn has come. Raises Busy at once if the line is full, and Stopped once *work*
        is dropped from it."""
        mine = Ticket(work)
        with self.lock:
            if work.stopped:
                raise Stopped
            if len(self.inside) < self.at_once:
                self.admit(mine)
            elif self.waiting >= self.most_waiting:
                self.refused += 1
                raise Busy(self.waiting, self.seconds(self.waiting))
            else:
                self.line.append(mine)
        mine.turn.wait()
        if not mine.since:
            raise Stopped
        return mine

    def admit(self, ticket: Ticket) -> None:
        """The lock is held."""
        ticket.since = time.monotonic()
        self.inside.append(ticket)
        ticket.turn.set()

    def leave(self, mine: Ticket) -> None:
        """The place goes to the first in line."""
        with self.lock:
            took = time.monotonic() - mine.since
            self.mean_s = MEMORY * self.mean_s + (1 - MEMORY) * took if self.answered else took
            self.answered += 1
            self.inside.remove(mine)
            if self.line:
                self.admit(self.line.popleft())

    def drop(self, work: Work) -> None:
        """*work* waits no longer."""
        with self.lock:
            for ticket in [one for one in self.line if one.work is work]:
                self.line.remove(ticket)
                ticket.turn.set()

    def seconds(self, place: int) -> int:
        """About how long it takes until the one at *place* (1: the first) is answered: as the mean of the
        answers so far, or longer if those on their way take longer."""
        now = time.monotonic()
        each = max([self.mean_s, *(now - one.since for one in self.inside)])
        return max(1, round((place + 1) * each / self.at_once))

    def standing(self, work: Work) -> int:
        """The place in line (1: the first) of *work*, 0 for none."""
        with self.lock:
            return next((place for place, ticket in enumerate(self.line, 1) if ticket.work is work), 0)


class RequestQueues:
    """The line of the quick and that of the slow."""

    def __init__(
        self, cores: int = 0, quick_waiting: int = 50, slow_waiting: int = SLOW_WAITING, limit: int = 0
    ) -> None:
        """*limit*: tokens that one question may compute, 0 for any number."""
        cores = cores or available()
        self.limit = limit
        self.quick = RequestQueue(cores, quick_waiting)
        self.slow = RequestQueue(max(1, cores - 1), slow_waiting)

    def new_work(self) -> Work:
        """The work of one question."""
        return Work(self.limit)

    @contextmanager
    def place(self, work: Work, *, slow: bool = False) -> Iterator[None]:
        """A place for *work* for as long as the block lasts; in the slow queue if *slow*, or as soon as it proves long.
        Raises Busy if the line is full, and Stopped once *work* was stopped."""
        queue = self.slow if slow else self.quick
        held: list[tuple[RequestQueue, Ticket]] = []

        def move() -> None:
            """Into the slow queue, the place in the quick one given back first."""
            if held and held[0][0] is self.slow:
                return
            for queue, ticket in held:
                queue.leave(ticket)
            held.clear()
            held.append((self.slow, self.slow.enter(work)))

        work.on_long = move
        held.append((queue, queue.enter(work)))
        try:
            with working(work):
                work.check()
                yield
        finally:
            for queue, ticket in held:
                queue.leave(ticket)

    def stop(self, work: Work) -> None:
        """End *work* before its next batch, or take it out of the line. Safe to call from another thread."""
        work.stopped = True
        for queue in (self.quick, self.slow):
            queue.drop(work)

    @property
    def most(self) -> int:
        """Who may be in them at once, inside or waiting."""
        return sum(queue.at_once + queue.most_waiting for queue in (self.quick, self.slow))

    def progress(self, work: Work) -> dict[str, int | float]:
        """Where *work* stands: its `place` in line and the `seconds` until its answer; the share that is `done` of long
        work and the `seconds` left; empty for what will soon be there."""
        for queue in (self.slow, self.quick):
            if place := queue.standing(work):
                return {"place": place, "seconds": queue.seconds(place)}
        if not work.long or work.seconds_left is None:
            return {}
        return {"done": round(work.done / work.total, 3), "seconds": max(1, round(work.seconds_left))}
