"""Turns: of the answers to one browser tab only the newest is shown, however long an older one took."""

import threading
from collections import OrderedDict

from bertexplorer.ui.state import State

TABS = 2000  # remembered; beyond that the one that asked longest ago is forgotten


class Turns:
    """Counts what each tab asks for, and keeps what it asked last. Safe to call from many threads."""

    def __init__(self) -> None:
        self.last: OrderedDict[str, tuple[int, State | None]] = OrderedDict()
        self.lock = threading.Lock()

    def take(self, tab: str, state: State | None) -> int:
        """The number of a new question of *tab*, higher than all before. None: what it asks is not known yet."""
        with self.lock:
            turn, before = self.last.pop(tab, (0, None))
            self.last[tab] = (turn + 1, state or before)
            while len(self.last) > TABS:
                self.last.popitem(last=False)
            return turn + 1

    def holds(self, tab: str, turn: int) -> bool:
        """Whether *turn* is still the newest of *tab*."""
        with self.lock:
            return self.last.get(tab, (turn, None))[0] == turn

    def asked(self, tab: str) -> State | None:
        """What *tab* asked last, whether it is answered yet or not."""
        with self.lock:
            return self.last.get(tab, (0, None))[1]
