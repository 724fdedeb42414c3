"""The list of runs on Train and Pretrain, where the error of a poll stays only until a poll succeeds; captions."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.web.experiments import page as experiments
from bertexplorer.web.experiments.wiring import ExperimentHandlers
from bertexplorer.web.html import caption
from bertexplorer.web.owner_binding import bind_owner
from bertexplorer.web.training import page as training
from bertexplorer.web.training.run_handlers import RunHandlers

ASKS = SimpleNamespace(state=SimpleNamespace(owner="ann"))


class Runs:
    """A service without runs, whose folder cannot be read while `full`."""

    full = True

    def __init__(self) -> None:
        self.registry = CheckpointRegistry(Settings())

    def runs(self, owner: str, *, deleted: bool = False) -> list[Any]:
        if self.full:
            raise ExplorerError("The disk is full.")
        return []

    trials = runs

    def listed(self, trials: list[Any], owner: str) -> list[Any]:
        return trials


def train(service: Any) -> tuple[Any, Callable[[], dict[Any, Any]]]:
    page = training.build(service.registry)
    return page, lambda: bind_owner(RunHandlers(service, page).poll)(ASKS, "", [], "")


def pretrain(service: Any) -> tuple[Any, Callable[[], dict[Any, Any]]]:
    page = experiments.build()
    return page, lambda: bind_owner(ExperimentHandlers(service, page).poll)(ASKS, "")


@pytest.mark.parametrize("build", [train, pretrain])
def test_the_error_of_a_poll_disappears_after_the_next_one(build: Callable[[Any], Any]) -> None:
    service = Runs()
    with gr.Blocks():
        page, poll = build(service)
    failed = poll()
    assert "The disk is full." in failed[page.runs.entries]
    service.full = False
    updates = poll()
    assert "No run yet" in updates[page.runs.entries]
    assert set(failed) <= set(updates)  # everything that the error changed is redrawn


def test_a_number_and_its_sign_stay_in_one_line() -> None:
    shown = caption("It is 50.0 %, then < 0.1 %; 3 of 4.", "")
    assert ">It is 50.0\u00a0%, then &lt;\u00a00.1\u00a0%; 3 of 4.<" in shown
