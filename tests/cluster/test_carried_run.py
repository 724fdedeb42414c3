"""A run whose folder goes over storage: nothing is lost while that refuses, and every refusal is said."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bertexplorer import locks
from bertexplorer.cluster import carried_run
from bertexplorer.cluster.carried_run import CarriedRun, unpack
from bertexplorer.cluster.remote_folder import RemoteFolder
from bertexplorer.store import runs
from tests.store.running import until


class Node:
    """A node as the server sees it: it has the folder, writes events, and ends when it is told."""

    def __init__(self, url: str, folder: Path) -> None:
        self.remote, self.folder = RemoteFolder(url), folder
        self.code: int | None = None
        self.trouble, self.stopped, self.step = "", 0, 0
        unpack(self.remote, folder)

    def poll(self) -> int | None:
        return self.code

    def stop(self) -> None:
        self.stopped += 1

    def work(self, event: str = "steps") -> None:
        with (self.folder / "events.jsonl").open("a") as log:
            log.write(json.dumps({"event": event, "time": 1.0, "stretch": 0, "step": self.step}) + "\n")
        self.step += 1
        self.remote.push(self.folder)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(carried_run, "EVERY_S", 0.01)
    monkeypatch.setattr(carried_run, "AGAIN_S", 0.01)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "run" / "data").mkdir(parents=True)
    (tmp_path / "run" / "spec.json").write_text(json.dumps({"task": "t", "folder": str(tmp_path / "model")}))
    return tmp_path / "run"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file://{tmp_path}/store/1"


@pytest.fixture
def carry(run: Path, url: str, tmp_path: Path) -> Iterator[Callable[..., CarriedRun]]:
    made: list[CarriedRun] = []

    def begin(there: Node | None = None) -> CarriedRun:
        made.append(CarriedRun(run, url, lambda: Node(url, tmp_path / "node"), there))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def node(one: CarriedRun) -> Node:
    until(lambda: one.there is not None)
    return one.there


def test_there_and_back(carry: Callable[..., CarriedRun], run: Path, tmp_path: Path) -> None:
    one = carry()
    there = node(one)
    spec = json.loads((tmp_path / "node" / "spec.json").read_text())
    assert spec["task"] == "t" and (Path(spec["folder"]) / "config.json").is_file()
    assert Path(spec["folder"]).is_relative_to(tmp_path / "node")
    there.work("begun")
    until(lambda: len(runs.events(run)[0]) == 1)
    assert runs.alive(run) and runs.read(run).state == "running" and one.poll() is None
    there.work("finished")
    there.code = 0
    until(lambda: one.poll() == 0)
    assert runs.read(run).state == "finished" and not runs.alive(run)
    assert json.loads((run / "spec.json").read_text())["folder"] == str(tmp_path / "model")
    assert not list((tmp_path / "store").rglob("*.json")) and not (tmp_path / "store" / "1").exists()


def test_storage_that_refuses(carry: Callable[..., CarriedRun], run: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.write_text("in the way")
    one = carry()
    until(lambda: "refuses" in runs.read(run).message)
    said = [runs.read(run) for _ in range(300)]  # while it is written again and again
    assert all(one.state == "starting" and "tried again" in one.message for one in said)
    store.unlink()
    there = node(one)
    there.work("begun")
    until(lambda: runs.read(run).state == "running" and not runs.read(run).message)
    there.trouble = "file://store refuses: no space"  # what the node meets is said too
    until(lambda: "no space" in runs.read(run).message)
    there.trouble = ""
    there.work("finished")
    store.rename(tmp_path / "aside")
    store.write_text("in the way again")
    there.code = 0
    until(lambda: "refuses" in runs.read(run).message)
    assert one.poll() is None
    store.unlink()
    (tmp_path / "aside").rename(store)
    until(lambda: one.poll() == 0)
    assert runs.read(run).state == "finished" and not (run / "trouble").exists()


def test_stopped(carry: Callable[..., CarriedRun], run: Path) -> None:
    one = carry()
    there = node(one)
    (run / "stop").touch()
    until(lambda: there.stopped > 0)
    there.work("stopped")
    there.code = 0
    until(lambda: one.poll() == 0)
    assert runs.read(run).state == "stopped"
    (run / "stop").touch()
    again = carry()  # resumed
    later = node(again)
    later.work("finished")
    later.code = 0
    until(lambda: again.poll() == 0)
    assert later.stopped == 0 and runs.read(run).state == "finished"


def test_stopped_before_it_begins(carry: Callable[..., CarriedRun], run: Path, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("in the way")
    one = carry()
    until(lambda: (run / "trouble").exists())
    (run / "stop").touch()
    until(lambda: one.poll() == 0)
    assert one.there is None and not runs.alive(run)


def test_a_cluster_that_refuses(carry: Callable[..., CarriedRun], run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = RuntimeError("the cluster is gone")

    def refuse(*_: object) -> None:
        raise gone

    with monkeypatch.context() as patch:
        patch.setattr(Node, "__init__", refuse)
        one = carry()
        until(lambda: "the cluster is gone" in runs.read(run).message)
    there = node(one)
    with monkeypatch.context() as patch:
        patch.setattr(Node, "poll", refuse)
        until(lambda: "the cluster is gone" in runs.read(run).message)
    there.work("finished")
    there.code = 0
    until(lambda: one.poll() == 0)
    assert runs.read(run).state == "finished" and not (run / "trouble").exists()


def test_another_server_goes_on(carry: Callable[..., CarriedRun], run: Path) -> None:
    first = carry()
    there = node(first)
    with pytest.raises(BlockingIOError, match="another server"):
        carry()
    first.close()
    assert first.poll() is None and not locks.held(run / "process")
    there.work("begun")
    second = carry(there)
    there.work("finished")
    there.code = 0
    until(lambda: second.poll() == 0)
    assert [event["event"] for event in runs.events(run)[0]] == ["begun", "finished"]


def test_what_a_lost_run_had_written_is_fetched_before_it_is_started_again(
    carry: Callable[..., CarriedRun], run: Path, tmp_path: Path
) -> None:
    first = carry()
    there = node(first)
    until(lambda: first.remote.seen)
    first.close()  # the server ends; the run writes on, and its node is lost
    there.work("begun")
    shutil.rmtree(tmp_path / "node")
    second = carry()
    again = node(second)
    again.work("finished")
    again.code = 0
    until(lambda: second.poll() == 0)
    assert [event["event"] for event in runs.events(run)[0]] == ["begun", "finished"]


def test_a_run_that_is_not_there(url: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no run"):
        unpack(RemoteFolder(url), tmp_path / "node")
