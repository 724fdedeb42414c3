"""What a person sees while a command works: after two seconds, how far it is and how long it will take."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bertexplorer.engine.progress import Work, working

PATIENCE_S = 2.0  # a shorter wait is not worth a word
EVERY_S = 0.5


def format_remaining(seconds: float | None) -> str:
    """The time left in words; "" if it is not known.

    Example:
        >>> format_remaining(30), format_remaining(200), format_remaining(None)
        ('about 30 s left', 'about 3 min left', '')
    """
    if seconds is None:
        return ""
    return f"about {seconds / 60:.0f} min left" if seconds > 90 else f"about {seconds:.0f} s left"


def tell(line: str) -> None:
    """Replace the line on stderr, if a person sees it; nothing is written to a file or a pipe."""
    if sys.stderr.isatty():
        print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)


@contextmanager
def watched() -> Iterator[None]:
    """Tell the progress of the block, if it takes longer than two seconds and a person sees it."""
    if not sys.stderr.isatty():
        yield
        return
    work = Work()
    done = threading.Event()
    started = time.monotonic()

    def watch() -> None:
        while not done.wait(EVERY_S):
            spent = time.monotonic() - started
            if spent > PATIENCE_S:
                share = f"{100 * work.done / work.total:.0f} %, " if work.total and work.done else ""
                tell(f"{share}{format_remaining(work.seconds_left) or f'{spent:.0f} s'}")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        with working(work):
            yield
    finally:
        done.set()
        watcher.join()
        tell("")
