"""A run whose folder is synchronized over storage: no failure loses anything, and each is reported."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bertexplorer import locks
from bertexplorer.cluster import synced_run
from bertexplorer.cluster.remote_folder import RemoteFolder
from bertexplorer.cluster.synced_run import SyncedRun, prepare_folder
from bertexplorer.errors import describe
from bertexplorer.runs import run_folder
from tests.runs.running import until

StartRun = Callable[..., SyncedRun]


class Node:
    """A run on a node: it has the folder, writes events, and ends when the test sets its exit code."""

    def __init__(self, url: str, folder: Path) -> None:
        self.remote, self.folder = RemoteFolder(url), folder
        self.exit_code: int | None = None
        self.error, self.stops, self.step, self.released = "", 0, 0, 0
        prepare_folder(self.remote, folder)

    def poll(self) -> int | None:
        return self.exit_code

    def stop(self) -> None:
        self.stops += 1

    def release(self) -> None:
        self.released += 1

    def work(self, event: str = "steps") -> None:
        with (self.folder / "events.jsonl").open("a") as log:
            log.write(json.dumps({"event": event, "time": 1.0, "stretch": 0, "step": self.step}) + "\n")
        self.step += 1
        self.remote.push(self.folder)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(synced_run, "SYNC_S", 0.01)
    monkeypatch.setattr(synced_run, "RETRY_S", 0.01)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "run" / "data").mkdir(parents=True)
    (tmp_path / "run" / "spec.json").write_text(json.dumps({"task": "t", "folder": str(tmp_path / "model")}))
    return tmp_path / "run"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file://{tmp_path}/store/1"


@pytest.fixture
def start_run(run: Path, url: str, tmp_path: Path) -> Iterator[StartRun]:
    synced_runs: list[SyncedRun] = []

    def start(node_run: Node | None = None) -> SyncedRun:
        synced_runs.append(SyncedRun(run, url, lambda: Node(url, tmp_path / "node"), node_run))
        return synced_runs[-1]

    yield start
    for synced in synced_runs:
        synced.close()


def node_of(synced: SyncedRun) -> Node:
    until(lambda: synced.node_run is not None)
    return synced.node_run


def test_the_folder_is_copied_to_the_node_and_back(start_run: StartRun, run: Path, tmp_path: Path) -> None:
    synced = start_run()
    node = node_of(synced)
    spec = json.loads((tmp_path / "node" / "spec.json").read_text())
    assert spec["task"] == "t" and (Path(spec["folder"]) / "config.json").is_file()
    assert Path(spec["folder"]).is_relative_to(tmp_path / "node")
    node.work("begun")
    until(lambda: len(run_folder.read_events(run)[0]) == 1)
    assert run_folder.is_alive(run) and run_folder.read(run).state == "running" and synced.poll() is None
    node.work("finished")
    node.exit_code = 0
    until(lambda: synced.poll() == 0)
    assert run_folder.read(run).state == "finished" and not run_folder.is_alive(run)
    assert json.loads((run / "spec.json").read_text())["folder"] == str(tmp_path / "model")
    assert not list((tmp_path / "store").rglob("*.json")) and not (tmp_path / "store" / "1").exists()


def test_failing_storage_is_reported_and_retried(start_run: StartRun, run: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.write_text("in the way")
    synced = start_run()
    until(lambda: "failed" in run_folder.read(run).message)
    states = [run_folder.read(run) for _ in range(300)]  # while the message is rewritten again and again
    assert all(state.state == "starting" and "retries" in state.message for state in states)
    store.unlink()
    node = node_of(synced)
    node.work("begun")
    until(lambda: run_folder.read(run).state == "running" and not run_folder.read(run).message)
    node.error = "file://store failed: no space"  # errors of the node are reported too
    until(lambda: "no space" in run_folder.read(run).message)
    node.error = ""
    node.work("finished")
    store.rename(tmp_path / "aside")
    store.write_text("in the way again")
    node.exit_code = 0
    until(lambda: "failed" in run_folder.read(run).message)
    assert synced.poll() is None and not node.released, "a server that starts now must find it"
    store.unlink()
    (tmp_path / "aside").rename(store)
    until(lambda: synced.poll() == 0)
    assert run_folder.read(run).state == "finished" and not (run / "trouble").exists() and node.released == 1


def test_a_run_stops_and_resumes(start_run: StartRun, run: Path) -> None:
    synced = start_run()
    node = node_of(synced)
    (run / "stop").touch()
    until(lambda: node.stops > 0)
    node.work("stopped")
    node.exit_code = 0
    until(lambda: synced.poll() == 0)
    assert run_folder.read(run).state == "stopped"
    (run / "stop").touch()
    resumed = start_run()
    later = node_of(resumed)
    later.work("finished")
    later.exit_code = 0
    until(lambda: resumed.poll() == 0)
    assert later.stops == 0 and run_folder.read(run).state == "finished"


def test_a_run_can_be_stopped_before_its_start(start_run: StartRun, run: Path, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("in the way")
    synced = start_run()
    until(lambda: (run / "trouble").exists())
    (run / "stop").touch()
    until(lambda: synced.poll() == 0)
    assert synced.node_run is None and not run_folder.is_alive(run)


def test_a_run_that_is_stopped_before_its_start_leaves_nothing_on_the_storage(
    run: Path, url: str, tmp_path: Path
) -> None:
    def refuse() -> Node:
        raise RuntimeError("no cluster")

    synced = SyncedRun(run, url, refuse)
    until(lambda: "no cluster" in run_folder.read(run).message)
    assert (tmp_path / "store" / "1").exists()
    (run / "stop").touch()
    until(lambda: synced.poll() == 0)
    assert not (tmp_path / "store" / "1").exists()


def test_visitors_read_no_paths_of_the_server(start_run: StartRun, run: Path, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("in the way")
    start_run()
    until(lambda: "The storage of runs failed" in run_folder.read(run).message)
    assert str(tmp_path) not in run_folder.read(run).message
    (tmp_path / "store").unlink()
    (tmp_path / "model").rename(tmp_path / "gone")
    until(lambda: "The checkpoint that the run starts from is no longer there" in run_folder.read(run).message)
    assert str(tmp_path) not in run_folder.read(run).message


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(2, "No such file or directory", "/data/runs/1"), "No such file or directory"),
        (
            OSError('Could not connect to the endpoint URL: "http://10.0.0.5:9000/bucket?list"'),
            "Could not connect to the endpoint URL: …",
        ),
        (ConnectionError("Connect call failed ('10.0.0.5', 9000)"), "Connect call failed …"),
        (ValueError("C:\\runs\\1 is damaged"), "… is damaged"),
        (ValueError("version 2.60 of 3"), "version 2.60 of 3"),
        (KeyError(), "KeyError"),
    ],
)
def test_errors_are_described_without_paths_and_addresses(error: Exception, words: str) -> None:
    assert describe(error) == words


def test_a_failing_cluster_is_reported_and_retried(
    start_run: StartRun, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = RuntimeError("the cluster is gone")

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Node, "__init__", fail)
        synced = start_run()
        until(lambda: "the cluster is gone" in run_folder.read(run).message)
    node = node_of(synced)
    with monkeypatch.context() as patch:
        patch.setattr(Node, "poll", fail)
        until(lambda: "the cluster is gone" in run_folder.read(run).message)
    node.work("finished")
    node.exit_code = 0
    until(lambda: synced.poll() == 0)
    assert run_folder.read(run).state == "finished" and not (run / "trouble").exists() and node.released == 1


def test_another_server_takes_over_a_run(start_run: StartRun, run: Path) -> None:
    first = start_run()
    node = node_of(first)
    with pytest.raises(BlockingIOError, match="another server"):
        start_run()
    first.close()
    assert first.poll() is None and not locks.is_locked(run / "process")
    node.work("begun")
    second = start_run(node)
    node.work("finished")
    node.exit_code = 0
    until(lambda: second.poll() == 0)
    assert [event["event"] for event in run_folder.read_events(run)[0]] == ["begun", "finished"]


def test_the_output_of_a_lost_run_is_downloaded_before_the_restart(
    start_run: StartRun, run: Path, tmp_path: Path
) -> None:
    first = start_run()
    node = node_of(first)
    until(lambda: first.remote.state_name)
    first.close()  # the server ends; the run continues to write, then its node is lost
    node.work("begun")
    shutil.rmtree(tmp_path / "node")
    second = start_run()
    new_node = node_of(second)
    new_node.work("finished")
    new_node.exit_code = 0
    until(lambda: second.poll() == 0)
    assert [event["event"] for event in run_folder.read_events(run)[0]] == ["begun", "finished"]


@pytest.mark.parametrize("node_went_on", [False, True])
def test_a_run_that_was_resumed_here_keeps_its_training(
    start_run: StartRun, run: Path, tmp_path: Path, node_went_on: bool
) -> None:
    first = start_run()
    node = node_of(first)
    node.work("begun")
    until(lambda: run_folder.read_events(run)[0])
    first.close()  # and the server restarts without the cluster
    if node_went_on:
        node.work()
    shutil.rmtree(tmp_path / "node")
    with (run / "events.jsonl").open("a") as log:
        log.write(json.dumps({"event": "resumed", "time": 2.0, "step": 1}) + "\n")
    (run / "commits" / "step-7").mkdir(parents=True)
    (run / "commits" / "step-7" / "manifest.json").write_text("{}")
    second = start_run()
    new_node = node_of(second)
    new_node.work("finished")
    new_node.exit_code = 0
    until(lambda: second.poll() == 0)
    assert [event["event"] for event in run_folder.read_events(run)[0]] == ["begun", "resumed", "finished"]
    assert (run / "commits" / "step-7" / "manifest.json").is_file()


def test_a_missing_run_is_an_error(url: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such run"):
        prepare_folder(RemoteFolder(url), tmp_path / "node")


def test_the_reason_of_a_failed_start_is_in_its_output(start_run: StartRun, run: Path) -> None:
    synced = start_run()
    node = node_of(synced)
    node.error, node.exit_code = "It could not be started: no room", 70
    until(lambda: synced.poll() == 70)
    assert (run / "output.txt").read_text() == "It could not be started: no room\n" and not (run / "trouble").exists()
