"""The layer around gradio: calls are checked and reduced, answers are counted until they are read, and callers who
leave are forgotten."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

from bertexplorer.api.endpoints import make_endpoints
from bertexplorer.web import callers as module
from bertexplorer.web.callers import OVERHEAD, UNREAD_SHARE, Callers
from bertexplorer.web.calls import Calls

ENDPOINTS = make_endpoints("mini")
NAMES = list(ENDPOINTS)
FILL_MASK = [one.example for one in ENDPOINTS["fill_mask"].parameters]
NUMBER = NAMES.index("fill_mask")


class Queue:
    """What `Callers` needs of gradio's queue."""

    def __init__(self) -> None:
        self.pending_messages_per_session: dict[str, Any] = {}
        self.pending_event_ids_session: dict[str, set[str]] = {}
        self.cleaned: list[str] = []
        self.sleep_when_free = 0.001
        self.progress_update_sleep_when_free = 0.01

    async def clean_events(self, session_hash: str) -> None:
        self.cleaned.append(session_hash)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """In place of gradio: the path and the body that it gets."""
    body = (await receive()).get("body", b"") if scope["method"] == "POST" else b""
    answer = json.dumps({"path": scope["path"], "body": json.loads(body or b"null")}).encode()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def post(queue: Queue) -> Callable[..., httpx.Response]:
    """Posts a call to the layer."""
    calls = Calls(echo, ENDPOINTS, Callers(queue))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await calls({**scope, "state": {"network": "192.0.2.1"}}, receive, send)

    async def go(path: str, given: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await client.post(f"/gradio_api/{path}", json=given)

    return lambda path, given: asyncio.run(go(path, given))


def call(**more: Any) -> dict[str, Any]:
    return {"data": FILL_MASK, "fn_index": NUMBER, "session_hash": "ann-1"} | more


def test_gradio_gets_only_what_an_endpoint_needs(post: Callable[..., httpx.Response]) -> None:
    more = {"event_id": "x", "oauth_token": "secret", "event_data": {"a": 1}, "trigger_id": 3, "batched": True}
    assert post("queue/join", call(**more)).json()["body"] == call()
    assert post("call/fill_mask", call(**more)).json()["body"] == {"data": FILL_MASK}
    event = "0" * 32
    cancelled = post("cancel", {**call(), "event_id": event}).json()["body"]
    assert cancelled == {"session_hash": "ann-1", "fn_index": NUMBER, "event_id": event}


def test_arguments_by_name_become_those_by_position(post: Callable[..., httpx.Response]) -> None:
    answer = post("call/v2/fill_mask", {"top": 3, "text": "a [MASK]"}).json()
    assert answer["path"] == "/gradio_api/call/fill_mask"
    by_name = dict(zip([one.name for one in ENDPOINTS["fill_mask"].parameters], answer["body"]["data"], strict=True))
    assert by_name["top"] == 3 and by_name["text"] == "a [MASK]" and by_name["checkpoint"] == "mini"


WRONG: dict[str, tuple[str, Any, int, str]] = {
    "no object": ("queue/join", [1], 422, "no call of an endpoint"),
    "not JSON": ("queue/join", None, 422, "no call of an endpoint"),
    "no number": ("queue/join", call(fn_index=None), 422, "fn_index: wanted the number"),
    "a truth for a number": ("queue/join", call(fn_index=True), 422, "fn_index: wanted the number"),
    "no such number": ("queue/join", call(fn_index=len(NAMES)), 422, "fn_index: got 38"),
    "a number below": ("queue/join", call(fn_index=-1), 422, "fn_index: got -1"),
    "no caller": ("queue/join", call(session_hash=None), 422, "session_hash: wanted"),
    "a caller that breaks cancelling": ("queue/join", call(session_hash="a<gradio-sep>b"), 422, "session_hash: wanted"),
    "no values": ("queue/join", call(data=None), 422, "fill_mask: got no list of values"),
    "too few values": ("queue/join", call(data=["a"]), 422, "fill_mask: got 1 values"),
    "a file": ("queue/join", call(data=[{"path": "/etc/passwd"}, *FILL_MASK[1:]]), 422, "text: got an object"),
    "deep lists": ("queue/join", call(data=[[[[["a"]]]], *FILL_MASK[1:]]), 422, "text: got an object"),
    "many items": ("call/v2/fill_mask", {"text": "a", "mask": [[]] * 5000}, 422, "more than 5,000 items"),
    "no endpoint": ("call/predict", {"data": []}, 404, "There is no endpoint predict."),
    "no argument": ("call/v2/fill_mask", {"text": "a", "bogus": 1}, 422, "fill_mask has no argument bogus"),
    "nothing for an argument": ("call/v2/fill_mask", {}, 422, "text: got nothing; wanted the text"),
    "no event": ("cancel", call(), 422, "event_id: wanted"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_call_is_refused_as_gradios_clients_read_it(wrong: str, post: Callable[..., httpx.Response]) -> None:
    path, given, status, sentence = WRONG[wrong]
    answer = post(path, given)
    detail = answer.json()["detail"]
    assert answer.status_code == status and sentence in (detail if status == 404 else detail[0]["message"])


def in_loop(check: Callable[[Callers], Coroutine[Any, Any, None]], queue: Queue) -> None:
    async def go() -> None:
        await check(Callers(queue))

    asyncio.run(go())


def test_answers_that_nobody_reads_are_bounded_and_dropped(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNREAD_S", 0.05)

    async def check(callers: Callers) -> None:
        for i in range(3):
            queue.pending_messages_per_session[f"c{i}"] = queue.pending_event_ids_session[f"c{i}"] = {"an answer"}
            with callers.call(f"c{i}", "192.0.2.1") as sizes:
                sizes.append(UNREAD_SHARE // 3)
        assert callers.full("192.0.2.1") and not callers.full("192.0.2.2")
        callers.delivered("c0")
        assert not callers.full("192.0.2.1") and sum(callers.of_network.values()) == 2 * (OVERHEAD + UNREAD_SHARE // 3)
        with callers.reading("c2"):
            await asyncio.sleep(0.1)
            assert set(callers.unread) == {"c2"} and queue.cleaned == ["c1"]
        callers.leave("c2")
        await asyncio.sleep(0)
        assert not callers.unread and not callers.networks and not callers.last and not callers.of_network
        assert "c1" not in queue.pending_messages_per_session and "c1" not in queue.pending_event_ids_session

    in_loop(check, queue)


def test_an_error_waits_to_be_read_as_an_answer_does(queue: Queue) -> None:
    async def check(callers: Callers) -> None:
        with pytest.raises(ValueError, match="wrong"), callers.call("c", "n"):
            raise ValueError("wrong")
        assert callers.unread["c"] == module.deque([OVERHEAD]) and not callers.tasks

    in_loop(check, queue)


def test_a_caller_who_leaves_is_not_computed_for(queue: Queue) -> None:
    async def check(callers: Callers) -> None:
        async def compute() -> None:
            with callers.call("c", "n"):
                await asyncio.sleep(60)

        task = asyncio.ensure_future(compute())
        await asyncio.sleep(0)
        callers.leave("c")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not callers.unread and not callers.tasks and queue.cleaned == ["c"]

    in_loop(check, queue)


def test_gradio_looks_for_calls_often_only_after_one(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AWAKE_FOR_S", 0.05)

    async def check(callers: Callers) -> None:
        assert queue.sleep_when_free == module.IDLE_S and queue.progress_update_sleep_when_free >= 60
        callers.wake()
        await asyncio.sleep(0.03)
        callers.wake()
        await asyncio.sleep(0.03)
        assert queue.sleep_when_free == module.AWAKE_S
        await asyncio.sleep(0.04)
        assert queue.sleep_when_free == module.IDLE_S

    in_loop(check, queue)
