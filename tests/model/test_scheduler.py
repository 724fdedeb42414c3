"""Compute slots: never more than cores, light work before heavy work, waiting calls share a batch."""

import threading
import time
from collections.abc import Callable

import pytest

from bertexplorer.model.scheduler import ComputeScheduler
from tests.runs.running import until


def started(*jobs: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    return threads


def test_slots_are_limited_to_the_cores_and_one_is_left_to_light_work() -> None:
    scheduler, running, most = ComputeScheduler(2), [0, 0], [0, 0]
    lock = threading.Lock()

    def work(heavy: bool) -> None:
        with scheduler.slot(heavy=heavy):
            with lock:
                running[heavy] += 1
                most[:] = max(most[0], sum(running)), max(most[1], running[1])
            time.sleep(0.002)
            with lock:
                running[heavy] -= 1

    for thread in started(*(lambda n=n: work(n % 2 == 0) for n in range(40))):
        thread.join()
    assert most == [2, 1] and scheduler.busy == scheduler.heavy == 0


def test_light_work_goes_before_heavy_work() -> None:
    scheduler, order, hold = ComputeScheduler(1), [], threading.Event()

    def work(name: str, heavy: bool) -> None:
        with scheduler.slot(heavy=heavy):
            order.append(name)

    def first() -> None:
        with scheduler.slot():
            hold.wait(10)

    threads = started(first)
    until(lambda: scheduler.busy == 1)
    threads += started(lambda: work("heavy", True))
    until(lambda: scheduler.heavy_waiting == 1)
    threads += started(lambda: work("light", False))
    until(lambda: scheduler.light_waiting == 1)
    hold.set()
    for thread in threads:
        thread.join()
    assert order == ["light", "heavy"]


def test_heavy_work_runs_once_others_have_computed_the_last_light_calls() -> None:
    """A call computed in the batch of another one leaves without a core; heavy work must be notified of that, too."""
    for _ in range(30):
        scheduler, hold = ComputeScheduler(1), threading.Event()

        def blocker(scheduler: ComputeScheduler = scheduler, hold: threading.Event = hold) -> None:
            with scheduler.slot():
                hold.wait(10)

        def heavy(scheduler: ComputeScheduler = scheduler) -> None:
            with scheduler.slot(heavy=True):
                pass

        def light(scheduler: ComputeScheduler = scheduler) -> None:
            scheduler.run_batched("key", 1, 1, 100, lambda batch: batch)

        threads = started(blocker)
        until(lambda scheduler=scheduler: scheduler.busy == 1)
        threads += started(heavy)
        until(lambda scheduler=scheduler: scheduler.heavy_waiting == 1)
        threads += started(*[light] * 6)
        until(lambda scheduler=scheduler: scheduler.light_waiting == 6)
        hold.set()
        for thread in threads:
            thread.join(5)
        assert not any(thread.is_alive() for thread in threads)


def crowd(scheduler: ComputeScheduler, given: list[int], make: Callable, budget: int) -> dict[int, object]:
    """The results of *given*, all of which arrive while the only core is busy."""
    hold, result = threading.Event(), {}

    def blocker() -> None:
        with scheduler.slot():
            hold.wait(10)

    def ask(number: int) -> None:
        try:
            result[number] = scheduler.run_batched("key", number, 4, budget, make)
        except ZeroDivisionError as error:
            result[number] = error

    threads = started(blocker)
    until(lambda: scheduler.busy == 1)
    threads += started(*(lambda n=n: ask(n) for n in given))
    until(lambda: scheduler.light_waiting == len(given))
    hold.set()
    for thread in threads:
        thread.join()
    return result


def test_waiting_calls_share_a_batch_and_an_error_affects_only_its_own_request() -> None:
    scheduler, calls = ComputeScheduler(1), []

    def make(batch: list[int]) -> list[int]:
        calls.append(len(batch))
        return [10 * number for number in batch]

    assert crowd(scheduler, list(range(20)), make, budget=32) == {n: 10 * n for n in range(20)}
    assert sorted(calls) == [4, 8, 8] and scheduler.batches == {8: 2, 4: 1}
    assert scheduler.run_batched("key", 7, 4, 32, make) == 70 and calls[-1] == 1 and not scheduler.lines
    result = crowd(ComputeScheduler(1), [0, 1, 2, 5], lambda batch: [10 // number for number in batch], budget=100)
    assert isinstance(result.pop(0), ZeroDivisionError) and result == {1: 10, 2: 5, 5: 2}


@pytest.mark.parametrize("waiting", [True, False])
def test_a_pass_uses_all_threads_only_if_it_runs_alone(waiting: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    scheduler, message, inside = ComputeScheduler(2, threads=True), [], threading.Event()
    monkeypatch.setattr(torch, "set_num_threads", message.append)

    def other() -> None:
        with scheduler.slot():
            inside.wait(10)

    threads = started(other) if waiting else []
    until(lambda: scheduler.busy == len(threads))
    with scheduler.slot():
        pass
    inside.set()
    for thread in threads:
        thread.join()
    assert message == ([2, 1] if waiting else [2])


def test_short_operations_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    message: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", message.append)
    with ComputeScheduler(2, threads=True).slot(short=True):
        pass
    assert message == [1]
