"""The calls of endpoints: what is no call is refused, answers wait a while and are bounded, who leaves is forgotten."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

from bertexplorer.api.endpoints import make_endpoints
from bertexplorer.errors import ExplorerError
from bertexplorer.web import callers as module
from bertexplorer.web.callers import HELD_SHARE, SHARE_AT_ONCE, SHARE_CALLS, Callers
from bertexplorer.web.calls import Calls

ENDPOINTS = make_endpoints("mini")
NAMES = list(ENDPOINTS)
PARAMETERS = [one.name for one in ENDPOINTS["fill_mask"].parameters]
FILL_MASK = [one.example for one in ENDPOINTS["fill_mask"].parameters]
NUMBER = NAMES.index("fill_mask")


class Echo:
    """In place of the endpoints: the answer is the question."""

    endpoints = ENDPOINTS

    async def __call__(self, name: str, given: Any, owner: str) -> bytes:
        return json.dumps({"name": name, "given": given, "owner": owner}).encode()


async def gradio(scope: Any, receive: Any, send: Any) -> None:
    """In place of gradio: the query that it gets."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["query_string"]})


class Client:
    """A client of the layer, on 192.0.2.1."""

    def __init__(self) -> None:
        self.calls = Calls(gradio, Echo())  # type: ignore[arg-type]

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        await self.calls({**scope, "state": {"network": "192.0.2.1", "owner": "ann"}}, receive, send)

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://localhost") as client:
            return await client.request(method, f"/gradio_api/{path}", **more)


def call(**more: Any) -> dict[str, Any]:
    return {"data": FILL_MASK, "fn_index": NUMBER, "session_hash": "ann-1"} | more


def test_a_call_is_answered_in_the_messages_of_gradio() -> None:
    async def go() -> None:
        client = Client()
        more = {"oauth_token": "secret", "event_data": {"a": 1}, "batched": True}
        event = (await client.ask("POST", "queue/join", json=call(**more))).json()["event_id"]
        answer = await client.ask("GET", "queue/data", params={"session_hash": "ann-1"})
        assert answer.headers["content-type"].startswith("text/event-stream")
        completed, closed = (json.loads(line[6:]) for line in answer.text.split("\n\n") if line)
        wanted = {"name": "fill_mask", "given": dict(zip(PARAMETERS, FILL_MASK, strict=True)), "owner": "ann"}
        assert completed["output"] == {"data": [wanted], "is_generating": False} and completed["success"] is True
        assert (completed["msg"], completed["event_id"]) == ("process_completed", event)
        assert closed == {"msg": "close_stream", "event_id": None}
        assert not client.calls.callers.callers and not client.calls.callers.turns_of

    asyncio.run(go())


def test_arguments_by_name_become_those_by_position() -> None:
    async def go() -> None:
        client = Client()
        asked = {"top": 3, "text": "a [MASK]"}
        event = (await client.ask("POST", "call/v2/fill_mask", json=asked)).json()["event_id"]
        answer = await client.ask("GET", f"call/v2/fill_mask/{event}")
        kind, content = answer.text.strip().split("\n")
        (said,) = json.loads(content.removeprefix("data: "))
        assert kind == "event: complete" and said["given"]["top"] == 3 and said["given"]["checkpoint"] is None

    asyncio.run(go())


def test_the_description_does_not_keep_the_address_of_who_asked_first() -> None:
    answer = asyncio.run(Client().ask("GET", "info"))
    assert answer.text == "page=gradio"


WRONG: dict[str, tuple[str, Any, int, str]] = {
    "no object": ("queue/join", [1], 422, "no call of an endpoint"),
    "not JSON": ("queue/join", None, 422, "no call of an endpoint"),
    "no number": ("queue/join", call(fn_index=None), 422, "fn_index: wanted the number"),
    "a truth for a number": ("queue/join", call(fn_index=True), 422, "fn_index: wanted the number"),
    "no such number": ("queue/join", call(fn_index=len(NAMES)), 422, "fn_index: wanted the number"),
    "a number below": ("queue/join", call(fn_index=-1), 422, "fn_index: wanted the number"),
    "no caller": ("queue/join", call(session_hash=None), 422, "session_hash: wanted"),
    "an odd caller": ("queue/join", call(session_hash="a<gradio-sep>b"), 422, "session_hash: wanted"),
    "no values": ("queue/join", call(data=None), 422, "fill_mask: got no list of values"),
    "too few values": ("queue/join", call(data=["a"]), 422, "fill_mask: got 1 values"),
    "a file": ("queue/join", call(data=[{"path": "/etc/passwd"}, *FILL_MASK[1:]]), 422, "text: got an object"),
    "a file in a list": ("queue/join", call(data=[[{"path": "a"}], *FILL_MASK[1:]]), 422, "text: got an object"),
    "deep lists": ("queue/join", call(data=[[[[["a"]]]], *FILL_MASK[1:]]), 422, "text: got lists in lists"),
    "many items": ("call/v2/fill_mask", {"text": "a", "mask": [[]] * 5001}, 422, "mask: got more than 5,000 items"),
    "no endpoint": ("call/predict", {"data": []}, 404, "There is no endpoint predict."),
    "no argument": ("call/v2/fill_mask", {"text": "a", "bogus": 1}, 422, "fill_mask has no argument bogus"),
    "nothing to cancel": ("cancel", [], 422, "no call of an endpoint"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_call_is_refused_as_gradios_clients_read_it(wrong: str) -> None:
    path, given, status, sentence = WRONG[wrong]
    answer = asyncio.run(Client().ask("POST", path, json=given))
    detail = answer.json()["detail"]
    assert answer.status_code == status and sentence in (detail if status == 404 else detail[0]["message"])


def test_there_is_nothing_to_read_for_who_did_not_ask() -> None:
    for path in ("queue/data?session_hash=x", "queue/data", f"call/fill_mask/{'0' * 32}"):
        assert asyncio.run(Client().ask("GET", path)).status_code == 404


def in_loop(check: Callable[[Callers], Coroutine[Any, Any, None]]) -> None:
    async def go() -> None:
        await check(Callers())

    asyncio.run(go())


def answering(content: bytes) -> Callable[[], Coroutine[Any, Any, bytes]]:
    async def compute() -> bytes:
        return content

    return compute


async def never() -> bytes:
    await asyncio.sleep(60)
    return b""


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_answers_that_nobody_reads_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNREAD_S", 0.05)

    async def check(callers: Callers) -> None:
        assert callers.ask("c", "1", "n", 5, answering(b"12345")) and callers.ask("d", "2", "n", 5, never)
        await settled()
        assert callers.callers["c"].held == 5 and callers.callers["d"].held == 5
        task = callers.callers["d"].tasks["2"]
        await asyncio.sleep(0.1)
        assert not callers.callers and not callers.turns_of and task.cancelled()

    in_loop(check)


def test_the_calls_and_the_bytes_of_a_network_are_bounded() -> None:
    async def check(callers: Callers) -> None:
        for number in range(SHARE_CALLS):
            assert callers.ask(f"c{number % 3}", str(number), "n", 1, never)
        assert not callers.ask("c", "more", "n", 1, never) and callers.ask("c", "more", "other", 1, never)
        assert not callers.ask("d", "big", "third", HELD_SHARE + 1, never)
        for caller in list(callers.callers.values()):
            callers.forget(caller)
        await settled()
        assert not callers.callers
        half = bytes(HELD_SHARE * 2 // 3)
        assert callers.ask("c", "1", "n", 1, answering(half)) and callers.ask("d", "2", "n", 1, answering(half))
        await settled()
        (first,), (second,) = (callers.callers[name].answers for name in "cd")
        assert first.success and not second.success and b"Busy" in second.content, "it would be too much to keep"

    in_loop(check)


def test_a_network_leaves_others_their_turn() -> None:
    async def check(callers: Callers) -> None:
        for number in range(SHARE_CALLS):
            callers.ask("c", str(number), "n", 1, never)
        await settled()
        assert callers.turns_of["n"].locked() and callers.turns._value == module.AT_ONCE - SHARE_AT_ONCE
        callers.ask("d", "1", "other", 1, answering(b"1"))
        await settled()
        assert [answer.content for answer in callers.callers["d"].answers] == [b"1"]
        callers.forget(callers.callers["c"])
        await settled()
        assert callers.turns._value == module.AT_ONCE

    in_loop(check)


def test_one_call_is_cancelled_once_and_the_others_go_on() -> None:
    async def check(callers: Callers) -> None:
        for number in ("1", "2", "3"):
            callers.ask("c", number, "n", 7, never)
        assert callers.cancel("c", "1") and not callers.cancel("c", "1"), "before it begins"
        await settled()
        assert callers.cancel("c", "2") and not callers.cancel("c", "no") and not callers.cancel("d", "3")
        await settled()
        caller = callers.callers["c"]
        assert [(answer.call, answer.content) for answer in caller.answers] == [("1", b""), ("2", b"")]
        assert list(caller.tasks) == ["3"] and caller.held == 7
        assert caller.answers[0].message() == (
            b'data: {"msg":"process_completed","event_id":"1","output":{},"success":true}\n\n'
        )

    in_loop(check)


def test_an_error_is_a_sentence_and_an_unforeseen_one_has_a_number() -> None:
    async def raising(error: Exception) -> bytes:
        raise error

    async def check(callers: Callers) -> None:
        callers.ask("c", "1", "n", 1, lambda: raising(ExplorerError('A "quoted" thing.')))
        callers.ask("c", "2", "n", 1, lambda: raising(KeyError("/etc/passwd")))
        await settled()
        known, unforeseen = callers.callers["c"].answers
        assert json.loads(known.message()[6:])["output"]["error"] == 'A "quoted" thing.' and not known.success
        assert b"Internal error (number" in unforeseen.content and b"passwd" not in unforeseen.content

    in_loop(check)


def test_the_newest_stream_of_a_caller_has_the_answers() -> None:
    async def go() -> None:
        client = Client()
        callers = client.calls.callers
        ready = asyncio.Event()

        async def compute() -> bytes:
            await ready.wait()
            return b"1"

        callers.ask("c", "1", "n", 1, compute)
        first = asyncio.ensure_future(client.ask("GET", "queue/data?session_hash=c"))
        await settled()
        second = asyncio.ensure_future(client.ask("GET", "queue/data?session_hash=c"))
        await settled()
        ready.set()
        assert "process_completed" not in (await first).text and "process_completed" in (await second).text
        assert not callers.callers

    asyncio.run(go())
