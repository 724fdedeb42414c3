"""A run on Ray: its message while it has no node, its stop at that time, and the report of a failed start."""

import sys
import time
from pathlib import Path

import pytest

from bertexplorer import locks
from bertexplorer.cluster import ray_runs, synced_run
from bertexplorer.cluster.ray_runs import NO_CORE, START_FAILED, RayRuns, RunActor
from bertexplorer.cluster.remote_folder import RemoteFolder, StorageError
from bertexplorer.cluster.synced_run import FollowedRun
from bertexplorer.runs import run_folder
from bertexplorer.runs.run_folder import Job
from bertexplorer.runs.supervisor import explain_end
from bertexplorer.settings import Settings
from tests.runs.running import until

WANTED = Job("run", wanted="going")
NOTHING = (sys.executable, "-c", "")


class FakeNodeRun:
    def __init__(self) -> None:
        self.exit_code: int | None = None
        self.error = ""

    def poll(self) -> int | None:
        return self.exit_code

    def stop(self) -> None: ...

    def release(self) -> None: ...


def test_a_run_counts_as_started_before_it_has_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synced_run, "SYNC_S", 0.01)
    node_run = FakeNodeRun()
    followed = FollowedRun(tmp_path, lambda: node_run)
    assert followed.poll() is None and run_folder.read(tmp_path, WANTED).state == "starting"
    node_run.error = NO_CORE
    until(lambda: run_folder.read(tmp_path, WANTED).message == NO_CORE)
    node_run.error = ""
    until(lambda: run_folder.read(tmp_path, WANTED).message == "")
    node_run.error, node_run.exit_code = "It could not be started: no room.", START_FAILED
    until(lambda: followed.poll() == START_FAILED)
    until(lambda: run_folder.read(tmp_path, WANTED).state == "interrupted")
    assert explain_end(START_FAILED, tmp_path).endswith("no room.")


def test_a_run_whose_node_cannot_use_the_storage_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_runs, "RETRY_S", 0.05)
    (tmp_path / "store").write_text("in the way")
    actor = RunActor(NOTHING, "/nowhere", {}, f"file://{tmp_path}/store/1")
    until(lambda: "failed" in actor.error)
    assert actor.poll()[0] is None
    actor.send(15)
    until(lambda: actor.exit_code == 0)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> list[OSError]:
    """The errors with which uploads fail, one each; the last one again and again. Without any, they succeed."""
    errors: list[OSError] = []

    def push(*_: object) -> None:
        if errors:
            raise errors.pop(0) if len(errors) > 1 else errors[0]

    monkeypatch.setattr(ray_runs, "RETRY_S", 0.02)
    monkeypatch.setattr(ray_runs, "SYNC_S", 0.02)
    monkeypatch.setattr(ray_runs, "prepare_folder", lambda *_: None)
    monkeypatch.setattr(RemoteFolder, "push", push)
    return errors


def test_a_stopped_run_that_has_ended_frees_its_core_although_the_storage_refuses(
    refusing: list[OSError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_runs, "STOP_S", 0.5)
    refusing.append(StorageError("file://store", "no space"))
    actor = RunActor(NOTHING, "/nowhere", {}, f"file://{tmp_path}/store/1")
    until(lambda: "no space" in actor.error)
    time.sleep(1)
    assert actor.poll()[0] is None, "it has something to upload"
    actor.stop()
    until(lambda: actor.exit_code is not None, 5)
    assert actor.poll() == (0, str(refusing[0]))


def test_a_file_that_cannot_be_read_is_retried_while_the_process_works_on(
    refusing: list[OSError], tmp_path: Path
) -> None:
    actor = RunActor(
        (sys.executable, "-c", "import time; time.sleep(60)"), "/nowhere", {}, f"file://{tmp_path}/store/1"
    )
    until(lambda: locks.holder_pid(actor.folder / "process"))
    pid = locks.holder_pid(actor.folder / "process")
    refusing.append(PermissionError(13, "not allowed"))
    until(lambda: "not allowed" in actor.error)
    time.sleep(0.2)
    assert actor.poll()[0] is None and locks.holder_pid(actor.folder / "process") == pid
    refusing.clear()
    until(lambda: not actor.error)
    actor.send(15)
    until(lambda: actor.exit_code == -15)


def test_no_process_remains_in_a_removed_folder(
    refusing: list[OSError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor = RunActor(
        (sys.executable, "-c", "import time; time.sleep(60)"), "/nowhere", {}, f"file://{tmp_path}/store/1"
    )
    until(lambda: locks.holder_pid(actor.folder / "process"))
    pid = locks.holder_pid(actor.folder / "process")

    def damaged(*_: object) -> None:
        raise ValueError("damaged")

    monkeypatch.setattr(RemoteFolder, "push", damaged)
    until(lambda: actor.exit_code == START_FAILED)
    assert not actor.folder.exists() and not locks.start_time(pid)


def test_nodes_that_are_added_later_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="needs Ray: pip install -r requirements-ray.txt")
    node = {"Alive": True, "Resources": {"CPU": 1.0}}
    nodes = [node]
    monkeypatch.setattr(ray_runs, "connect", lambda settings: None)
    monkeypatch.setattr(ray_runs, "reach_head", lambda: None)
    monkeypatch.setattr(ray_runs, "NODES_S", 0.0)
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    launcher = RayRuns(Settings())
    assert launcher.slots == 1
    nodes.append(node)
    assert launcher.slots == 2

    def refuse() -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(ray_runs, "reach_head", refuse)
    nodes.clear()
    assert launcher.slots == 2, "the cluster does not answer"


def test_the_error_of_a_start_on_another_node_reaches_the_server() -> None:
    actor = RunActor(NOTHING, "/nowhere", {}, "unknown://bucket/1")
    until(lambda: actor.exit_code is not None)
    exit_code, error = actor.poll()
    assert exit_code == START_FAILED and "could not be started" in error and "unknown" in error


def test_a_run_with_a_damaged_folder_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> None:
        raise ValueError("spec.json is damaged")

    monkeypatch.setattr(ray_runs, "prepare_folder", damaged)
    actor = RunActor(NOTHING, "/nowhere", {}, f"file://{tmp_path}/store/1")
    until(lambda: actor.exit_code == START_FAILED)
    assert actor.poll()[1] == "It could not be started: spec.json is damaged"
