"""Calls for every backend, and the backend of this process to compare their replies with."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import orjson
import pytest

from bertexplorer.api.admission import Admission, Reply
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.endpoints import make_endpoints
from bertexplorer.api.perform import InProcess
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from tests.cluster.object_storage import UNLIMITED, Objects
from tests.conftest import Tiny

OWNER = "a" * 32
ENDPOINTS = make_endpoints("little")
TIMES = re.compile(rb"[\d,.]+ m?s\b")


def view_call(text: str, view: str = "fill-mask", owner: str = OWNER, **state: Any) -> Call:
    """A call of the page."""
    request = {"state": {"text": text, "view": view, "checkpoint": "little", **state}}
    return Call("view", "", owner, request, slow=False)


def analysis_call(text: str, checkpoint: str = "little", owner: str = OWNER) -> Call:
    """A call of the HTTP API."""
    marks = {"pair": "", "hidden": [], "picked": [], "checkpoint": checkpoint, "precision": "auto"}
    return Call("analysis", "fill-mask", owner, {"text": text, **marks}, figure=True)


def endpoint_call(name: str, **given: Any) -> Call:
    """A call of gradio's client."""
    return Call("endpoint", name, OWNER, ENDPOINTS[name].check(given))


CALLS = [
    view_call("The capital of France is [MASK]."),
    view_call("The cat sat.", "attention"),
    view_call("The cat sat."),  # has no mask: an error
    view_call("The cat sat on the mat.", "layers"),
    Call("export", "csv", OWNER, {"link": "?view=fill-mask&text=The+cat+[MASK].&checkpoint=little"}),
    Call("export", "xls", OWNER, {"link": "?view=fill-mask"}),
    Call("view", "", OWNER, None),
    Call("load", "", OWNER, {"checkpoint": "little", "precision": "fp32"}),
    Call("load", "", OWNER, {"checkpoint": "no/such", "precision": "auto"}),
    analysis_call("A [MASK] b."),
    analysis_call("A [MASK] \ud800 b."),
    analysis_call("A [MASK].", checkpoint="../secret"),
    endpoint_call("fill_mask", text="A cat sat.", mask="cat"),
    endpoint_call("encode", texts=["A cat sat.", "London"]),
    endpoint_call("similarity", first=["A cat sat."], second=["London", "A dog sat."]),
    endpoint_call("attention", text="A cat sat.", checkpoint="no/such"),
]


def answer(backend: Backend, call: Call, seconds: float = 60) -> Reply:
    return backend.task(call).start(lambda line: None).result(seconds)


def without_times(reply: Reply) -> tuple[int, str, bytes, dict[str, str]]:
    """*reply* without the times in its receipt."""
    body = reply.body
    if b'"receipt"' in body:
        fields = orjson.loads(body)
        fields["receipt"] = TIMES.sub(b"", orjson.dumps(fields["receipt"])).decode()
        body = orjson.dumps(fields)
    return reply.status, reply.media, body, reply.headers


@pytest.fixture
def settings(tiny: Tiny, tmp_path: Path) -> Settings:
    shutil.copytree(tiny("bert"), tmp_path / "models" / "little")
    return Settings(models_dir=tmp_path / "models", data_dir=tmp_path / "data", checkpoint="little", workers=2)


@pytest.fixture
def in_process(settings: Settings) -> InProcess:
    """The backend of this process."""
    answerer = Answerer(CheckpointRegistry(settings).for_owner(""))
    return InProcess(answerer, Admission(RequestQueues(cores=2, quick_waiting=200)), opening(settings))


@pytest.fixture
def objects() -> Iterator[type[Objects]]:
    """Empty object storage in memory, at objects://."""
    fsspec.register_implementation("objects", Objects, clobber=True)
    Objects.store, Objects.pseudo_dirs, Objects.writes_left, Objects.written = {}, [""], UNLIMITED, []
    yield Objects
