"""Events of gradio: their order, and the rejection of invalid ones with a sentence and one line in the log that
repeats none of their content."""

import io
from typing import Any

import pytest

from tests.model.test_scheduler import until
from tests.server.conftest import lines
from tests.server.talk import Page

TOLD = "a private sentence"


@pytest.fixture(scope="module")
def page(running: Any) -> Page:
    return Page(running.url, "/train", "events")


def good(page: Page) -> dict[str, Any]:
    event = page.number("rename", "submit")
    values = [page.props[id].get("value") for id in event["inputs"]]
    return {"data": values, "fn_index": event["id"], "session_hash": "events"}


def joins(written: io.StringIO) -> list[dict[str, Any]]:
    """The lines of the log about joining the queue; those of opening the page may still arrive."""
    return [line for line in lines(written) if line.get("route") == "join"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fn_index": 99_999}, "no event number 99999"),
        ({"fn_index": -1}, "no event number -1"),
        ({"fn_index": 10**400}, "no event number"),
        ({"fn_index": True}, "no event number True"),
        ({"fn_index": None}, "no event number None"),
        ({"fn_index": TOLD}, "no event number"),
        ({"data": [TOLD]}, "came with 1 values; wanted"),
        ({"data": [TOLD] * 1000}, "came with 1,000 values; wanted"),
        ({"data": {"a": TOLD}}, "came with no list of values; wanted"),
        ({"session_hash": ""}, "which page it is about"),
        ({"session_hash": None}, "which page it is about"),
        ({"session_hash": [TOLD]}, "which page it is about"),
        ({"session_hash": "x" * 5000}, "which page it is about"),
    ],
)
def test_an_invalid_event_is_rejected(
    running: Any,
    page: Page,
    written: io.StringIO,
    capfd: pytest.CaptureFixture[str],
    change: dict[str, Any],
    message: str,
) -> None:
    answer = page.client.post("/gradio_api/queue/join", json=good(page) | change)
    assert answer.status_code == 400 and message in answer.text and "{" not in answer.text
    until(lambda: bool(joins(written)))  # written after the answer was sent
    (line,) = joins(written)
    assert line["status"] == 400 and TOLD not in written.getvalue()
    assert capfd.readouterr().err == ""


def test_an_event_without_a_handler_is_rejected(page: Page) -> None:
    number = next(dependency["id"] for dependency in page.config["dependencies"] if not dependency["backend_fn"])
    answer = page.client.post("/gradio_api/queue/join", json=good(page) | {"fn_index": number, "data": []})
    assert answer.status_code == 400 and "no event" in answer.text


@pytest.mark.parametrize("query", ["", "?session_hash=", "?session_hash=" + "x" * 101])
def test_a_stream_without_a_page_is_rejected(page: Page, query: str) -> None:
    answer = page.client.get(f"/gradio_api/queue/data{query}")
    assert answer.status_code == 400 and "which page it is about" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/assets/" + "a" * 256,
        "/assets/" + "\u00e9" * 128,
        "/static/" + "a/" * 3000,
        "/svelte/" + "a" * 5000,
        "/gradio_api/heartbeat/" + "a" * 5000,
    ],
)
def test_an_impossible_path_is_not_found(page: Page, written: io.StringIO, path: str) -> None:
    answer = page.client.get(path)
    assert answer.status_code == 404 and "no such page" in answer.text
    assert not [line for line in lines(written) if line["level"] == "error"] and "Traceback" not in written.getvalue()


def test_a_failing_event_is_one_log_line_without_text_of_users(
    page: Page, written: io.StringIO, capfd: pytest.CaptureFixture[str]
) -> None:
    event = page.number("check", "click")
    values = [{"path": [TOLD]} for _ in event["inputs"]]
    answer = page.client.post("/gradio_api/queue/join", json=good(page) | {"fn_index": event["id"], "data": values})
    assert answer.status_code == 200 and not page.answer()["success"]
    out = capfd.readouterr()
    assert TOLD not in out.err + out.out + written.getvalue() and "Traceback" not in out.err
    assert [line["message"] for line in lines(written) if line["level"] == "error"] == ["gradio failed at an event"]


def test_a_preview_is_cancelled_before_any_other_event(page: Page) -> None:
    """gradio runs the events of a trigger one after the other, so a later one would cancel the preview of new rows."""
    events = page.config["dependencies"]
    cancelling = [event for event in events if event["cancels"]]
    assert cancelling
    for event in cancelling:
        earlier = [other for other in events[: events.index(event)] if other["backend_fn"]]
        assert not [other for other in earlier if {*map(tuple, other["targets"])} & {*map(tuple, event["targets"])}]
