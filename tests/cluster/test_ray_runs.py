"""A run on Ray: what the page says while it has no node, how it stops then, and what is known of a failed start."""

import sys
from pathlib import Path

import pytest

from bertexplorer.cluster import ray_runs, synced_run
from bertexplorer.cluster.ray_runs import NO_CORE, START_FAILED, RunActor
from bertexplorer.cluster.synced_run import FollowedRun
from bertexplorer.store import runs
from bertexplorer.store.runs import Job
from bertexplorer.store.supervisor import explain_end
from tests.store.running import until

WANTED = Job("run", wanted="going")
NOTHING = (sys.executable, "-c", "")


class FakeNodeRun:
    def __init__(self) -> None:
        self.exit_code: int | None = None
        self.error = ""

    def poll(self) -> int | None:
        return self.exit_code

    def stop(self) -> None: ...


def test_a_run_counts_as_started_before_it_has_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synced_run, "SYNC_S", 0.01)
    node_run = FakeNodeRun()
    followed = FollowedRun(tmp_path, lambda: node_run)
    assert followed.poll() is None and runs.read(tmp_path, WANTED).state == "starting"
    node_run.error = NO_CORE
    until(lambda: runs.read(tmp_path, WANTED).message == NO_CORE)
    node_run.error = ""
    until(lambda: runs.read(tmp_path, WANTED).message == "")
    node_run.error, node_run.exit_code = "It could not be started: no room.", START_FAILED
    until(lambda: followed.poll() == START_FAILED)
    until(lambda: runs.read(tmp_path, WANTED).state == "interrupted")
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
