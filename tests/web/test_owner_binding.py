"""Each event goes to a handler bound to its owner, and unexpected errors are reported with their number."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.web.owner_binding import bind_owner

ASKS = SimpleNamespace(state=SimpleNamespace(owner="ann"))


@dataclass
class Service:
    owner: str = ""

    def for_owner(self, owner: str) -> "Service":
        return replace(self, owner=owner)

    def error(self, error: Exception) -> str:
        return f"shown: {error}"

    def one(self, value: int) -> str:
        if value < 0:
            raise ExplorerError("below 0")
        return f"{self.owner} {1 / value}"

    def several(self, request: gr.Request, value: int) -> Iterator[str]:
        yield f"{self.owner} {value}"
        if value < 0:
            raise ExplorerError("below 0")
        yield f"{1 / value}"


def test_the_handler_is_bound_to_the_owner_of_the_event() -> None:
    assert bind_owner(Service().one)(ASKS, 2) == "ann 0.5"
    assert list(bind_owner(Service().several)(ASKS, 4)) == ["ann 4", "0.25"]


def test_an_error_for_people_is_the_answer() -> None:
    assert bind_owner(Service().one)(ASKS, -1) == "shown: below 0"
    assert list(bind_owner(Service().several)(ASKS, -1)) == ["ann -1", "shown: below 0"]


@pytest.mark.parametrize(
    "fails", [lambda: bind_owner(Service().one)(ASKS, 0), lambda: list(bind_owner(Service().several)(ASKS, 0))]
)
def test_an_unexpected_error_has_a_number(fails: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(gr.Error) as words:
        fails()
    (line,) = caplog.records
    assert f"error {line.id} in the log" in str(words.value.message) and "ZeroDivisionError" in caplog.text
