"""Classes in a folder of their own, and a clock that tests move."""

import time

import pytest

from bertexplorer.classroom.classroom import Classroom


class Clock:
    """The current time plus an offset that a test sets."""

    later = 0.0

    def __call__(self):
        return time.time() + self.later


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def rooms(tmp_path, clock):
    return Classroom(tmp_path / "class", clock=clock)
