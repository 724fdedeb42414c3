"""A browser keeps a bounded number of streams open, and so do all browsers together."""

import asyncio
from typing import Any

import httpx
import pytest

from bertexplorer.server import stream_limit
from bertexplorer.server.stream_limit import StreamLimit
from tests.server.conftest import settle


async def disconnected() -> Any:
    return {"type": "http.disconnect"}


def waiting_for(end: asyncio.Event) -> Any:
    """An app whose streams stay open until *end*."""

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await end.wait()

    return stream


@pytest.mark.parametrize("kind", ["events", "answers"])
def test_further_streams_are_rejected_until_one_ends(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_limit, "MAX_OWN", 2)
    monkeypatch.setattr(stream_limit, "MAX_ALL", 3)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def go() -> None:
        end = asyncio.Event()

        limit = StreamLimit(waiting_for(end))

        def opened(owner: str, route: str = kind) -> asyncio.Task[None]:
            scope = {"type": "http", "state": {"route": route, "owner": owner}}
            return asyncio.ensure_future(limit(scope, disconnected, send))

        tasks = [opened("a"), opened("a"), opened("a"), opened("b"), opened("c"), opened("a", "api")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [task.done() for task in tasks] == [False, False, True, False, True, False]
        assert [message["status"] for message in sent if "status" in message] == [503, 503]
        end.set()
        await asyncio.gather(*tasks)
        assert not limit.open

    settle(go())


def test_the_streams_of_one_address_leave_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_limit, "MAX_NETWORK", 3)
    statuses: list[int] = []

    async def send(message: Any) -> None:
        if "status" in message:
            statuses.append(message["status"])

    async def go() -> None:
        end = asyncio.Event()

        limit = StreamLimit(waiting_for(end))

        def opened(owner: str, network: str) -> asyncio.Task[None]:
            scope = {"type": "http", "state": {"route": "events", "owner": owner, "network": network}}
            return asyncio.ensure_future(limit(scope, disconnected, send))

        program = [opened(f"made up {i}", "192.0.2.1") for i in range(50)]
        pupil = opened("pupil", "192.0.2.2")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sum(not task.done() for task in program) == 3 and statuses == [503] * 47
        assert not pupil.done()
        end.set()
        await asyncio.gather(*program, pupil)
        assert not limit.open and not limit.of_network

    settle(go())


def test_gradio_needs_no_heartbeat(running: Any) -> None:
    """Its route is closed: each open one would cost the server something."""
    assert httpx.get(f"{running.url}/gradio_api/heartbeat/abc").status_code == 404
    assert httpx.get(f"{running.url}/config").json()["connect_heartbeat"] is False
