"""Helpers for tests of runs: wait with a timeout, and end leftover processes."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bertexplorer import locks

COMMAND = (sys.executable, "-m", "tests.runs.fake_trainer")


def until(true: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for a condition, with a timeout. It is asked for less and less often, as to ask costs time that what is
    waited for needs."""
    end, pause = time.monotonic() + seconds, 0.01
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(pause)
        pause = min(0.15, 1.3 * pause)


def clear(folder: Path) -> None:
    """End all processes that still work below *folder*."""
    for path in folder.rglob("process"):
        if (pid := locks.holder_pid(path)) and pid != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
