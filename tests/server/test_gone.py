"""Long work: it leaves the quick lane whatever the view, is refused beyond the limit, and ends with its page."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from bertexplorer.engine import collate, run
from tests.model.test_cores import until
from tests.server.conftest import settle
from tests.server.talk import Page

LONG = "a great movie " * 30  # 92 tokens


class Held:
    """Passes of the long text that wait until they are let go; others run."""

    def __init__(self) -> None:
        self.passes, self.go, self.forward = 0, threading.Event(), run.forward

    def __call__(self, checkpoint: Any, encodings: Any, **more: Any) -> Any:
        if len(encodings) > 1 and len(encodings[0]) > 40:
            self.passes += 1
            self.go.wait(20)
        return self.forward(checkpoint, encodings, **more)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """Batches of two of these texts, and long what takes more than two of them."""
    made = Held()
    monkeypatch.setattr(run, "forward", made)
    monkeypatch.setattr(run, "batches", partial(collate.batches, budget=200))
    monkeypatch.setattr("bertexplorer.engine.progress.QUICK", 200)
    yield made
    made.go.set()


def asks_for_long(running: Any, session: str) -> Page:
    """A page that asks for the score of every token, and waits."""
    page = Page(running.url, session=session)
    page.ask(page.number("nav", "click"), data={"view": "pseudo-likelihood"})
    event = page.number("typed", "click")
    body = {"data": held_values(page, event), "fn_index": event["id"], "session_hash": session}
    body["event_data"] = {"typed": {"text": LONG}}
    assert page.client.post("/gradio_api/queue/join", json=body).status_code == 200
    return page


def held_values(page: Page, event: dict[str, Any]) -> list[Any]:
    return [page.props[id].get("value") for id in event["inputs"]]


def test_two_long_texts_in_a_quick_view_leave_the_quick_lane_to_others(running: Any, held: Held) -> None:
    pages = [asks_for_long(running, f"long-{i}") for i in range(2)]
    lanes = running.lanes
    until(lambda: held.passes == 1 and len(lanes.slow.inside) + lanes.slow.waiting == 2)
    assert not lanes.quick.inside
    other = Page(running.url, session="quick")
    told = other.ask(other.number("typed", "click"), data={"typed": {"text": "a great [MASK]"}})
    assert told["success"] and held.passes == 1, "answered while the long ones are under way"
    held.go.set()
    for page in pages:
        assert page.answer()["success"]


def test_the_work_of_a_page_that_was_closed_ends_after_its_batch(
    running: Any, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = asks_for_long(running, "closed")
    with page.client.stream("GET", "/gradio_api/queue/data", params={"session_hash": "closed"}) as stream:
        told = stream.iter_text()  # kept, as the stream is closed with it
        assert "event_id" in next(told)
        until(lambda: held.passes > 0)
        monkeypatch.setattr(running.lanes.presence, "patience_s", 0.0)
        assert not running.lanes.presence.gone("closed")
    until(lambda: running.lanes.presence.gone("closed"))
    passes = held.passes
    held.go.set()
    until(lambda: not running.lanes.slow.inside and not running.lanes.quick.inside)
    assert held.passes == passes, "of more than forty"


def test_what_takes_too_many_tokens_is_refused_before_it_runs(
    running: Any, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running.lanes, "limit", 500)
    told = asks_for_long(running, "much").answer()
    assert "tokens through the checkpoint; the limit is 500." in str(told) and held.passes == 0


def test_a_file_of_a_figure_waits_in_the_same_lanes(running: Any, held: Held) -> None:
    page = asks_for_long(running, "file")
    until(lambda: held.passes == 1)
    held.go.set()
    shown = page.answer()
    held.go.clear()
    memory = next(value for value in shown["output"]["data"] if isinstance(value, dict) and "view" in value)
    event = page.number("export-csv", "click")
    body = {"data": [memory, LONG, *held_values(page, event)[2:]], "fn_index": event["id"], "session_hash": "file"}
    assert page.client.post("/gradio_api/queue/join", json=body).status_code == 200
    until(lambda: len(running.lanes.slow.inside) == 1 and not running.lanes.quick.inside)
    held.go.set()
    assert "log_probability" in str(page.answer())


def test_a_page_is_heard_of_when_it_asks_and_while_it_listens(alone: Callable[..., Any]) -> None:
    made = alone()

    async def visit() -> None:
        async with made.browser() as browser:
            await browser.post("/gradio_api/queue/join", json={"data": [], "session_hash": "a"})
            await browser.get("/gradio_api/queue/data", params={"session_hash": "b"})

    settle(visit())
    assert set(made.lanes.presence.heard) == {"a", "b"} and not made.lanes.presence.streams
