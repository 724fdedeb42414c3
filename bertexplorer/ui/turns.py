"""Turns: of the answers to one browser tab only the newest is shown, however long an older one took."""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

from bertexplorer.ui.state import State

SETTLING_S = 5.0  # in which the boxes of a page take on what an answer puts there
REMEMBERED = 4  # answers that filled boxes
TABS = 2000  # remembered; beyond that the one that asked longest ago is forgotten


@dataclass(frozen=True)
class Asked:
    """What one tab asked last."""

    turn: int = 0
    state: State | None = None
    press: int = 0
    before: State | None = None  # what the boxes held when an answer filled them, until the page has done so
    filled: float = 0.0
    put: tuple[tuple[Any, ...], ...] = ()  # what the last answers put into the boxes; the page may tell of it late
    sent: float = 0.0  # the latest that the page has sent an event of this tab, ms of its own clock


def boxes(state: State) -> tuple[Any, ...]:
    """What of *state* stands in boxes that a person can fill."""
    return state.text, state.pair, state.against, state.other, *(state.options[name] for name in sorted(state.options))


class Turns:
    """Counts what each tab asks for, and keeps what it asked last. Safe to call from many threads."""

    def __init__(self) -> None:
        self.last: OrderedDict[str, Asked] = OrderedDict()
        self.lock = threading.Lock()

    def take(self, tab: str, state: State | None) -> int:
        """The number of a new question of *tab*, higher than all before. None: what it asks is not known yet."""
        with self.lock:
            before = self.last.get(tab, Asked())
            return self.keep(tab, replace(before, turn=before.turn + 1, state=state or before.state)).turn

    def late(self, tab: str, sent: float) -> bool:
        """Whether an event that the page sent later was there before this one: neither a browser nor the queue keeps
        the order. *sent*: 0 is never late."""
        with self.lock:
            before = self.last.get(tab, Asked())
            self.keep(tab, replace(before, sent=max(sent, before.sent)))
            return 0 < sent < before.sent

    def overtaken(self, tab: str, press: int) -> bool:
        """Whether a later press of *tab* has come before this one: each press tells all that is hidden by then, and
        the requests of a browser need not arrive in the order they were sent."""
        with self.lock:
            before = self.last.get(tab, Asked())
            self.keep(tab, replace(before, press=max(press, before.press)))
            return press < before.press

    def fill(self, tab: str, before: State) -> None:
        """The answer on its way to *tab* fills its boxes, which held *before*."""
        with self.lock:
            asked = self.last.get(tab, Asked())
            if asked.state and boxes(before) != boxes(asked.state):
                put = (*asked.put[1 - REMEMBERED :], boxes(asked.state))
                self.keep(tab, replace(asked, before=before, filled=time.monotonic(), put=put))

    def settling(self, tab: str, state: State) -> bool:
        """Whether *state* is no wish of a person, but boxes being filled one after the other: each holds what it held
        before, or what the last answer put there."""
        with self.lock:
            asked = self.last.get(tab, Asked())
            if asked.state is None or time.monotonic() - asked.filled > SETTLING_S:
                return False
            if boxes(state) in asked.put and boxes(state) != boxes(asked.state):
                return True  # told late: something else was asked by then
            if asked.before is None:
                return False
            was, is_now, will_be = boxes(asked.before), boxes(state), boxes(asked.state)
            if is_now == will_be or len({len(was), len(is_now), len(will_be)}) > 1:
                self.keep(tab, replace(asked, before=None))
                return is_now == will_be
            return all(now in (old, new) for old, now, new in zip(was, is_now, will_be, strict=True))

    def keep(self, tab: str, asked: Asked) -> Asked:
        self.last[tab] = asked
        self.last.move_to_end(tab)
        while len(self.last) > TABS:
            self.last.popitem(last=False)
        return asked

    def holds(self, tab: str, turn: int) -> bool:
        """Whether *turn* is still the newest of *tab*."""
        with self.lock:
            return tab not in self.last or self.last[tab].turn == turn

    def asked(self, tab: str) -> State | None:
        """What *tab* asked last, whether it is answered yet or not."""
        with self.lock:
            return self.last.get(tab, Asked()).state
