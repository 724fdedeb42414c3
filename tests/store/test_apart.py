"""A function in a process of its own: what it returns, and what is said when it takes too much or breaks."""

import os
import time

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.store import apart

pytestmark = pytest.mark.slow


def add(one: int, other: list[int]) -> list[int]:
    print("a library talks")
    return [one, *other]


def refuse() -> None:
    raise ExplorerError("The text is empty. Type a sentence.")


def eat() -> int:
    return len(bytearray(3_000_000_000))


def hang() -> None:
    time.sleep(600)


def crash() -> None:
    os.abort()


def fail() -> None:
    raise ZeroDivisionError("a private sentence")


def known() -> list[str]:
    return sorted(os.environ)


def test_what_it_returns_and_refuses_comes_back() -> None:
    assert apart.call(add, 1, [2, 3], seconds=60, megabytes=1000) == [1, 2, 3]
    with pytest.raises(ExplorerError, match="The text is empty. Type a sentence."):
        apart.call(refuse, seconds=60, megabytes=1000)


@pytest.mark.parametrize(
    ("function", "seconds", "message"),
    [
        (eat, 60, "needed more than 1,000 MB of memory"),
        (hang, 2, "took longer than 2 s"),
        (crash, 60, "ended its process"),
        (fail, 60, "failed with ZeroDivisionError$"),
    ],
)
def test_what_breaks_is_told_and_breaks_nothing_here(function: object, seconds: float, message: str) -> None:
    with pytest.raises(apart.Broken, match=message):
        apart.call(function, seconds=seconds, megabytes=1000)


def test_it_gets_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "x")
    monkeypatch.setenv("HF_PLAIN", "x")
    found = apart.call(known, seconds=60, megabytes=1000)
    assert "HF_PLAIN" in found and "HF_TOKEN" not in found
