"""Locks: whether a process uses a file. The system releases a lock when its process dies, however it dies."""

import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # a system without flock: look for the process that the file names
    fcntl = None  # type: ignore[assignment]


def hold(path: Path, wait_s: float = 1.0) -> IO[str] | None:
    """The file at *path*, locked until it is closed, also by a child that inherits it. It is created if necessary; call
    `name` to write its process into it. None if another process has the lock for all of *wait_s*; a short wait is
    normal, as `held` takes the lock for a moment."""
    until = time.monotonic() + wait_s
    opened = path.open("a+", encoding="utf-8")
    while not take(opened):
        if time.monotonic() > until:
            opened.close()
            return None
        time.sleep(0.01)
    return opened


def take(opened: IO[str]) -> bool:
    if fcntl is None:
        return not alive(*named(opened))
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def held(path: Path) -> bool:
    """Whether a process holds the lock of the file at *path*. This takes the lock and releases it at once."""
    try:
        with path.open(encoding="utf-8") as opened:
            return not take(opened)
    except FileNotFoundError:
        return False


def name(opened: IO[str], pid: int) -> None:
    """Write the process *pid* into the locked file."""
    opened.seek(0)
    opened.truncate()
    opened.write(f"{pid} {born(pid)}")
    opened.flush()


def clear(opened: IO[str]) -> None:
    """Remove the process from the locked file, so that it counts as free on systems where closing it is not enough."""
    opened.seek(0)
    opened.truncate()
    opened.flush()


def holder(path: Path) -> int:
    """The pid of the process that the file names, 0 if that process is not there any more."""
    try:
        with path.open(encoding="utf-8") as opened:
            pid, when = named(opened)
    except FileNotFoundError:
        return 0
    return pid if alive(pid, when) else 0


def named(opened: IO[str]) -> tuple[int, str]:
    """(pid, when it began) as a file says, (0, "") if it does not."""
    opened.seek(0)
    pid, _, when = opened.read(200).partition(" ")
    return (int(pid), when) if pid.isdecimal() else (0, "")


def alive(pid: int, when: str) -> bool:
    """Whether the process *pid* is the one that began at *when*, as pids are reused."""
    return pid > 0 and bool(when) and born(pid) == when


def born(pid: int) -> str:
    """When the process began, as the system reports it; "" if there is no such process, or only a zombie."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return "" if Path("/proc/self/stat").exists() else listed(pid)
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
    return "" if state in "ZX" else f"{boot}/{rest[18]}"


def listed(pid: int) -> str:
    """The same on systems without /proc."""
    try:
        found = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()
