"""Questions that the tests ask of every backend, and their answers in this process."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from bertexplorer.api.admission import Admission, Reply
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.perform import InProcess
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.ui.explore import Explore, opening

OWNER = "a" * 32
TIMES = re.compile(rb"[\d,.]+ m?s\b")


def shown(text: str, view: str = "fill-mask", owner: str = OWNER, **state: Any) -> Call:
    """What the page asks."""
    given = {"state": {"text": text, "view": view, "checkpoint": "little", **state}}
    return Call("view", "", owner, given, slow=False)


def asked(text: str, checkpoint: str = "little", owner: str = OWNER) -> Call:
    """What a program asks."""
    marked = {"pair": "", "hidden": [], "picked": [], "checkpoint": checkpoint, "precision": "auto"}
    return Call("analysis", "fill-mask", owner, {"text": text, **marked}, figure=True)


CALLS = [
    shown("The capital of France is [MASK]."),
    shown("The cat sat.", "attention"),
    shown("The cat sat."),  # has no mask: a sentence
    shown("The cat sat on the mat.", "layers"),
    Call("export", "csv", OWNER, {"link": "?view=fill-mask&text=The+cat+[MASK].&checkpoint=little"}),
    Call("export", "xls", OWNER, {"link": "?view=fill-mask"}),
    Call("view", "", OWNER, None),
    asked("A [MASK] b."),
    asked("A [MASK] \ud800 b."),
    asked("A [MASK].", checkpoint="../secret"),
]


def settle(backend: Backend, call: Call, seconds: float = 60) -> Reply:
    return backend.task(call).start(lambda line: None).result(seconds)


def plain(reply: Reply) -> tuple[int, str, bytes, dict[str, str]]:
    """*reply* without the times in its receipt."""
    body = reply.body
    if b'"receipt"' in body:
        whole = orjson.loads(body)
        whole["receipt"] = TIMES.sub(b"", orjson.dumps(whole["receipt"])).decode()
        body = orjson.dumps(whole)
    return reply.status, reply.media, body, reply.headers


@pytest.fixture
def settings(tiny: Callable[..., Path], tmp_path: Path) -> Settings:
    shutil.copytree(tiny("bert"), tmp_path / "models" / "little")
    return Settings(models_dir=tmp_path / "models", data_dir=tmp_path / "data", checkpoint="little", workers=2)


@pytest.fixture
def here(settings: Settings) -> InProcess:
    """The backend of this process."""
    explore = Explore(CheckpointRegistry(settings).of(""))
    return InProcess(explore, Admission(RequestQueues(cores=2, quick_waiting=200)), opening(settings))
