"""Turns: of the answers to one browser tab only the newest is shown, however long an older one took."""

import threading
from collections import OrderedDict

TABS = 2000  # remembered; beyond that the one that asked longest ago is forgotten


class Turns:
    """Counts what each tab asks for. Safe to call from many threads."""

    def __init__(self) -> None:
        self.last: OrderedDict[str, int] = OrderedDict()
        self.lock = threading.Lock()

    def take(self, tab: str) -> int:
        """The number of a new question of *tab*, higher than all before."""
        with self.lock:
            turn = self.last.pop(tab, 0) + 1
            self.last[tab] = turn
            while len(self.last) > TABS:
                self.last.popitem(last=False)
            return turn

    def holds(self, tab: str, turn: int) -> bool:
        """Whether *turn* is still the newest of *tab*."""
        with self.lock:
            return self.last.get(tab, turn) == turn
