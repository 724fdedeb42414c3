"""Sandbox: calls a function in a separate process, with limits on time and memory, as its input may crash it."""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import ROOT

ESSENTIAL_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR")  # without which Python may not start
SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|BERTEXPLORER_CODE", re.IGNORECASE)
MAX_OPEN_FILES = 64
NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000  # flags of unshare(2)
END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


class SandboxError(Exception):
    """Raised if the process exceeds a limit or crashes. The text continues a sentence whose subject is the call."""


def call(function: Callable[..., Any], *arguments: Any, seconds: float, megabytes: int, disk: int = 0) -> Any:
    """Return what the module-level *function* returns for *arguments*; both must be JSON. *disk*: bytes of the largest
    file that it may write; with it, the process gets no environment beyond ESSENTIAL_VARIABLES and, where the system
    allows that, no network.

    Raises the ExplorerError that the function raises, and SandboxError. On Windows, memory is not limited."""
    path = f"{function.__module__}:{function.__qualname__}"
    limits = [str(megabytes), str(disk), f"{seconds:.0f}"]
    command = [sys.executable, "-m", "bertexplorer.store.sandbox", path, *limits]
    variables = dict(os.environ)
    if disk:
        variables = {name: value for name, value in os.environ.items() if name in ESSENTIAL_VARIABLES}
    try:
        process = subprocess.run(
            command,
            input=json.dumps(arguments).encode(),
            capture_output=True,
            timeout=seconds,
            cwd=ROOT,
            env=environment(variables),
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"took longer than {seconds:g} s") from error
    try:
        outcome = json.loads(process.stdout.splitlines()[-1])
        kind = outcome["kind"]
        value = outcome["value"]
    except (IndexError, ValueError, KeyError, TypeError) as error:
        raise SandboxError("ended its process") from error
    if kind == "explorer error":
        raise ExplorerError(value)
    if kind == "failure":
        raise SandboxError(value)
    return value


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a run's process or of a sandbox: *variables* without secrets, and one thread."""
    public = {name: value for name, value in variables.items() if not SECRET.search(name)}
    return public | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def set_limits(megabytes: int, disk: int, seconds: int) -> None:
    """Limit the memory of this process to *megabytes*, its time to *seconds* of each core, and lower its priority. With
    *disk*, the bytes of the largest file that it may write, also its open files and its network. On Linux, it ends with
    the thread that started it."""
    with suppress(ImportError, ValueError, OSError):  # not available on Windows, or the limit is already lower
        import resource

        memory = megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))  # does not count mapped files
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if disk:
            resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
            resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, MAX_OPEN_FILES))
        busy = 5 + seconds * (os.cpu_count() or 1)  # more than it can use in time
        resource.setrlimit(resource.RLIMIT_CPU, (busy, busy))  # in case nobody waits for it any more
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
    if disk:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).unshare(NEW_USER | NEW_NETWORK)  # an extra barrier: many systems do not permit it
    if hasattr(os, "nice"):
        os.nice(10)


def main(path: str, megabytes: str, disk: str, seconds: str) -> None:
    """Call the function in this process: the arguments arrive on stdin, and the last line of stdout is the outcome."""
    module, _, name = path.partition(":")
    arguments = json.load(sys.stdin)
    function = getattr(import_module(module), name)
    set_limits(int(megabytes), int(disk), int(seconds))
    try:
        outcome = {"kind": "result", "value": function(*arguments)}
    except ExplorerError as error:
        outcome = {"kind": "explorer error", "value": str(error)}
    except MemoryError:
        outcome = {"kind": "failure", "value": f"needed more than {int(megabytes):,} MB of memory"}
    except BaseException as error:  # a panic of a library in Rust is no Exception
        outcome = {"kind": "failure", "value": f"failed with {type(error).__name__}"}
    sys.stdout.write("\n" + json.dumps(outcome) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
