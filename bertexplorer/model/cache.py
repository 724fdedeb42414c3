"""A cache of expensive values, limited to a number of bytes. Simultaneous callers of one key wait for one of them."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any

LIMIT_MB = 256


class LRUCache:
    """Key -> value, the least recently used dropped beyond *limit* bytes. Safe to call from many threads."""

    def __init__(self, limit: int = LIMIT_MB * 1_000_000) -> None:
        self.limit = limit
        self.kept: OrderedDict[Hashable, tuple[Future[Any], int]] = OrderedDict()
        self.lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
        """The value of *key*, made by one caller while others wait. An error is not cached, but raised for all of
        them."""
        with self.lock:
            found, mine = self.kept.get(key), False
            if found is None:
                found, mine = (Future(), 0), True
                self.kept[key] = found
            self.kept.move_to_end(key)
        if not mine:
            return found[0].result()
        try:
            value = make()
        except BaseException as error:
            with self.lock:
                self.kept.pop(key, None)
            found[0].set_exception(error)
            raise
        found[0].set_result(value)
        with self.lock:
            if key in self.kept:
                self.kept[key] = (found[0], size(value))
            while self.num_bytes > self.limit:
                self.kept.popitem(last=False)
        return value

    def peek(self, key: Hashable) -> Any:
        """The value of *key* if it is there and made, else None. Nobody waits."""
        with self.lock:
            found = self.kept.get(key)
            if found is None or not found[0].done():
                return None
            self.kept.move_to_end(key)
        return found[0].result()

    def clear(self) -> None:
        """Forget everything."""
        with self.lock:
            self.kept.clear()

    @property
    def num_bytes(self) -> int:
        return sum(size for _, size in self.kept.values())
