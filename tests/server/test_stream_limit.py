"""A browser keeps a bounded number of streams open, and so do all browsers together."""

import asyncio
from typing import Any

import httpx
import pytest

from bertexplorer.server import stream_limit
from bertexplorer.server.stream_limit import StreamLimit
from tests.server.conftest import settle


def test_further_streams_are_rejected_until_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_limit, "MAX_OWN", 2)
    monkeypatch.setattr(stream_limit, "MAX_ALL", 3)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def go() -> None:
        end = asyncio.Event()

        async def stream(scope: Any, receive: Any, send: Any) -> None:
            await end.wait()

        limit = StreamLimit(stream)

        def opened(owner: str, route: str = "events") -> asyncio.Task[None]:
            scope = {"type": "http", "state": {"route": route, "owner": owner}}
            return asyncio.ensure_future(limit(scope, receive, send))

        tasks = [opened("a"), opened("a"), opened("a"), opened("b"), opened("c"), opened("a", "api")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [task.done() for task in tasks] == [False, False, True, False, True, False]
        assert [message["status"] for message in sent if "status" in message] == [503, 503]
        end.set()
        await asyncio.gather(*tasks)
        assert not limit.open

    settle(go())


def test_gradio_needs_no_heartbeat(running: Any) -> None:
    """Its route is closed: each open one would cost the server something."""
    assert httpx.get(f"{running.url}/gradio_api/heartbeat/abc").status_code == 404
    assert httpx.get(f"{running.url}/config").json()["connect_heartbeat"] is False
