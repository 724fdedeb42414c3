"""Ctrl-C while libraries are imported."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ends_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process while the block imports native libraries.

    A KeyboardInterrupt in the midst of their C code may be swallowed or crash the process. Nothing changes where
    someone else handles the signal, as in a notebook, and where a shell's background ignores it.
    """
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
