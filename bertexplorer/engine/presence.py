"""Presence: which pages still wait for their answers; gradio itself goes on computing for a page that was closed."""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_S = 10.0  # without a stream of answers, after which a page counts as gone: a weak network may break off
MOST = 5000  # pages remembered; the one heard of longest ago is forgotten


class Presence:
    """A page is there while it has a stream of answers open, and for a while after it asked or its stream ended. A page
    never heard of, as in tests and scripts, is there too. Safe to call from many threads."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self.patience_s = patience_s
        self.lock = threading.Lock()
        self.heard: OrderedDict[str, float] = OrderedDict()  # by time.monotonic
        self.streams: Counter[str] = Counter()

    def hear(self, page: str) -> None:
        """*page* asked something."""
        with self.lock:
            self.heard[page] = time.monotonic()
            self.heard.move_to_end(page)
            while len(self.heard) > MOST:
                self.heard.popitem(last=False)

    @contextmanager
    def listening(self, page: str) -> Iterator[None]:
        """*page* has a stream of answers open for as long as the block lasts."""
        with self.lock:
            self.streams[page] += 1
        try:
            yield
        finally:
            with self.lock:
                self.streams[page] -= 1
                if not self.streams[page]:
                    del self.streams[page]
            self.hear(page)

    def gone(self, page: str) -> bool:
        """Whether nobody will read an answer to *page*."""
        with self.lock:
            heard = self.heard.get(page)
            return heard is not None and not self.streams[page] and time.monotonic() - heard > self.patience_s
