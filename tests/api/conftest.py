"""The API behind all layers on a free port, in a thread, with a tiny checkpoint; gradio's page is not built."""

import bertexplorer.web.gradio_patches  # noqa: F401, I001 - before anything imports gradio: that takes half as long then

import asyncio
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from bertexplorer.engine.queues import RequestQueues
from bertexplorer.classroom import classroom
from bertexplorer.server.application import add_layers, create_api
from bertexplorer.server.health import Readiness
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.runs.service import RunService
from tests.api.teaching import lessons
from tests.server.conftest import SIGNER, Listening

OPENING = State("The capital of France is [MASK].", checkpoint="little")


class Served(Listening):
    """A server of the API."""

    def __init__(self, models: Path, data: Path, **more: Any) -> None:
        """*more*: of Settings. Runs stay queued until the supervisor has `slots`."""
        self.settings = replace(Settings(port=0, models_dir=models, data_dir=data, checkpoint="little"), **more)
        self.library = CheckpointRegistry(self.settings)
        self.service = RunService(self.library, self.settings)
        self.service.supervisor.slots = 0
        self.queues = RequestQueues(limit=self.settings.tokens)
        self.answerer = Answerer(self.library.for_owner(""), self.service.quota)
        app = add_layers(
            create_api(self.answerer, self.queues, OPENING, self.service), self.settings, SIGNER, Readiness()
        )
        self.listen(app)

    def browser(self, **more: Any) -> httpx.Client:
        """The browser of one person, which keeps its cookie. It reads no certificates, which takes 30 ms."""
        return httpx.Client(base_url=f"{self.url}/api/v1", timeout=60, verify=False, **more)


@pytest.fixture(scope="session")
def models(tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(tiny("bert"), folder / "little")
    return folder


@pytest.fixture(scope="session")
def served(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(models, tmp_path_factory.mktemp("data"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def taught(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a teacher's folder of lessons."""
    folder = tmp_path_factory.mktemp("taught")
    server = Served(models, folder / "data", lessons_dir=lessons(folder / "lessons"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classroom, "MAX_NETWORK_ROOMS", classroom.MAX_ROOMS)  # all tests have one address
        yield server
    server.close()


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    with served.browser() as made:
        yield made


def settled(app: Any, data: Path, method: str, path: str) -> httpx.Response:
    """The answers of the layers around *app*."""

    async def asking() -> httpx.Response:
        behind = add_layers(app, Settings(data_dir=data), SIGNER, Readiness())
        transport = httpx.ASGITransport(behind, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:7860") as client:
            return await client.request(method, path)

    with ThreadPoolExecutor(1) as thread:  # a browser of other tests may run an event loop in this thread
        return thread.submit(asyncio.run, asking()).result()
