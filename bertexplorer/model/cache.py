"""A cache of expensive values, limited to a number of bytes. Simultaneous callers of one key wait for one of them."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from typing import Any

LIMIT_MB = 256
POLL_S = 0.2  # between two calls of `meanwhile`


class LRUCache:
    """Key -> value, the least recently used dropped beyond *limit* bytes. Safe to call from many threads."""

    def __init__(self, limit: int = LIMIT_MB * 1_000_000) -> None:
        self.limit, self.num_bytes = limit, 0
        self.entries: OrderedDict[Hashable, tuple[Future[Any], int]] = OrderedDict()
        self.lock = threading.Lock()

    def get(
        self,
        key: Hashable,
        make: Callable[[], Any],
        size: Callable[[Any], int],
        meanwhile: Callable[[], None] | None = None,
    ) -> Any:
        """The value of *key*, computed by one caller while others wait. An error is not cached, but raised for all of
        them. *meanwhile*: those who wait call it again and again; it may raise to end their waiting."""
        with self.lock:
            entry, is_new = self.entries.get(key), False
            if entry is None:
                entry, is_new = (Future(), 0), True
                self.entries[key] = entry
            self.entries.move_to_end(key)
        if not is_new:
            while meanwhile and not entry[0].done():
                meanwhile()
                wait([entry[0]], POLL_S)
            return entry[0].result()
        try:
            value = make()
        except BaseException as error:
            with self.lock:
                self.entries.pop(key, None)
            entry[0].set_exception(error)
            raise
        entry[0].set_result(value)
        with self.lock:
            if self.entries.get(key) is entry:
                self.entries[key] = (entry[0], size(value))
                self.num_bytes += self.entries[key][1]
            while self.num_bytes > self.limit:
                self.num_bytes -= self.entries.popitem(last=False)[1][1]
        return value

    def keep(self, key: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
        """As `get`, but simultaneous callers do not wait for each other: each can be stopped without the others."""
        value = self.peek(key)
        if value is None:
            value = make()
            self.get(key, lambda: value, size)
        return value

    def peek(self, key: Hashable) -> Any:
        """The value of *key* if it exists already, else None. Does not wait."""
        with self.lock:
            entry = self.entries.get(key)
            if entry is None or not entry[0].done():
                return None
            self.entries.move_to_end(key)
        return entry[0].result()

    def clear(self) -> None:
        """Forget everything."""
        with self.lock:
            self.entries.clear()
            self.num_bytes = 0
