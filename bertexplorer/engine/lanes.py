"""Lanes: quick views and slow ones wait in lines of their own, so that nobody waits behind another's long analysis."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bertexplorer.errors import ExplorerError
from bertexplorer.model.cores import available

SLOW_WAITING = 8  # answers of slow views that are waited for
MEMORY = 0.9  # how much of the mean time of an answer is kept at each new one


@dataclass(eq=False)
class Ticket:
    """Someone's place in a line."""

    who: str
    page: str
    turn: threading.Event = field(default_factory=threading.Event)
    since: float = 0.0  # by time.monotonic, when its turn came
    left: bool = False  # its page asked for something else meanwhile


class Lane:
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

    @contextmanager
    def place(self, who: str = "", page: str = "") -> Iterator[bool]:
        """A place for as long as the block lasts; False if *page* (of *who*), if it has a name, asked again while it
        waited: the later question has its place in line. Raises ExplorerError at once if the line is full."""
        mine = self.enter(Ticket(who, page))
        try:
            yield not mine.left
        finally:
            self.leave(mine)

    def enter(self, mine: Ticket) -> Ticket:
        with self.lock:
            earlier = next((one for one in self.line if one.page == mine.page and one.page), None)
            if earlier:
                self.line[self.line.index(earlier)] = mine
                earlier.left = True
                earlier.turn.set()
            elif len(self.inside) < self.at_once:
                self.admit(mine)
                return mine
            elif self.waiting >= self.most_waiting:
                self.refused += 1
                raise ExplorerError(self.busy(self.waiting))
            else:
                self.line.append(mine)
        mine.turn.wait()
        return mine

    def admit(self, ticket: Ticket) -> None:
        """The lock is held."""
        ticket.since = time.monotonic()
        self.inside.append(ticket)
        ticket.turn.set()

    def leave(self, mine: Ticket) -> None:
        """The place goes to the first in line."""
        with self.lock:
            if mine.left:
                return
            took = time.monotonic() - mine.since
            self.mean_s = MEMORY * self.mean_s + (1 - MEMORY) * took if self.answered else took
            self.answered += 1
            self.inside.remove(mine)
            if self.line:
                self.admit(self.line.popleft())

    def holds(self, page: str) -> bool:
        """Whether a question of *page* waits."""
        with self.lock:
            return any(one.page == page for one in self.line)

    def busy(self, others: int) -> str:
        """What is said to whom it refuses."""
        wait = self.seconds(others)
        return f"Busy: {others} others wait already. Your text is kept; try again in {wait} s."

    def seconds(self, place: int) -> int:
        """About how long it takes until the one at *place* (1: the first) is answered: as the mean of the
        answers so far, or longer if those on their way take longer."""
        now = time.monotonic()
        each = max([self.mean_s, *(now - one.since for one in self.inside)])
        return max(1, round((place + 1) * each / self.at_once))

    def standing(self, who: str) -> int:
        """The last place in line (1: the first) of *who*, 0 for none."""
        with self.lock:
            return max((place for place, ticket in enumerate(self.line, 1) if ticket.who == who), default=0)


class Lanes:
    """The line of the quick and that of the slow."""

    def __init__(self, cores: int = 0, quick_waiting: int = 50, slow_waiting: int = SLOW_WAITING) -> None:
        cores = cores or available()
        self.quick = Lane(cores, quick_waiting)
        self.slow = Lane(max(1, cores - 1), slow_waiting)

    @property
    def most(self) -> int:
        """Who may be in them at once, inside or waiting."""
        return sum(lane.at_once + lane.most_waiting for lane in (self.quick, self.slow))

    def of(self, slow: bool) -> Lane:
        return self.slow if slow else self.quick

    def standing(self, who: str) -> dict[str, int]:
        """Where *who* stands: the `place` in line and the `seconds` that it takes; empty if *who* does not wait."""
        places = [(lane.standing(who), lane) for lane in (self.slow, self.quick)]
        return next(({"place": place, "seconds": lane.seconds(place)} for place, lane in places if place), {})
