"""Upload turns: reads one upload of each owner and two in all at a time; the others wait, in the order in which they
came."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bertexplorer.engine.queues import Busy

TOGETHER = 2
MAX_WAITING, MAX_OWN = 50, 8  # uploads that wait, in all and of one owner
RETRY_S = 5


class UploadTurns:
    """Used by coroutines of one event loop only."""

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(TOGETHER)
        self.own: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.waiting: dict[str, int] = defaultdict(int)  # owner -> uploads that wait or are read

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for the turn of an upload of *owner*. Raises Busy if too many wait already."""
        if self.waiting[owner] >= MAX_OWN or sum(self.waiting.values()) >= MAX_WAITING:
            raise Busy(sum(self.waiting.values()), RETRY_S)
        self.waiting[owner] += 1
        try:
            async with self.own[owner], self.places:
                yield
        finally:
            self.waiting[owner] -= 1
            if not self.waiting[owner]:
                del self.waiting[owner], self.own[owner]
