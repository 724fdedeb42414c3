"""Lessons, classes and tools are answered where views are: their calls survive the wire to another process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.api.admission import Admission, LocalTask, Reply
from bertexplorer.api.calls import Call
from bertexplorer.api.perform import InProcess
from bertexplorer.cluster import wire
from bertexplorer.core.ask import Answerer
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.runs.service import RunService
from bertexplorer.server.application import add_layers, create_api
from bertexplorer.server.health import Readiness
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from tests.api.conftest import OPENING, Served
from tests.api.teaching import LESSON, lessons
from tests.server.conftest import SIGNER


class Far(InProcess):
    """Answers each call after its way through the bytes that a worker reads."""

    def __init__(self, answerer: Answerer) -> None:
        super().__init__(answerer, Admission(RequestQueues()), OPENING)
        self.kinds: list[tuple[str, str]] = []

    def task(self, call: Call) -> LocalTask:
        self.kinds.append((call.kind, call.name))
        received, _ = wire.decode_call(wire.unpack_frame(wire.pack_frame(wire.encode_call(call, None)))[0])
        return super().task(received)


class FarServed(Served):
    """A server whose views, lessons and classes are computed elsewhere."""

    def __init__(self, models: Path, folder: Path) -> None:
        self.settings = Settings(
            port=0,
            models_dir=models,
            data_dir=folder / "data",
            checkpoint="little",
            lessons_dir=lessons(folder / "lessons"),
        )
        registry = CheckpointRegistry(self.settings)
        self.service = RunService(registry, self.settings)
        answerer = Answerer(registry.for_owner(""))
        self.far = Far(answerer)
        api = create_api(answerer, RequestQueues(), OPENING, None, self.far)
        self.listen(add_layers(api, self.settings, SIGNER, Readiness()))


@pytest.fixture(scope="module")
def far(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FarServed]:
    server = FarServed(models, tmp_path_factory.mktemp("far"))
    yield server
    server.close()


ANSWERS: dict[str, Any] = {"guess": 1, "why": 0, "count": "3", "share": "30", "odd": "##y"}


def test_answers_are_graded_elsewhere_as_here(far: FarServed, taught: Served) -> None:
    far.far.kinds.clear()
    with far.browser() as there, taught.browser() as here:
        for part, answer in ANSWERS.items():
            replies = [browser.post(f"/lessons/pieces/{part}", json={"answer": answer}) for browser in (there, here)]
            assert replies[0].status_code == 200 and replies[0].json() == replies[1].json(), part
        for kind in ("keys", "gift", "csv"):
            texts = [browser.get(f"/lessons/pieces/{kind}").text for browser in (there, here)]
            assert texts[0] == texts[1]
        sent = {"file": ("own.md", LESSON.encode())}
        checked = [browser.post("/lessons/own", files=sent).json() for browser in (there, here)]
        assert checked[0] == checked[1] and checked[0]["checked"]
    asked = far.far.kinds
    assert asked.count(("lesson", "grade")) == len(ANSWERS) - 1, "all but the question that asks no checkpoint"
    assert {("lesson", kind) for kind in ("keys", "gift", "csv", "check")} <= set(asked)


def test_a_class_is_answered_elsewhere(far: FarServed) -> None:
    far.far.kinds.clear()
    with far.browser() as teacher:
        suggested = teacher.post("/class/suggest", json={"link": "/?view=fill-mask&text=The+cat+[MASK]."}).json()
        assert len(suggested["choices"]) >= 4
        code = teacher.post("/class", json={"lesson": "pieces", "first": "count"}).json()["code"]
        for phase, to in (("lobby", "vote1"), ("vote1", "closed1"), ("closed1", "reveal")):
            step = {"question": 0, "phase": phase, "to": to}
            shown = teacher.post(f"/class/{code}/step", json=step).json()
        assert shown["phase"] == "reveal" and shown["reveal"]["number"] == 3
    assert far.far.kinds == [("lesson", "suggest"), ("lesson", "reveal")]


def test_a_tool_is_a_call(far: FarServed) -> None:
    given = {
        "text": "The cat saw xyz.",
        "pair": "",
        "pick": "xyz",
        "most_rows": 2,
        "checkpoint": "little",
        "precision": "fp32",
    }
    far.far.kinds.clear()
    reply: Reply = far.far.task(Call("tool", "tokenization", "", given)).run(lambda line: None)
    assert reply.status == 200 and b'"left_out"' in reply.body and far.far.kinds == [("tool", "tokenization")]
    wrong = far.far.task(Call("tool", "fill-mask", "", {**given, "pick": ""})).run(lambda line: None)
    assert wrong.status == 422
