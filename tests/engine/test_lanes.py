"""Lanes: so many at once, the rest in a bounded line, refused at once with a waiting time beyond it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bertexplorer.engine.lanes import Lane, Lanes, Ticket
from bertexplorer.errors import ExplorerError
from tests.model.test_cores import started, until


@contextmanager
def place(lane: Lane, who: str = "", page: str = "") -> Iterator[bool]:
    """A place for as long as the block lasts; False if it was given up in line."""
    mine = lane.enter(Ticket(who, page))
    try:
        yield not mine.left
    finally:
        lane.leave(mine)


def test_no_more_inside_than_may_be_and_all_get_in() -> None:
    lane, inside, most, done = Lane(2, 50), 0, 0, []
    lock = threading.Lock()

    def visit() -> None:
        nonlocal inside, most
        with place(lane):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.002)
            with lock:
                inside -= 1
            done.append(1)

    for thread in started(*[visit] * 30):
        thread.join()
    assert most == 2 and len(done) == lane.answered == 30 and not lane.inside and lane.waiting == 0


def test_beyond_the_bound_one_is_told_so_at_once() -> None:
    lane, hold = Lane(1, 2), threading.Event()

    def visit() -> None:
        with place(lane):
            hold.wait(10)

    threads = started(visit)
    until(lambda: lane.inside)
    threads += started(visit, visit)
    until(lambda: lane.waiting == 2)
    lane.mean_s, before = 4.0, time.monotonic()
    with pytest.raises(ExplorerError, match="Busy: 2 others wait already.*try again in 12 s"), place(lane):
        pass
    assert time.monotonic() - before < 0.2 and lane.refused == 1
    hold.set()
    for thread in threads:
        thread.join()
    with place(lane):
        assert len(lane.inside) == 1


def test_an_error_inside_gives_the_place_back() -> None:
    lane = Lane(1, 1)
    with pytest.raises(ZeroDivisionError), place(lane):
        raise ZeroDivisionError
    assert not lane.inside


def test_the_slow_leave_a_core_to_the_quick() -> None:
    lanes = Lanes(cores=2)
    assert (lanes.of(True).at_once, lanes.of(False).at_once) == (1, 2)


def test_who_waits_is_told_where_and_served_in_order() -> None:
    lanes, hold, served = Lanes(cores=1), threading.Event(), []

    def visit(who: str) -> None:
        with place(lanes.of(False), who):
            hold.wait(10)
            served.append(who)

    threads, there = [], []
    for who in ("ann", "ben", "cem", "ben"):
        there.append(who)
        threads += started(lambda who=who: visit(who))
        until(lambda: len(lanes.quick.inside) + lanes.quick.waiting == len(there))
    lanes.quick.mean_s = 2.0
    assert lanes.standing("ann") == lanes.standing("dee") == {}, "one computes, the other asked nothing"
    assert lanes.standing("cem") == {"place": 2, "seconds": 6}
    assert lanes.standing("ben")["place"] == 3, "the last of two"
    hold.set()
    for thread in threads:
        thread.join()
    assert served == ["ann", "ben", "cem", "ben"] and lanes.standing("ben") == {}


def test_a_page_that_asks_again_keeps_its_place_and_gives_up_what_it_asked() -> None:
    lane, hold, served = Lane(1, 2), threading.Event(), []

    def visit(page: str, text: str) -> None:
        with place(lane, "ann", page) as mine:
            if mine:
                hold.wait(10)
                served.append(text)

    threads = []
    for page, text, waiting in (("p", "1", 0), ("q", "2", 1), ("r", "3", 2), ("q", "4", 2), ("q", "5", 2)):
        threads += started(lambda page=page, text=text: visit(page, text))
        until(lambda waiting=waiting: lane.inside and lane.waiting == waiting)
        time.sleep(0.02)
    hold.set()
    for thread in threads:
        thread.join()
    assert served == ["1", "5", "3"] and lane.answered == 3 and not lane.inside and not lane.line
