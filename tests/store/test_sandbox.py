"""A sandboxed call returns its result and errors; if it exceeds a limit or crashes, the error says how."""

import ctypes
import os
import sys
import time

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.store import sandbox

pytestmark = pytest.mark.slow


def add(first: int, others: list[int]) -> list[int]:
    print("output of a library")
    return [first, *others]


def raise_explorer_error() -> None:
    raise ExplorerError("The text is empty. Type a sentence.")


def use_memory() -> int:
    return len(bytearray(3_000_000_000))


def hang() -> None:
    time.sleep(600)


def crash() -> None:
    os.abort()


def fail() -> None:
    raise ZeroDivisionError("a private sentence")


def variables() -> list[str]:
    return sorted(os.environ)


def limits() -> list[int]:
    import resource

    signal = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(2, ctypes.byref(signal))  # PR_GET_PDEATHSIG
    return [resource.getrlimit(resource.RLIMIT_CPU)[0], resource.getrlimit(resource.RLIMIT_FSIZE)[0], signal.value]


def test_results_and_explorer_errors() -> None:
    assert sandbox.call(add, 1, [2, 3], seconds=60, megabytes=1000) == [1, 2, 3]
    with pytest.raises(ExplorerError, match="The text is empty. Type a sentence."):
        sandbox.call(raise_explorer_error, seconds=60, megabytes=1000)


@pytest.mark.parametrize(
    ("function", "seconds", "message"),
    [
        (use_memory, 60, "needed more than 1,000 MB of memory"),
        (hang, 2, "took longer than 2 s"),
        (crash, 60, "ended its process"),
        (fail, 60, "failed with ZeroDivisionError$"),
    ],
)
def test_exceeded_limits_and_crashes(function: object, seconds: float, message: str) -> None:
    with pytest.raises(sandbox.SandboxError, match=message):
        sandbox.call(function, seconds=seconds, megabytes=1000)


def test_the_process_gets_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "x")
    monkeypatch.setenv("HF_PLAIN", "x")
    names = sandbox.call(variables, seconds=60, megabytes=1000)
    assert "HF_PLAIN" in names and "HF_TOKEN" not in names
    assert "HF_PLAIN" not in sandbox.call(variables, seconds=60, megabytes=1000, disk=1_000_000)


@pytest.mark.skipif(sys.platform != "linux", reason="these limits exist on Linux")
def test_an_abandoned_process_ends() -> None:
    cpu_s, file_bytes, signal = sandbox.call(limits, seconds=7, megabytes=1000, disk=1_000_000)
    assert cpu_s == 5 + 7 * (os.cpu_count() or 1) and file_bytes == 1_000_000 and signal == 9
