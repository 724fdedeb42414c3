"""Request queues: a limited number of active requests, a bounded number of waiting ones, and immediate rejection with
a waiting time beyond that. Stopped work leaves its queue."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bertexplorer.engine.progress import QUICK, Stopped, Work, report
from bertexplorer.engine.queues import Busy, RequestQueue, RequestQueues
from bertexplorer.errors import ExplorerError
from tests.model.test_scheduler import started
from tests.runs.running import until


@contextmanager
def place(queue: RequestQueue, work: Work | None = None) -> Iterator[None]:
    """A place for as long as the block lasts."""
    ticket = queue.enter(work or Work())
    try:
        yield
    finally:
        queue.leave(ticket)


def test_the_capacity_is_respected_and_all_are_served() -> None:
    queue, inside, most, done = RequestQueue(2, 50), 0, 0, []
    lock = threading.Lock()

    def visit() -> None:
        nonlocal inside, most
        with place(queue):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.002)
            with lock:
                inside -= 1
            done.append(1)

    for thread in started(*[visit] * 30):
        thread.join()
    assert most == 2 and len(done) == queue.answered == 30 and not queue.active and queue.waiting == 0


def test_a_full_queue_raises_busy_immediately() -> None:
    queue, hold = RequestQueue(1, 2), threading.Event()

    def visit() -> None:
        with place(queue):
            hold.wait(10)

    threads = started(visit)
    until(lambda: queue.active)
    threads += started(visit, visit)
    until(lambda: queue.waiting == 2)
    queue.mean_s, before = 4.0, time.monotonic()
    with pytest.raises(Busy, match="Busy: 2 others are already waiting.*try again in 12 s") as message, place(queue):
        pass
    assert time.monotonic() - before < 0.2 and queue.refused == 1 and message.value.seconds == 12
    assert isinstance(message.value, ExplorerError), "it is a sentence for people"
    hold.set()
    for thread in threads:
        thread.join()
    with place(queue):
        assert len(queue.active) == 1


def test_an_error_frees_the_place() -> None:
    queues = RequestQueues(cores=1)
    with pytest.raises(ZeroDivisionError), queues.turn(queues.new_work()):
        raise ZeroDivisionError
    assert not queues.quick.active and queues.quick.answered == 1


def test_slow_work_leaves_one_core_to_quick_work() -> None:
    queues = RequestQueues(cores=2, quick_waiting=7, slow_waiting=3)
    assert (queues.slow.capacity, queues.quick.capacity, queues.max_requests) == (1, 32, 1 + 3 + 32 + 7)
    with queues.turn(queues.new_work(), slow=True):
        assert len(queues.slow.active) == 1 and not queues.quick.active


def test_waiting_work_knows_its_position_and_is_served_in_order() -> None:
    queues, hold, served = RequestQueues(cores=1, together=1), threading.Event(), []
    works = [queues.new_work() for _ in range(4)]

    def visit(number: int) -> None:
        with queues.turn(works[number]):
            hold.wait(10)
            served.append(number)

    threads = []
    for number in range(4):
        threads += started(lambda number=number: visit(number))
        until(lambda number=number: len(queues.quick.active) + queues.quick.waiting == number + 1)
    queues.quick.mean_s = 2.0
    assert queues.progress(works[0]) == queues.progress(Work()) == {}, "one computes, the other asked nothing"
    assert queues.progress(works[1]) == {"place": 1, "seconds": 4}
    assert queues.progress(works[3]) == {"place": 3, "seconds": 8}
    hold.set()
    for thread in threads:
        thread.join()
    assert served == [0, 1, 2, 3] and queues.progress(works[3]) == {}


def test_stopped_work_leaves_the_queue_and_the_others_move_up() -> None:
    queues, hold, served, ended = RequestQueues(cores=1, together=1), threading.Event(), [], []
    works = [queues.new_work() for _ in range(4)]

    def visit(number: int) -> None:
        try:
            with queues.turn(works[number]):
                hold.wait(10)
                served.append(number)
        except Stopped:
            ended.append(number)

    threads = []
    for number in range(4):
        threads += started(lambda number=number: visit(number))
        until(lambda number=number: len(queues.quick.active) + queues.quick.waiting == number + 1)
    queues.stop(works[1])
    until(lambda: ended == [1])
    assert queues.progress(works[1]) == {} and queues.progress(works[2])["place"] == 1
    with pytest.raises(Stopped), queues.turn(works[1]):
        raise AssertionError("what was stopped before it came has no place")
    hold.set()
    for thread in threads:
        thread.join()
    assert served == [0, 2, 3] and not queues.quick.active and not queues.quick.line


def test_long_work_moves_to_the_slow_queue_and_reports_its_progress() -> None:
    queues, work = RequestQueues(cores=2), Work()
    with queues.turn(work):
        report(0, 4 * QUICK)
        assert not queues.quick.active and len(queues.slow.active) == 1 and queues.quick.answered == 1
        assert queues.progress(work) == {}, "nothing is known before the first batch"
        report(QUICK, 4 * QUICK)
        message = queues.progress(work)
        assert message["done"] == 0.25 and message["seconds"] >= 1
    assert not queues.slow.active and queues.slow.answered == 1


def test_long_work_is_rejected_if_the_slow_queue_is_full() -> None:
    queues = RequestQueues(cores=2, slow_waiting=0)
    with queues.turn(queues.new_work(), slow=True):
        with pytest.raises(Busy), queues.turn(queues.new_work()):
            report(0, QUICK + 1)
        assert not queues.quick.active and len(queues.slow.active) == 1 and queues.slow.refused == 1


def test_long_work_can_be_stopped_while_it_waits_again() -> None:
    queues, work, ended = RequestQueues(cores=2), Work(), []

    def visit() -> None:
        try:
            with queues.turn(work):
                report(0, QUICK + 1)
        except Stopped:
            ended.append(1)

    with queues.turn(queues.new_work(), slow=True):
        (thread,) = started(visit)
        until(lambda: queues.slow.waiting == 1)
        queues.stop(work)
        thread.join(10)
    assert ended == [1] and not queues.quick.active and not queues.slow.active
