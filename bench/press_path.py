"""Which modules run between a press on One mask and its picture: our files, in the order of their first call.

python -m bench.press_path

A server in this process gets the same request twice; the second one is traced, in all threads. Modules of which only a
constant or a class is read are not listed.
"""

import asyncio
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import httpx

import bertexplorer
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.runs.service import RunService
from bertexplorer.server.application import add_layers, create_api
from bertexplorer.server.cookie_signing import CookieSigner
from bertexplorer.server.health import Readiness
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry

PACKAGE = Path(bertexplorer.__file__).parent
TEXTS = "Paris is the [MASK] of France.", "Rome is the [MASK] of Italy."


def traced(folder: Path) -> list[str]:
    """The files whose functions run, as paths below the package."""
    settings = Settings(data_dir=folder, precision="fp32")
    registry = CheckpointRegistry(settings)
    service = RunService(registry, settings)
    answerer = Answerer(registry.for_owner(""), service.quota)
    api = create_api(answerer, RequestQueues(limit=settings.tokens), opening(settings), service)
    app = add_layers(api, settings, CookieSigner(b"0" * 32), Readiness())
    found: dict[str, None] = {}
    is_on = threading.Event()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and is_on.is_set() and path.is_relative_to(PACKAGE):
            found[path.relative_to(PACKAGE).as_posix()] = None

    async def ask() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            for text in TEXTS:  # the first one opens the checkpoint and starts the threads
                state = {"view": "fill-mask", "text": text}
                (await client.post("/api/v1/view", json={"state": state})).raise_for_status()
                is_on.set()

    threading.setprofile(note)
    sys.setprofile(note)
    asyncio.run(ask())
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    return list(found)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        files = traced(Path(folder))
    sys.stdout.write("\n".join([*files, f"{len(files)} files"]) + "\n")
