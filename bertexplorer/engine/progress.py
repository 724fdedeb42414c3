"""Progress of an analysis, the limit of what it may compute, and whether anyone still waits for it.

A context variable carries the work, so a loop over batches can report without extra arguments. Without such a variable,
as in Python, a report does nothing. All sizes are tokens that go through the encoder.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field

from bertexplorer.errors import ExplorerError

GRADIENT = 3  # with gradients a token counts as this many, as it takes so much longer
PATIENCE_S = 1.0  # after which the progress of short work is shown too
QUICK = 8192  # tokens; work beyond this is long, whichever view it is for


class Stopped(Exception):
    """Raised between two batches if nobody waits for the work any more."""

    def __init__(self) -> None:
        super().__init__("Stopped before it was done. Change the text or a setting to ask again.")


@dataclass(eq=False)
class Work:
    """The work of one analysis.

    *limit*: tokens that it may compute, 0 for any number. *on_long*: called once, before the first batch of work that
    proves long; it may wait or raise. *on_aside*: gives back the place of the work in its queue while a block runs, see
    `aside`. *stopped*: any thread may set it to end the work before its next batch."""

    limit: int = 0
    on_long: Callable[[], None] = lambda: None
    on_aside: Callable[[], AbstractContextManager[None]] = nullcontext
    done: int = 0
    total: int = 0  # as far as known
    long: bool = False
    stopped: bool = False
    started: float = field(default_factory=time.monotonic)
    planned: int = 0  # announced by the loops so far; an analysis may have announced more
    earlier: int = 0  # done by earlier loops
    leader: "Work | None" = None  # other work that this one waits for, and whose progress counts meanwhile

    def expect(self, tokens: int) -> None:
        """Announce *tokens* more. Work that proves long calls *on_long*, which may wait. Raises ExplorerError if these
        are more than the limit allows."""
        self.total = max(self.total, self.planned + tokens)
        if self.limit and self.total > self.limit:
            raise ExplorerError(
                f"This would send {self.total:,} tokens through the checkpoint; the limit is {self.limit:,}. Shorten "
                "the text, or ask for fewer words, sentences or samples."
            )
        if not self.long and self.total > QUICK:
            self.long = True
            self.on_long()
            self.started = time.monotonic()

    def report(self, done: int, total: int) -> None:
        """Report that a loop has computed *done* of its *total* tokens. 0 announces a new loop. Raises Stopped if the
        work should end, and ExplorerError as `expect`."""
        if done == 0:
            if not self.done:
                self.started = time.monotonic()  # it may have waited for its turn
            self.leader = None
            self.expect(total)
            self.planned += total
            self.earlier = self.done
        self.done = self.earlier + done
        self.total = max(self.total, self.done)  # also of a loop that was not announced
        self.check()

    def check(self) -> None:
        """Raises Stopped if the work should end."""
        if self.stopped:
            raise Stopped

    @property
    def shown(self) -> bool:
        """Whether people should see its progress: it is long, or has taken long."""
        return self.long or time.monotonic() - self.started > PATIENCE_S

    @property
    def seconds_left(self) -> float | None:
        """The seconds left at the speed so far; None before the first batch is done."""
        if not self.done:
            return None
        return (time.monotonic() - self.started) * max(0, self.total - self.done) / self.done


current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def working(work: Work | None) -> Iterator[None]:
    """Everything computed in the block counts as part of *work*. None: it belongs to no work, for results that many
    callers share and that one of them must not stop."""
    token = current.set(work)
    try:
        yield
    finally:
        current.reset(token)


def expect(tokens: int) -> None:
    """Announce *tokens* before the loops that compute them, if an analysis knows them all in advance. Raises
    ExplorerError if they are too many."""
    if work := current.get():
        work.expect(tokens)


def done() -> int:
    """The tokens that the current work has computed so far."""
    work = current.get()
    return work.done if work else 0


def foresee(tokens: int) -> None:
    """Say that about *tokens* more will follow, so that the time left is right. Unlike `expect`, an estimate that is
    too high stops nothing."""
    if work := current.get():
        work.total = max(work.total, work.planned + tokens)


def report(done: int, total: int) -> None:
    """Report the tokens *done* of a loop's *total*. Each loop over batches calls this with 0 before its first batch,
    and then after every batch. Raises Stopped if the work should end, and ExplorerError before the first batch if the
    work is too much."""
    if work := current.get():
        work.report(done, total)


def follow(leader: Work | None) -> None:
    """Show the progress of *leader* as that of the current work, which waits for the same result, until that computes
    something itself. Raises Stopped if the current work should end; *leader* goes on."""
    work = current.get()
    if work is None or leader is None or leader is work:
        return
    work.check()
    work.leader = leader
    if leader.long and not work.long:
        work.long = True
        work.on_long()


def check() -> None:
    """Raises Stopped if the work should end; for loops that compute no tokens."""
    if work := current.get():
        work.check()


@contextmanager
def aside() -> Iterator[None]:
    """Give back the place of the current work in its queue while the block waits for something other than tokens, such
    as a checkpoint; afterwards it takes the next place that becomes free."""
    work = current.get()
    with work.on_aside() if work else nullcontext():
        yield
