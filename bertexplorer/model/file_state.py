"""Whether files have changed since they were read."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FileState = tuple[tuple[str, int, int, int], ...]


def file_state(files: Iterable[Path]) -> FileState:
    """Changes if one of the *files* is written, replaced or deleted."""
    states = []
    for file in files:
        with suppress(FileNotFoundError):  # it was just deleted
            stat = file.stat()
            states.append((str(file), stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return tuple(states)
