"""The folder of a run while a process works in it: locked, logged, and stopped by a file or a signal."""

import ctypes
import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import torch

from bertexplorer import locks
from bertexplorer.errors import ExplorerError
from bertexplorer.training import epoch
from bertexplorer.training.events import Event, Log, say


class Driven(Protocol):
    """A run while it is computed, as RunDriver is."""

    def events(self) -> Iterator[Event]: ...

    def where(self) -> Event: ...


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the run's lock. Raises ExplorerError if another process has it; a crash releases it."""
    lock = locks.acquire(folder / "lock")
    if lock is None:
        raise ExplorerError(f"The run in {folder} is running in another process. Stop that one first.")
    with lock:
        locks.write_process(lock, os.getpid())
        try:
            yield
        finally:
            locks.clear_process(lock)


def work(folder: Path, begin: Callable[[Callable[[], bool]], Driven], stop: Callable[[], bool]) -> Iterator[Event]:
    """The events of the run that *begin* creates, each yielded after it is logged. *begin* gets a function that says
    whether to stop: by *stop*, or by the file RUN/stop.

    Raises ExplorerError; what is committed stays intact."""
    threads = torch.get_num_threads()
    with alone(folder):
        (folder / "stop").unlink(missing_ok=True)
        log = Log(folder)
        here: dict[str, Any] = {"stretch": 0, "step": 0}
        try:
            run = begin(lambda: stop() or (folder / "stop").exists())
            for event in run.events():
                epoch.check(folder)
                here = run.where()
                whole = {"event": event.pop("event"), "time": time.time()} | here | event
                log.write(whole)
                yield whole
        except epoch.Superseded:
            raise
        except Exception as error:
            with suppress(OSError):  # of a full disk
                log.write({"event": "failed", "time": time.time()} | here | {"error": sentence(error)})
            if isinstance(error, OSError):
                raise ExplorerError(f"{folder}: {error}. Make room and resume; its commits are whole.") from error
            raise
        finally:
            log.close()
            torch.set_num_threads(threads)


def sentence(error: Exception) -> str:
    if isinstance(error, MemoryError) or "not enough memory" in str(error) or "out of memory" in str(error):
        return "Out of memory. Try a smaller batch or shorter texts."
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{error.strerror}. Make room and resume; its commits are whole."
    return str(error) or type(error).__name__


def asked_to_stop() -> Callable[[], bool]:
    """A function that says whether SIGTERM or SIGINT has arrived since this call; neither ends the process any more."""
    asked: list[int] = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda number, _: asked.append(number))
    return lambda: bool(asked)


def show(events: Iterable[Event]) -> int:
    """Print the events as they arrive. Returns 0, or 2 after printing an error to stderr."""
    try:
        for event in events:
            sys.stdout.write(say(event) + "\n")
            sys.stdout.flush()
    except ExplorerError as error:
        sys.stderr.write(f"bertexplorer: {error}\n")
        return 2
    return 0


def keep_memory() -> None:
    """Make glibc keep freed memory: a step frees and allocates the same 47 MB matrices a hundred times, and getting
    fresh pages for them takes a sixth of its time."""
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library, or system
        return
    mmap_max, trim_threshold, top_pad = -4, -1, -2
    tune(mmap_max, 0)
    tune(trim_threshold, 2**31 - 1)
    tune(top_pad, 64 << 20)
