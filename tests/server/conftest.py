"""The application on a free port, in a thread, with a tiny checkpoint; and the layers alone around a small app."""

import bertexplorer.web.gradio_patches  # noqa: F401, I001 - before anything imports gradio: that takes half as long then

import asyncio
import io
import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

from bertexplorer.api import view
from bertexplorer.api.admission import Admission
from bertexplorer.api.perform import InProcess
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.server import logs
from bertexplorer.server.application import add_layers, mount_page
from bertexplorer.server.cookie_signing import CookieSigner
from bertexplorer.server.health import Readiness
from bertexplorer.server.launch import bind, server_config, warm_up
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.runs.service import RunService
from tests.server.talk import VIEW

SIGNER = CookieSigner(b"s" * 32)


def settle(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine. It runs in a thread of its own: a browser of other tests may run an event loop in
    this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """What passed the layers: the route, the owner, and the body."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    state = scope["state"]
    words = {
        "owner": state["owner"],
        "known": state["known"],
        "route": state["route"],
        "size": len(body),
        "body": body[:2000].decode(),
    }
    headers = [(b"access-control-allow-origin", b"*"), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(words).encode()})


class Alone:
    """The layers around `echo`, asked by a browser that keeps cookies."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.ready = settings, Readiness()
        self.app = add_layers(echo, settings, SIGNER, self.ready)

    def browser(self, address: str = "127.0.0.1", **more: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(address, 1))
        return httpx.AsyncClient(transport=transport, base_url="http://localhost:7860", **more)


@pytest.fixture
def alone(tmp_path: Path) -> Callable[..., Alone]:
    return lambda **more: Alone(replace(Settings(data_dir=tmp_path), **more))


class Api:
    """The routes of the Explore page alone, called by the browser of *owner*."""

    def __init__(self, answerer: Answerer, opening: State) -> None:
        self.answerer, self.opening, self.queues, self.owner = answerer, opening, RequestQueues(), "a" * 32
        routed = FastAPI()
        admission = Admission(self.queues)
        backend = InProcess(answerer, admission, opening)
        routed.include_router(view.routes(answerer, admission, opening, LessonCatalogue(()), backend))

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope.setdefault("state", {})["owner"] = self.owner
            await routed(scope, receive, send)

        self.client = TestClient(app)

    def post(self, body: Any, path: str = VIEW, **headers: str) -> httpx.Response:
        answer: httpx.Response = self.client.post(path, json=body, headers=headers)
        return answer

    def shown(self, body: Any) -> dict[str, Any]:
        """Everything that the page shows for a state, which must have an answer."""
        answer = self.post(body)
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()
        return result

    def problem(self, body: Any, path: str = VIEW) -> dict[str, Any]:
        """The error message in place of an answer, with its other fields."""
        answer = self.post(body, path)
        assert answer.status_code == 422 and answer.headers["content-type"] == "application/problem+json", answer.text
        result: dict[str, Any] = answer.json()
        assert result["status"] == 422 and result["title"] and result["detail"].rstrip("”’)")[-1] in ".!?"
        return result


class Listening:
    """An app on a free port, in a thread."""

    settings: Settings
    service: RunService

    def listen(self, app: Any) -> None:
        self.socket = bind("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.server = uvicorn.Server(server_config(app, self.settings))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        self.service.close()


class Running(Listening):
    """A complete server."""

    def __init__(self, models: Path, data: Path, **more: Any) -> None:
        self.settings = Settings(port=0, models_dir=models, data_dir=data, checkpoint="tiny", **more)
        self.library, self.ready = CheckpointRegistry(self.settings), Readiness()
        self.service = RunService(self.library, self.settings)
        self.queues = RequestQueues(limit=self.settings.tokens)
        answerer = Answerer(self.library.for_owner(""), self.service.quota)
        self.mounted = mount_page(self.settings, answerer, self.queues, self.service)
        self.listen(add_layers(self.mounted, self.settings, SIGNER, self.ready))
        warm_up(self.library, self.settings, self.ready)


@pytest.fixture(scope="session")
def running(tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    models = tmp_path_factory.mktemp("models")
    shutil.copytree(tiny("bert"), models / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        data = tmp_path_factory.mktemp("data")
        patch.setenv("GRADIO_TEMP_DIR", str(data / "tmp"))
        made = Running(models, data)
        yield made
        made.close()


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """The output on stderr."""
    root, ours = logging.getLogger(), logging.getLogger("bertexplorer")
    before, level, own = root.handlers[:], root.level, ours.level
    stream = io.StringIO()
    logs.install("info", stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)
    ours.setLevel(own)


def lines(written: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]
