"""Callers: bounds what gradio keeps and computes for those who call its endpoints.

Gradio keeps an answer until its caller opens a stream and reads it, and computes on for a caller who has left. Whoever
asks and never reads would fill the memory."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

UNREAD_BYTES, UNREAD_SHARE = 64_000_000, 32_000_000  # of answers that nobody has read: in all, of one network
OVERHEAD = 50_000  # bytes that gradio needs for an answer besides its content, at most
IDLE_S = 0.05  # between two looks at gradio's queue while nobody asks; gradio's 0.001 takes 7 % of a core
AWAKE_S, AWAKE_FOR_S = 0.002, 5.0  # between two looks, for so long after a call
UNREAD_S = 60.0  # after which answers are dropped for which nobody has opened a stream


class Callers:
    """The answers that wait to be read and the calls in progress, of each caller: what gradio calls a session. Used by
    coroutines of one event loop only."""

    def __init__(self, queue: Any) -> None:
        """*queue*: gradio's."""
        self.queue = queue
        queue.progress_update_sleep_when_free = 60.0  # endpoints report no progress
        self.readers: Counter[str] = Counter()
        self.tasks: defaultdict[str, set[asyncio.Task[Any] | None]] = defaultdict(set)
        self.unread: defaultdict[str, deque[int]] = defaultdict(deque)  # caller -> bytes of each answer
        self.networks: dict[str, str] = {}  # caller -> network, of those with answers to read
        self.of_network: Counter[str] = Counter()
        self.last: dict[str, float] = {}  # caller -> when their last answer came
        self.asleep: asyncio.TimerHandle | None = None
        self.doze()

    def wake(self) -> None:
        """Let gradio look for calls often from now on, and rarely again once none has come for a while."""
        self.queue.sleep_when_free = AWAKE_S
        if self.asleep:
            self.asleep.cancel()
        self.asleep = asyncio.get_running_loop().call_later(AWAKE_FOR_S, self.doze)

    def doze(self) -> None:
        """Let gradio look for calls rarely."""
        self.queue.sleep_when_free = IDLE_S

    def knows(self, caller: str) -> bool:
        """Whether gradio has something for *caller*, or will have."""
        return caller in self.queue.pending_messages_per_session

    def full(self, network: str) -> bool:
        """Whether so many answers wait to be read that *network* may not ask now."""
        return self.of_network.total() > UNREAD_BYTES or self.of_network[network] > UNREAD_SHARE

    @contextmanager
    def call(self, caller: str, network: str) -> Iterator[list[int]]:
        """The block computes an answer for *caller*, and appends its size to the list. If the caller leaves, it is
        cancelled."""
        task = asyncio.current_task()
        sizes = [OVERHEAD]
        tasks = self.tasks[caller]
        tasks.add(task)
        try:
            yield sizes
        except asyncio.CancelledError:
            raise  # nobody will read an answer
        except Exception:
            self.keep(caller, network, OVERHEAD)
            raise
        else:
            self.keep(caller, network, sum(sizes))
        finally:
            tasks.discard(task)
            if not tasks:
                self.tasks.pop(caller, None)

    def keep(self, caller: str, network: str, size: int) -> None:
        """Count an answer of *size* bytes until *caller* has read it."""
        self.unread[caller].append(size)
        self.of_network[network] += size
        self.networks[caller] = network
        self.last[caller] = time.monotonic()
        if not self.readers[caller]:
            asyncio.get_running_loop().call_later(UNREAD_S, self.expire, caller)

    def delivered(self, caller: str) -> None:
        """Count the oldest answer of *caller* no longer."""
        if caller not in self.unread:
            return
        network = self.networks[caller]
        self.of_network[network] -= self.unread[caller].popleft()
        if self.of_network[network] <= 0:
            del self.of_network[network]
        if not self.unread[caller]:
            del self.unread[caller], self.networks[caller], self.last[caller]

    def expire(self, caller: str) -> None:
        """Drop the answers of *caller*, unless they are read after all, or newer ones came."""
        if self.readers[caller] or caller not in self.unread:
            return
        if time.monotonic() - self.last[caller] >= UNREAD_S:
            self.leave(caller)

    def leave(self, caller: str) -> None:
        """Forget *caller*, who has gone: stop what is computed for them, and drop their answers."""
        for task in self.tasks.get(caller, set()).copy():
            if task:
                task.cancel()
        while caller in self.unread:
            self.delivered(caller)
        asyncio.get_running_loop().create_task(self.clean(caller))

    async def clean(self, caller: str) -> None:
        """Let gradio forget *caller*."""
        await self.queue.clean_events(session_hash=caller)
        self.forget(caller)

    def forget(self, caller: str) -> None:
        """Drop what gradio keeps to send to *caller*."""
        self.queue.pending_messages_per_session.pop(caller, None)
        self.queue.pending_event_ids_session.pop(caller, None)

    @contextmanager
    def reading(self, caller: str) -> Iterator[None]:
        """*caller* reads their answers while the block runs."""
        self.readers[caller] += 1
        try:
            yield
        finally:
            self.readers[caller] -= 1
            if not self.readers[caller]:
                del self.readers[caller]
            if not self.queue.pending_event_ids_session.get(caller):
                self.forget(caller)
