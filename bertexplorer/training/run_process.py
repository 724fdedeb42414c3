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
from bertexplorer.training import ownership
from bertexplorer.training.events import STOPPED, Event, Log, format_event
from bertexplorer.training.trackers import Reports


class ActiveRun(Protocol):
    """A run while it is computed, as RunDriver is."""

    def events(self) -> Iterator[Event]:
        """Compute the run, yielding its events without time and position."""
        ...

    def position(self) -> Event:
        """ "stretch" and "step", as every event has them."""
        ...


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Hold the run's lock, which a crash releases. Raises ExplorerError if another process holds it."""
    lock = locks.acquire(folder / "lock")
    if lock is None:
        raise ExplorerError(f"The run in {folder} is running in another process. Stop that one first.")
    with lock:
        locks.write_process(lock, os.getpid())
        try:
            yield
        finally:
            locks.clear_process(lock)


def log_events(
    folder: Path,
    create_run: Callable[[Callable[[], bool]], ActiveRun],
    stop: Callable[[], bool],
    reports: Reports | None = None,
) -> Iterator[Event]:
    """Lock *folder*, create a run and yield its events, each after logging it. *create_run* takes a function that
    returns whether to stop: because *stop* returns True, or because the file RUN/stop exists. *reports*: the trackers
    that get the events too, and are closed at the end. An error is logged as the event "failed".

    Raises ExplorerError; commits stay intact."""
    threads = torch.get_num_threads()
    with lock_run(folder):
        (folder / "stop").unlink(missing_ok=True)
        log = Log(folder)
        position: dict[str, Any] = {"stretch": 0, "step": 0}
        try:
            run = create_run(lambda: stop() or (folder / "stop").exists())
            for event in run.events():
                ownership.check(folder)
                position = run.position()
                entry = {"event": event.pop("event"), "time": time.time()} | position | event
                log.write(entry)
                yield entry
                for warning in reports.send(entry) if reports else ():
                    entry = {"time": time.time()} | position | warning
                    log.write(entry)
                    yield entry
        except ownership.Superseded:
            raise
        except Exception as error:
            with suppress(OSError):  # the disk may be full
                log.write({"event": "failed", "time": time.time()} | position | {"error": error_message(error)})
            if isinstance(error, OSError):
                raise ExplorerError(f"{folder}: {error}. Make room and resume; its commits are intact.") from error
            raise
        finally:
            log.close()
            if reports:
                reports.close()
            torch.set_num_threads(threads)


def error_message(error: Exception) -> str:
    """Why a run failed, for people."""
    if isinstance(error, MemoryError) or "not enough memory" in str(error) or "out of memory" in str(error):
        return "Out of memory. Try a smaller batch or shorter texts."
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{error.strerror}. Make room and resume; its commits are intact."
    return str(error) or type(error).__name__


def catch_stop_signals() -> Callable[[], bool]:
    """Handle SIGTERM and SIGINT, so that neither ends the process. Returns a function: whether one has arrived."""
    arrived: list[int] = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda number, _: arrived.append(number))
    return lambda: bool(arrived)


def print_events(events: Iterable[Event]) -> int:
    """Print the events as they arrive. Returns 0, STOPPED if the last one says so, or 2 after printing an error to
    stderr."""
    last = ""
    try:
        for event in events:
            last = event["event"]
            sys.stdout.write(format_event(event) + "\n")
            sys.stdout.flush()
    except ExplorerError as error:
        sys.stderr.write(f"bertexplorer: {error}\n")
        return 2
    return STOPPED if last == "stopped" else 0


def keep_freed_memory() -> None:
    """Make glibc keep freed memory: a step frees and allocates the same 47 MB matrices a hundred times, and fresh
    pages for them take a sixth of its time."""
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library, or system
        return
    mmap_max = -4
    trim_threshold = -1
    top_pad = -2
    tune(mmap_max, 0)
    tune(trim_threshold, 2**31 - 1)
    tune(top_pad, 64 << 20)


def memory_mb() -> float:
    """Peak memory of this process; 0 if the system does not report it."""
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        units_per_mb = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, else kilobytes
        return peak / units_per_mb
    return 0.0
