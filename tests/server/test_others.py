"""Runs of other owners cannot be seen, changed or copied through any event of the pages Train and Pretrain."""

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Running
from tests.server.talk import VIEW, Page, state
from tests.server.test_whole import owner_of, run_of

pytestmark = pytest.mark.slow

NAME = "nobody elses business"
PAGES = count()


@pytest.fixture(scope="module")
def quiet(tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that trains nothing, so that runs stay queued."""
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "data").mkdir()
    shutil.copytree(tiny("bert"), folder / "models" / "tiny")
    server = Running(folder / "models", folder / "data")
    server.service.supervisor.close()
    yield server
    server.close()


@pytest.fixture
def mine(quiet: Any) -> Iterator[tuple[Page, dict[str, str]]]:
    """A person's page and runs: one stopped, one queued, one deleted, and one of an experiment."""
    page, jobs = Page(quiet.url, "/train", f"mine-{next(PAGES)}"), quiet.service.jobs
    owner = owner_of(page)
    ids = {"stopped": run_of(jobs, owner, f"{NAME} 1"), "deleted": run_of(jobs, owner, f"{NAME} 2")}
    ids["queued"] = jobs.accept(owner, f"{NAME} 3", {"kind": "finetuning", "task": "classification"}).id
    spec = {"kind": "pretraining", "experiment": "floor", "arm": "MLM + NSP"}
    ids["group"] = jobs.accept(owner, f"{NAME} 4", spec, group="g" * 32).group
    jobs.delete(ids["deleted"], owner)
    yield page, ids
    for run in jobs.runs(None):
        if run.name.startswith(NAME):
            jobs.stop(run.id, None)
            jobs.delete(run.id, None)


def seen(quiet: Any, owner: str) -> list[Any]:
    jobs = quiet.service.jobs
    return [(run.id, run.name, run.state) for deleted in (False, True) for run in jobs.runs(owner, deleted=deleted)]


def events(page: Page) -> list[dict[str, Any]]:
    """The events that name a run or an experiment."""
    chosen = {id for id, props in page.props.items() if props.get("elem_id") == "chosen-run"}
    assert len(chosen) == 2, "of Train and of Pretrain"
    result = [
        dependency
        for dependency in page.config["dependencies"]
        if dependency["backend_fn"] and chosen & set(dependency["inputs"])
    ]
    return [*result, page.number("runs", "click"), page.number("runs", "click", at=1)]


def test_no_event_affects_runs_of_other_owners(quiet: Any, mine: tuple[Page, dict[str, str]]) -> None:
    page, ids = mine
    owner, thief = owner_of(page), Page(quiet.url, "/train", "thief")
    before = seen(quiet, owner)
    tried = events(thief)
    assert len(tried) >= 15, "Stop, Resume, Again, Delete, ZIP, ONNX, upload, ask, cell, rename, lay, tick, open, …"
    for event in tried:
        for id in ids.values():
            data = {"run": id, "restore": id, "set": {"gold": 0, "predicted": 0}}
            message = json.dumps(thief.join(event, *([id] * len(event["inputs"])), data=data))
            assert NAME not in message and str(quiet.settings.data_dir) not in message, (event["targets"], message)
            assert seen(quiet, owner) == before
    assert NAME in json.dumps(page.ask(page.number("runs", "click"), data={"run": ids["stopped"]})), "its owner does"


@pytest.mark.parametrize("made", ["run:{}", "run:{}@0", "run:{}/../..", "../runs/{}", "{}"])
def test_checkpoints_of_other_owners_cannot_be_opened(quiet: Any, mine: tuple[Page, dict[str, str]], made: str) -> None:
    thief = Page(quiet.url, "/train", f"start-{next(PAGES)}")
    name = made.format(mine[1]["stopped"])
    for event, given in (
        (thief.number("check", "click"), ("classification", name)),
        (thief.number("start", "click"), ("classification", name)),
    ):
        message = json.dumps(thief.join(event, *given))
        assert NAME not in message and str(quiet.settings.data_dir) not in message
    for body in (
        state(checkpoint=name),
        state(against="another checkpoint", other=name),
        {"link": f"?view=fill-mask&text=a+[MASK]&checkpoint={name}"},
    ):
        for path in (VIEW, f"{VIEW}/json", f"{VIEW}/csv"):
            answer = thief.client.post(path, json=body)
            assert NAME not in answer.text and str(quiet.settings.data_dir) not in answer.text
            if answer.status_code == 200:  # of their own checkpoint, without the comparison
                compared = answer.json()["beside"]["figure"] if path == VIEW else "side" in answer.text
                assert body.get("state", {}).get("other") == name and not compared
            else:
                assert answer.status_code == 422 and answer.json()["detail"], answer.text
    assert NAME not in thief.client.get("/api/v1/checkpoints").text
    fetched = thief.client.post("/api/v1/checkpoints", json={"name": name})
    assert fetched.status_code == 422 and NAME not in fetched.text
    assert not seen(quiet, owner_of(thief)), "nothing was started from it"


def test_a_page_of_another_browser_is_rejected(quiet: Any, mine: tuple[Page, dict[str, str]]) -> None:
    page, _ = mine
    page.ask(page.number("runs", "click"), data={"run": ""})
    thief = Page(quiet.url, "/train", page.session)  # with the hash of another's page
    for event in events(thief):
        assert thief.join(event, "x")[0] == 403
    assert thief.client.get(f"/gradio_api/queue/data?session_hash={page.session}").status_code == 403
    assert (
        thief.client.post("/gradio_api/cancel", json={"session_hash": page.session, "fn_index": 1}).status_code == 403
    )
