"""A page is there while it listens or has just asked; the lanes give nothing to one that has gone."""

import threading

import pytest

from bertexplorer.engine import progress
from bertexplorer.engine.lanes import Lanes, Ticket
from bertexplorer.engine.presence import MOST, Presence
from bertexplorer.engine.progress import QUICK, Stopped
from bertexplorer.errors import ExplorerError
from tests.model.test_cores import started, until


def test_a_page_has_gone_once_nothing_of_it_is_open() -> None:
    presence = Presence(patience_s=0.0)
    assert not presence.gone("never heard of")
    with presence.listening("p"):
        presence.hear("p")
        assert not presence.gone("p")
        with presence.listening("p"):
            pass
        assert not presence.gone("p"), "one of two streams is still open"
    until(lambda: presence.gone("p"))
    presence.patience_s = 60
    presence.hear("p")
    assert not presence.gone("p"), "it has just asked again"


def test_it_does_not_remember_pages_without_end() -> None:
    presence = Presence(patience_s=0.0)
    for number in range(MOST + 10):
        with presence.listening(str(number)):
            pass
    assert len(presence.heard) == MOST and not presence.streams


def test_work_that_proves_long_leaves_its_quick_place_to_others() -> None:
    lanes = Lanes(cores=2)
    with lanes.work("ann", "p") as work:
        progress.report(0, QUICK)
        assert len(lanes.quick.inside) == 1 and not lanes.slow.inside
        progress.report(0, 1)
        assert not lanes.quick.inside and len(lanes.slow.inside) == 1 and work.long
    assert not lanes.slow.inside and lanes.slow.answered == 1


def test_long_work_waits_for_the_long_work_of_others_and_is_refused_where_too_many_wait() -> None:
    lanes, first = Lanes(cores=2, slow_waiting=0), threading.Event()

    def long() -> None:
        with lanes.work("ann", "p"):
            progress.report(0, QUICK + 1)
            first.wait(10)

    threads = started(long)
    until(lambda: bool(lanes.slow.inside))
    with pytest.raises(ExplorerError, match="Busy"), lanes.work("ben", "q"):
        progress.report(0, QUICK + 1)
    assert not lanes.quick.inside and not lanes.slow.waiting
    lanes.slow.most_waiting, done = 1, []

    def later() -> None:
        with lanes.work("ben", "q"):
            progress.report(0, QUICK + 1)
            done.append(1)

    threads += started(later)
    until(lambda: lanes.slow.waiting == 1)
    assert done == [] and not lanes.quick.inside
    first.set()
    for thread in threads:
        thread.join(10)
    assert done == [1] and not lanes.slow.inside


def test_a_page_that_has_gone_loses_its_place_and_its_work() -> None:
    lanes, hold, ended = Lanes(cores=2, slow_waiting=1), threading.Event(), []

    def waits() -> None:
        try:
            with lanes.work("ann", "p", slow=True):
                ended.append("computed")
        except Stopped:
            ended.append("stopped")

    def long() -> None:
        with lanes.work("ben", "q", slow=True):
            hold.wait(10)

    lanes.presence.hear("p")
    threads = started(long)
    until(lambda: bool(lanes.slow.inside))
    threads += started(waits)
    until(lambda: lanes.slow.waiting == 1)
    lanes.presence.patience_s = 0
    threads += started(lambda: lanes.slow.enter(Ticket("cem", "r")))
    until(lambda: ended == ["stopped"])
    hold.set()
    for thread in threads:
        thread.join(10)
    lanes.presence.hear("p")
    until(lambda: lanes.presence.gone("p"))
    with pytest.raises(Stopped), lanes.work("ann", "p"):
        raise AssertionError("nobody waits for it")
