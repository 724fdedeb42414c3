"""The next step's batches are prepared in a thread, once and in order; an error is raised at its own step."""

import threading

import pytest

from bertexplorer.training.loop import Prefetched


def test_the_next_steps_batches_are_prepared_during_a_step() -> None:
    prepared: list[tuple[int, str]] = []
    second = threading.Event()

    def make(step: int) -> int:
        prepared.append((step, threading.current_thread().name))
        if step == 1:
            second.set()
        return 10 * step

    with Prefetched(make) as batches:
        assert batches(0) == 0
        assert second.wait(10), "step 1 has not been requested yet"
        assert [batches(step) for step in (1, 2, 7, 8)] == [10, 20, 70, 80]
    steps = [step for step, _ in prepared]
    assert sorted(set(steps)) == sorted(steps) and {0, 1, 2, 7, 8} <= set(steps)
    assert threading.current_thread().name not in {name for _, name in prepared}


def test_an_error_is_raised_at_its_step() -> None:
    def make(step: int) -> int:
        return 1 // (2 - step)

    with Prefetched(make) as batches:
        assert [batches(step) for step in (0, 1)] == [0, 1]
        with pytest.raises(ZeroDivisionError):
            batches(2)


def test_the_thread_ends_with_the_run() -> None:
    with Prefetched(lambda step: step) as batches:
        batches(0)
        assert any(thread.name.startswith("prefetch") for thread in threading.enumerate())
    assert not any(thread.name.startswith("prefetch") for thread in threading.enumerate())
