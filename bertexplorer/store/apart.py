"""Apart: call a function in a separate process, with limits on time and memory, as its input may crash it."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import ROOT

STARTS = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR")  # variables without which Python may not start
FILES = 64  # that may be open
NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000  # of unshare(2)


class Broken(Exception):
    """The process did not end by itself; the text says why, as a continuation of "it"."""


def call(function: Callable[..., Any], *given: Any, seconds: float, megabytes: int, disk: int = 0) -> Any:
    """What the module-level *function* returns for *given*; both must be JSON. *disk*: bytes of the largest file that
    it may write; with it, the process gets no environment beyond what starts it and, where the system allows that, no
    network.

    Raises the ExplorerError that the function raises, and Broken if it exceeds a limit or crashes. On Windows, memory
    is not limited."""
    from bertexplorer.store.supervisor import environment

    named = f"{function.__module__}:{function.__qualname__}"
    command = [sys.executable, "-m", "bertexplorer.store.apart", named, str(megabytes), str(disk)]
    kept = {name: os.environ[name] for name in STARTS if name in os.environ} if disk else os.environ
    try:
        done = subprocess.run(
            command,
            input=json.dumps(given).encode(),
            capture_output=True,
            timeout=seconds,
            cwd=ROOT,
            env=environment(kept),
        )
    except subprocess.TimeoutExpired as error:
        raise Broken(f"took longer than {seconds:g} s") from error
    try:
        outcome = json.loads(done.stdout.splitlines()[-1])
        kind, value = outcome["kind"], outcome["value"]
    except (IndexError, ValueError, KeyError, TypeError) as error:
        raise Broken("ended its process") from error
    if kind == "refused":
        raise ExplorerError(value)
    if kind == "broken":
        raise Broken(value)
    return value


def limit(megabytes: int, disk: int) -> None:
    """Limit the memory of this process, its files and its network, and lower its priority."""
    with suppress(ImportError, ValueError, OSError):  # not available on Windows, or the limit is already lower
        import resource

        most = megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))  # mapped files do not count
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if disk:
            resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
            resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    if disk:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).unshare(
                NEW_USER | NEW_NETWORK
            )  # refused by many systems: a further wall, not the only one
    if hasattr(os, "nice"):
        os.nice(10)


def main(named: str, megabytes: str, disk: str) -> None:
    """Run the function in the other process: its arguments arrive on stdin, and the last line of stdout is the
    result."""
    module, _, name = named.partition(":")
    given = json.load(sys.stdin)
    function = getattr(import_module(module), name)
    limit(int(megabytes), int(disk))
    try:
        outcome = {"kind": "made", "value": function(*given)}
    except ExplorerError as error:
        outcome = {"kind": "refused", "value": str(error)}
    except MemoryError:
        outcome = {"kind": "broken", "value": f"needed more than {int(megabytes):,} MB of memory"}
    except Exception as error:
        outcome = {"kind": "broken", "value": f"failed with {type(error).__name__}"}
    sys.stdout.write("\n" + json.dumps(outcome) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
