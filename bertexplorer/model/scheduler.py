"""The compute scheduler: one slot for each core. Calls that wait for a slot are computed in a batch."""

import os
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


def available_cores() -> int:
    """Cores that this process may use, whatever OMP_NUM_THREADS says."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """A block in which an operation of torch has *count* threads. With one, those of short operations do not wait for
    each other on a busy machine."""
    import torch  # only now, as the page does not need it

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(eq=False)
class PendingCall:
    """A call that may be computed in a batch with others."""

    argument: Any
    size: int
    in_batch: bool = False
    done: bool = False
    result: Any = None
    error: BaseException | None = None


class ComputeScheduler:
    """Grants compute slots. Safe to call from many threads. Not re-entrant: never request a slot within a slot.

    Light work goes before heavy work, and heavy work leaves one core free for it. Two threads that share a pass slow
    each other down while others compute too, so a slot has one thread unless nobody else computes or waits."""

    def __init__(self, count: int = 0, *, threads: bool = False) -> None:
        """*count*: number of cores, 0 for those that this process may use. *threads*: whether to set the number of
        torch's threads; else it stays as it is."""
        self.count = count or available_cores()
        self.threads = threads
        self.ready = threading.Condition()
        self.busy = self.heavy = self.light_waiting = self.heavy_waiting = 0
        self.lines: defaultdict[Hashable, deque[PendingCall]] = defaultdict(deque)
        self.batches: dict[int, int] = {}  # batch size -> how often

    @contextmanager
    def slot(self, *, heavy: bool = False, short: bool = False) -> Iterator[None]:
        """Hold a core while the block runs. *short*: its operations are so short that one thread is faster."""
        with self.ready:
            self.wait(lambda: self.free(heavy), heavy)
            alone = self.enter(heavy)
        try:
            self.set_threads(alone and not short)
            yield
        finally:
            self.leave(heavy)

    def run_batched(
        self, key: Hashable, argument: Any, size: int, budget: int, make: Callable[[Sequence[Any]], Sequence[Any]]
    ) -> Any:
        """The result of *make* for *argument*.

        Calls with the same *key* that wait for a core at the same time are computed together, as long as the largest
        *size* times their number stays within *budget*. If that fails, each is computed alone, so that only the caller
        with the faulty input gets the error."""
        call = PendingCall(argument, size)
        with self.ready:
            line = self.lines[key]
            line.append(call)
            self.wait(lambda: call.done or (not call.in_batch and self.free(False)), False)
            if call.done:
                return result_of(call)
            batch = self.take(line, call, budget)
            if not line:
                del self.lines[key]
            alone = self.enter(False)
            self.batches[len(batch)] = self.batches.get(len(batch), 0) + 1
        try:
            self.set_threads(alone)
            run_calls(batch, make)
        finally:
            for batch_call in batch:
                batch_call.done = True
            self.leave(False)
        return result_of(call)

    def take(self, line: deque[PendingCall], call: PendingCall, budget: int) -> list[PendingCall]:
        """*call* and the calls before and after it that fit into *budget*."""
        line.remove(call)
        batch, longest = [call], call.size
        for other in list(line):
            if max(longest, other.size) * (len(batch) + 1) <= budget:
                line.remove(other)
                other.in_batch = True
                batch.append(other)
                longest = max(longest, other.size)
        return batch

    def free(self, heavy: bool) -> bool:
        if heavy and (self.light_waiting or self.heavy >= max(1, self.count - 1)):
            return False
        return self.busy < self.count

    def wait(self, until: Callable[[], bool], heavy: bool) -> None:
        """Wait until *until* is true, and count as waiting meanwhile. The caller holds the lock."""
        if until():
            return
        kind = "heavy_waiting" if heavy else "light_waiting"
        setattr(self, kind, getattr(self, kind) + 1)
        try:
            self.ready.wait_for(until)
        finally:
            setattr(self, kind, getattr(self, kind) - 1)
            if not self.light_waiting:  # a call that another batch computed never reaches leave()
                self.ready.notify_all()

    def enter(self, heavy: bool) -> bool:
        """Take a core. Returns whether nobody else computes or waits. The caller holds the lock."""
        self.busy, self.heavy = self.busy + 1, self.heavy + heavy
        return self.busy == 1 and not self.light_waiting and not self.heavy_waiting

    def leave(self, heavy: bool) -> None:
        with self.ready:
            self.busy, self.heavy = self.busy - 1, self.heavy - heavy
            self.ready.notify_all()

    def set_threads(self, alone: bool) -> None:
        if self.threads:
            import torch  # only now, as the page does not need it

            torch.set_num_threads(self.count if alone else 1)


def run_calls(batch: Sequence[PendingCall], make: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
    try:
        for call, result in zip(batch, make([call.argument for call in batch]), strict=True):
            call.result = result
    except BaseException as error:
        if len(batch) == 1:
            batch[0].error = error
        else:
            for call in batch:
                run_calls([call], make)


def result_of(call: PendingCall) -> Any:
    if call.error is not None:
        raise call.error
    return call.result
