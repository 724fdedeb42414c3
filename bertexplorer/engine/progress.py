"""Progress: how far an analysis has come, how much it may compute, and whether anyone still waits for it.

A context variable carries the work, so a loop over batches reports without being handed anything. Where there is none,
as on the command line, a report does nothing. All sizes are tokens that go through the encoder.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from bertexplorer.errors import ExplorerError

GRADIENT = 3  # a token counts as so many where gradients are taken, which takes as much longer
QUICK = 8192  # tokens; work beyond it is long, whatever asked for it


class Stopped(Exception):
    """Raised between two batches of work that nobody waits for any more."""

    def __init__(self) -> None:
        super().__init__("Stopped before it was done. Change the text or a setting to ask again.")


@dataclass(eq=False)
class Work:
    """One analysis. *limit*: tokens it may compute, 0 for any number. *on_long*: called once, before the first batch of
    work that proves long; it may wait, and may raise. *stopped*: set by any thread to end it before its next batch."""

    limit: int = 0
    on_long: Callable[[], None] = lambda: None
    done: int = 0
    total: int = 0  # as far as is known
    long: bool = False
    stopped: bool = False
    started: float = field(default_factory=time.monotonic)
    planned: int = 0  # by the loops so far; an analysis may have announced more
    earlier: int = 0  # done by the loops before the current one

    def expect(self, tokens: int) -> None:
        """*tokens* more will be computed. Raises ExplorerError if that is more than the limit allows."""
        self.total = max(self.total, self.planned + tokens)
        if self.limit and self.total > self.limit:
            raise ExplorerError(
                f"This takes {self.total:,} tokens through the checkpoint; the limit is {self.limit:,}. Shorten the "
                "text, or ask for fewer words, sentences or samples."
            )
        if not self.long and self.total > QUICK:
            self.long = True
            self.on_long()
            self.started = time.monotonic()

    def report(self, done: int, total: int) -> None:
        """A loop has computed *done* of its *total* tokens; 0 announces a new loop."""
        if done == 0:
            self.expect(total)
            self.planned, self.earlier = self.planned + total, self.done
        self.done = self.earlier + done
        self.check()

    def check(self) -> None:
        """Raises Stopped if the work is to end."""
        if self.stopped:
            raise Stopped

    @property
    def seconds_left(self) -> float | None:
        """As the speed so far suggests; None before the first batch is done."""
        if not self.done:
            return None
        return (time.monotonic() - self.started) * max(0, self.total - self.done) / self.done


current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def working(work: Work | None) -> Iterator[None]:
    """What is computed in the block counts as part of *work*. None: as part of no work, for what many share and one
    caller must not stop."""
    token = current.set(work)
    try:
        yield
    finally:
        current.reset(token)


def expect(tokens: int) -> None:
    """Announce *tokens* before the loops that compute them, where an analysis knows them all in advance. Raises
    ExplorerError if they are too many."""
    if work := current.get():
        work.expect(tokens)


def report(done: int, total: int) -> None:
    """Called by each loop over batches, with *done* 0 before the first one and after each batch: tokens done of its
    total. Raises Stopped if the work is to end, ExplorerError before the first batch of too much work."""
    if work := current.get():
        work.report(done, total)


def check() -> None:
    """Raises Stopped if the work is to end; for loops that compute no tokens."""
    if work := current.get():
        work.check()
