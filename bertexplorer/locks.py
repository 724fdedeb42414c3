"""Locks: whether a process uses a file. The system releases a lock when its process ends, even after a crash."""

import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # a system without flock: check whether the process in the file is running
    fcntl = None  # type: ignore[assignment]


def acquire(path: Path, wait_s: float = 1.0) -> IO[str] | None:
    """The file at *path*, locked until it is closed, also by a child that inherits it. It is created if necessary; call
    `write_process` to record its process. None if another process keeps the lock for *wait_s*; a short wait is normal,
    as `is_locked` takes the lock for a moment."""
    deadline = time.monotonic() + wait_s
    file = path.open("a+", encoding="utf-8")
    while not try_lock(file):
        if time.monotonic() > deadline:
            file.close()
            return None
        time.sleep(0.01)
    return file


def try_lock(file: IO[str]) -> bool:
    if fcntl is None:
        return not is_running(*read_process(file))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of the file at *path*. This takes the lock and releases it at once."""
    try:
        with path.open(encoding="utf-8") as file:
            return not try_lock(file)
    except FileNotFoundError:
        return False


def write_process(file: IO[str], pid: int) -> None:
    """Record the process *pid* in the locked file."""
    file.seek(0)
    file.truncate()
    file.write(f"{pid} {start_time(pid)}")
    file.flush()


def clear_process(file: IO[str]) -> None:
    """Remove the process from the locked file. Without flock, closing the file does not release it."""
    file.seek(0)
    file.truncate()
    file.flush()


def holder_pid(path: Path) -> int:
    """The pid of the process in the file, 0 if that process has ended."""
    try:
        with path.open(encoding="utf-8") as file:
            pid, started = read_process(file)
    except FileNotFoundError:
        return 0
    return pid if is_running(pid, started) else 0


def read_process(file: IO[str]) -> tuple[int, str]:
    """(pid, its start time) from a file, (0, "") if there is none."""
    file.seek(0)
    pid, _, started = file.read(200).partition(" ")
    return (int(pid), started) if pid.isdecimal() else (0, "")


def is_running(pid: int, started: str) -> bool:
    """Whether the process *pid* is the one with the start time *started*, as pids are reused."""
    return pid > 0 and bool(started) and start_time(pid) == started


def start_time(pid: int) -> str:
    """When the process started according to the system; "" if there is no such process, or only a zombie."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return "" if Path("/proc/self/stat").exists() else start_time_from_ps(pid)
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
    return "" if state in "ZX" else f"{boot}/{rest[18]}"


def start_time_from_ps(pid: int) -> str:
    """The same on systems without /proc."""
    try:
        output = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return output.stdout.strip()
