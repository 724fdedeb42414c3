"""Turns: the events of one browser tab one after the other, and of their answers only the newest is shown."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from bertexplorer.ui.seen import Seen
from bertexplorer.ui.state import State

TABS = 2000  # remembered; beyond that the one that asked longest ago is forgotten
WAIT_S = 2.0  # for an event that the page sent earlier and that is still on its way, or was refused


@dataclass(eq=False)
class Tab:
    """What one tab asked last."""

    turn: int = 0  # counts its questions
    state: State | None = None
    event: int = 0  # the last event heard of, as the page counts them
    filled: int = 0  # the last turn whose answer filled boxes
    drawn: str = ""  # the view whose figure the page shows
    answered: int = 0  # the last turn whose answer was sent, 0 after one that kept parts of an earlier
    seen: Seen | None = None  # what the page held at the last event
    fetching: str = ""  # the checkpoint that was chosen last
    ready: threading.Condition = field(default_factory=threading.Condition)


class Turns:
    """Counts what each tab asks for, and keeps what it asked last. Safe to call from many threads."""

    def __init__(self) -> None:
        self.tabs: OrderedDict[str, Tab] = OrderedDict()
        self.lock = threading.Lock()

    def tab(self, name: str) -> Tab:
        with self.lock:
            tab = self.tabs.setdefault(name, Tab())
            self.tabs.move_to_end(name)
            while len(self.tabs) > TABS:
                self.tabs.popitem(last=False)
            return tab

    def take(
        self, name: str, change: Callable[[State | None, Seen | None], State | None], seen: Seen | None = None
    ) -> int:
        """The number of a new question: *change* is given what the tab asked last and what the page held then, and
        says what it asks now. Neither a browser nor a queue keeps the order of requests, so the event that *seen* is
        of waits for those that the page sent before it. 0 if a later one was heard already: then nothing changes. What
        *change* raises is raised."""
        tab, event = self.tab(name), seen.event if seen else 0
        with tab.ready:
            tab.ready.wait_for(lambda: not tab.turn or tab.event >= event - 1, WAIT_S)
            if 0 < event <= tab.event:
                return 0
            tab.event = event or tab.event
            tab.ready.notify_all()
            before, tab.seen = tab.seen, seen or tab.seen
            tab.state = change(tab.state, before)
            tab.turn += 1
            return tab.turn

    def open(self, name: str, state: State) -> int:
        """The number of the question that a tab opens with; 0 if a person was quicker."""
        tab = self.tab(name)
        with tab.ready:
            if tab.turn:
                return 0
            tab.state, tab.turn = state, 1
            return 1

    def opening(self, name: str) -> bool:
        """Whether the tab asks for what it opened with: no event of a person was heard yet."""
        tab = self.tab(name)
        return tab.turn > 0 and tab.seen is None

    def replace(self, name: str, turn: int, state: State) -> int:
        """The number of *state* as the question in place of *turn*; 0 if *turn* is not the newest any more."""
        tab = self.tab(name)
        with tab.ready:
            if tab.turn != turn:
                return 0
            tab.state, tab.turn = state, turn + 1
            return tab.turn

    def fill(self, name: str, turn: int) -> None:
        """The answer to *turn* fills boxes."""
        self.tab(name).filled = turn

    def filled(self, name: str) -> int:
        """The last turn of the tab whose answer filled boxes, 0 for none."""
        return self.tab(name).filled

    def holds(self, name: str, turn: int) -> bool:
        """Whether *turn* is still the newest of the tab."""
        return self.tab(name).turn == turn

    def overtaken(self, name: str, turn: int) -> bool:
        """Whether the tab has asked something else since *turn*."""
        return not self.holds(name, turn)

    def asked(self, name: str) -> State | None:
        """What the tab asked last, whether it is answered yet or not."""
        return self.tab(name).state
