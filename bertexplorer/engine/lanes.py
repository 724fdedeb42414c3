"""Lanes: quick work and long work wait in lines of their own, so that nobody waits behind another's long analysis."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bertexplorer.engine.presence import Presence
from bertexplorer.engine.progress import Stopped, Work, working
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
    left: bool = False  # its page asked for something else, or was closed, while it waited


class Lane:
    """A bounded line, first come, first served. Safe to call from many threads."""

    def __init__(self, at_once: int, most_waiting: int, gone: Callable[[str], bool] = lambda page: False) -> None:
        """*gone*: whether a page was closed; it loses its place in line."""
        self.at_once, self.most_waiting, self.gone = at_once, most_waiting, gone
        self.lock = threading.Lock()
        self.line: deque[Ticket] = deque()
        self.inside: list[Ticket] = []
        self.answered = self.refused = 0
        self.mean_s = 0.0

    @property
    def waiting(self) -> int:
        return len(self.line)

    def enter(self, mine: Ticket) -> Ticket:
        """*mine* once it has a place, or has left the line: its page, if it has a name, asked again, and the later
        question took its place. Raises ExplorerError at once if the line is full."""
        with self.lock:
            self.drop_gone()
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

    def drop_gone(self) -> None:
        """The lock is held."""
        for ticket in [one for one in self.line if self.gone(one.page)]:
            self.line.remove(ticket)
            ticket.left = True
            ticket.turn.set()

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
            self.drop_gone()
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


class Place:
    """The place of one question, which moves to the slow lane once its work proves long."""

    def __init__(self, who: str, page: str) -> None:
        self.who, self.page = who, page
        self.lane: Lane | None = None

    def enter(self, lane: Lane) -> None:
        """Wait for a place in *lane*, the old one given back first. Raises ExplorerError if the line is full, Stopped
        if the page asked something else meanwhile or was closed."""
        if self.lane is lane:
            return
        self.leave()
        self.ticket = lane.enter(Ticket(self.who, self.page))
        if self.ticket.left:
            raise Stopped
        self.lane = lane

    def leave(self) -> None:
        if self.lane:
            self.lane.leave(self.ticket)
            self.lane = None


class Lanes:
    """The line of the quick and that of the slow."""

    def __init__(
        self, cores: int = 0, quick_waiting: int = 50, slow_waiting: int = SLOW_WAITING, limit: int = 0
    ) -> None:
        """*limit*: tokens that one question may compute, 0 for any number."""
        cores = cores or available()
        self.limit, self.presence = limit, Presence()
        self.works: dict[str, Work] = {}  # what is computed for each page
        self.quick = Lane(cores, quick_waiting, self.presence.gone)
        self.slow = Lane(max(1, cores - 1), slow_waiting, self.presence.gone)

    @contextmanager
    def work(
        self, who: str = "", page: str = "", *, slow: bool = False, stale: Callable[[], bool] = lambda: False
    ) -> Iterator[Work]:
        """The work of one question, in a place of its own for as long as the block lasts; in the slow lane if *slow*,
        or as soon as it proves long. Raises ExplorerError if the line is full, and Stopped once *page* was closed or
        asked again while this waited, or once the question is *stale*."""
        mine, work = Place(who, page), None
        try:
            mine.enter(self.of(slow))
            work = Work(self.limit, lambda: stale() or self.presence.gone(page), lambda: mine.enter(self.slow))
            self.works[page] = work
            with working(work):
                work.check()
                yield work
        finally:
            if work and self.works.get(page) is work:
                del self.works[page]
            mine.leave()

    @property
    def most(self) -> int:
        """Who may be in them at once, inside or waiting."""
        return sum(lane.at_once + lane.most_waiting for lane in (self.quick, self.slow))

    def of(self, slow: bool) -> Lane:
        return self.slow if slow else self.quick

    def progress(self, page: str) -> dict[str, float]:
        """How far the long work of *page* has come: the share that is `done`, and the `seconds` left; empty if none is
        under way."""
        work = self.works.get(page)
        if work is None or not work.long or work.seconds_left is None:
            return {}
        return {"done": round(work.done / work.total, 3), "seconds": max(1, round(work.seconds_left))}

    def stop(self, page: str) -> None:
        """End the work of *page* before its next batch."""
        if work := self.works.get(page):
            work.stop()

    def standing(self, who: str) -> dict[str, int]:
        """Where *who* stands: the `place` in line and the `seconds` that it takes; empty if *who* does not wait."""
        places = [(lane.standing(who), lane) for lane in (self.slow, self.quick)]
        return next(({"place": place, "seconds": lane.seconds(place)} for place, lane in places if place), {})
