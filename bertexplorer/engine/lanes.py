"""Lanes: quick views and slow ones wait in lines of their own, so that nobody waits behind another's long analysis."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bertexplorer.errors import ExplorerError
from bertexplorer.model.cores import available

MEMORY = 0.9  # how much of the mean time of an answer is kept at each new one


class Lane:
    """A bounded line. Safe to call from many threads."""

    def __init__(self, at_once: int, most_waiting: int) -> None:
        self.at_once, self.most_waiting = at_once, most_waiting
        self.ready = threading.Condition()
        self.inside = self.waiting = self.answered = self.refused = 0
        self.mean_s = 0.0

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place for as long as the block lasts. Raises ExplorerError at once if the line is full."""
        with self.ready:
            if self.waiting >= self.most_waiting:
                self.refused += 1
                wait = max(1, round((self.waiting + 1) * self.mean_s / self.at_once))
                raise ExplorerError(
                    f"Busy: {self.waiting} others wait already. Your text is kept; try again in {wait} s."
                )
            self.waiting += 1
            self.ready.wait_for(lambda: self.inside < self.at_once)
            self.waiting, self.inside = self.waiting - 1, self.inside + 1
        started = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - started
            with self.ready:
                self.mean_s = MEMORY * self.mean_s + (1 - MEMORY) * took if self.answered else took
                self.inside, self.answered = self.inside - 1, self.answered + 1
                self.ready.notify()


class Lanes:
    """The line of the quick and that of the slow."""

    def __init__(self, cores: int = 0, quick_waiting: int = 64, slow_waiting: int = 8) -> None:
        cores = cores or available()
        self.quick = Lane(cores, quick_waiting)
        self.slow = Lane(max(1, cores - 1), slow_waiting)

    def of(self, slow: bool) -> Lane:
        return self.slow if slow else self.quick
