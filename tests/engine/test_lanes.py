"""Lanes: so many at once, the rest in a bounded line, refused at once with a waiting time beyond it; what is stopped
leaves its line."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.model.test_cores import started, until

from bertexplorer.engine.lanes import Busy, Lane, Lanes
from bertexplorer.engine.progress import QUICK, Stopped, Work, report
from bertexplorer.errors import ExplorerError


@contextmanager
def place(lane: Lane, work: Work | None = None) -> Iterator[None]:
    """A place for as long as the block lasts."""
    mine = lane.enter(work or Work())
    try:
        yield
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
    with pytest.raises(Busy, match="Busy: 2 others wait already.*try again in 12 s") as told, place(lane):
        pass
    assert time.monotonic() - before < 0.2 and lane.refused == 1 and told.value.seconds == 12
    assert isinstance(told.value, ExplorerError), "it is a sentence for people"
    hold.set()
    for thread in threads:
        thread.join()
    with place(lane):
        assert len(lane.inside) == 1


def test_an_error_inside_gives_the_place_back() -> None:
    lanes = Lanes(cores=1)
    with pytest.raises(ZeroDivisionError), lanes.place(lanes.new_work()):
        raise ZeroDivisionError
    assert not lanes.quick.inside and lanes.quick.answered == 1


def test_the_slow_leave_a_core_to_the_quick() -> None:
    lanes = Lanes(cores=2, quick_waiting=7, slow_waiting=3)
    assert (lanes.slow.at_once, lanes.quick.at_once, lanes.most) == (1, 2, 1 + 3 + 2 + 7)
    with lanes.place(lanes.new_work(), slow=True):
        assert len(lanes.slow.inside) == 1 and not lanes.quick.inside


def test_who_waits_is_told_where_and_served_in_order() -> None:
    lanes, hold, served = Lanes(cores=1), threading.Event(), []
    works = [lanes.new_work() for _ in range(4)]

    def visit(number: int) -> None:
        with lanes.place(works[number]):
            hold.wait(10)
            served.append(number)

    threads = []
    for number in range(4):
        threads += started(lambda number=number: visit(number))
        until(lambda number=number: len(lanes.quick.inside) + lanes.quick.waiting == number + 1)
    lanes.quick.mean_s = 2.0
    assert lanes.progress(works[0]) == lanes.progress(Work()) == {}, "one computes, the other asked nothing"
    assert lanes.progress(works[1]) == {"place": 1, "seconds": 4}
    assert lanes.progress(works[3]) == {"place": 3, "seconds": 8}
    hold.set()
    for thread in threads:
        thread.join()
    assert served == [0, 1, 2, 3] and lanes.progress(works[3]) == {}


def test_what_is_stopped_leaves_the_line_and_the_others_move_up() -> None:
    lanes, hold, served, ended = Lanes(cores=1), threading.Event(), [], []
    works = [lanes.new_work() for _ in range(4)]

    def visit(number: int) -> None:
        try:
            with lanes.place(works[number]):
                hold.wait(10)
                served.append(number)
        except Stopped:
            ended.append(number)

    threads = []
    for number in range(4):
        threads += started(lambda number=number: visit(number))
        until(lambda number=number: len(lanes.quick.inside) + lanes.quick.waiting == number + 1)
    lanes.stop(works[1])
    until(lambda: ended == [1])
    assert lanes.progress(works[1]) == {} and lanes.progress(works[2])["place"] == 1
    with pytest.raises(Stopped), lanes.place(works[1]):
        raise AssertionError("what was stopped before it came has no place")
    hold.set()
    for thread in threads:
        thread.join()
    assert served == [0, 2, 3] and not lanes.quick.inside and not lanes.quick.line


def test_what_proves_long_moves_to_the_slow_and_tells_how_far_it_is() -> None:
    lanes, work = Lanes(cores=2), Work()
    with lanes.place(work):
        report(0, 4 * QUICK)
        assert not lanes.quick.inside and len(lanes.slow.inside) == 1 and lanes.quick.answered == 1
        assert lanes.progress(work) == {}, "nothing is known before the first batch"
        report(QUICK, 4 * QUICK)
        told = lanes.progress(work)
        assert told["done"] == 0.25 and told["seconds"] >= 1
    assert not lanes.slow.inside and lanes.slow.answered == 1


def test_long_work_that_finds_the_slow_line_full_is_refused_and_holds_no_place() -> None:
    lanes = Lanes(cores=2, slow_waiting=0)
    with lanes.place(lanes.new_work(), slow=True):
        with pytest.raises(Busy), lanes.place(lanes.new_work()):
            report(0, QUICK + 1)
        assert not lanes.quick.inside and len(lanes.slow.inside) == 1 and lanes.slow.refused == 1


def test_long_work_that_is_stopped_while_it_waits_again_ends() -> None:
    lanes, work, ended = Lanes(cores=2), Work(), []

    def visit() -> None:
        try:
            with lanes.place(work):
                report(0, QUICK + 1)
        except Stopped:
            ended.append(1)

    with lanes.place(lanes.new_work(), slow=True):
        (thread,) = started(visit)
        until(lambda: lanes.slow.waiting == 1)
        lanes.stop(work)
        thread.join(10)
    assert ended == [1] and not lanes.quick.inside and not lanes.slow.inside
