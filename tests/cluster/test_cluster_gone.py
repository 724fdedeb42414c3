"""A cluster that is gone, with runs on a shared folder: the list of runs answers, and says what keeps them waiting."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from bertexplorer.cluster import ray_runs, synced_run
from bertexplorer.cluster.ray_runs import NO_CLUSTER, RayRuns
from bertexplorer.errors import ExplorerError
from bertexplorer.runs import run_folder
from bertexplorer.runs.jobs import Jobs
from bertexplorer.runs.run_folder import Job
from bertexplorer.runs.supervisor import Handle, JobSupervisor
from tests.runs.running import until

pytest.importorskip("ray", reason="needs Ray: pip install -r requirements-ray.txt")


class Ended:
    error = ""

    def poll(self) -> int | None:
        return 0

    def stop(self) -> None: ...


class Silent:
    """A launcher whose calls to the cluster do not return before *answers* is set."""

    slots = 1

    def __init__(self) -> None:
        self.answers, self.asked = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.asked.set()
        self.answers.wait(30)

    def start(self, command: Sequence[str], folder: Path) -> Handle:
        return Ended()

    def find(self, folder: Path) -> Handle | None:
        self.wait()
        return None

    def send_signal(self, folder: Path, number: int) -> None:
        self.wait()


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    table = Jobs(tmp_path / "runs", reserve=0)
    yield table
    table.close()


def seconds(action: Callable[[], object]) -> float:
    started_at = time.monotonic()
    action()
    return time.monotonic() - started_at


def test_the_table_of_runs_does_not_wait_for_the_cluster(jobs: Jobs) -> None:
    run = jobs.accept("ann", "a", {"task": "fake"})
    jobs.mark_started(run.id)
    launcher = Silent()
    threading.Timer(3, launcher.answers.set).start()
    supervisor = JobSupervisor(jobs, launcher=launcher, poll_s=0.02)
    assert launcher.asked.wait(5)
    assert seconds(lambda: jobs.runs("ann")) < 1
    assert seconds(lambda: supervisor.stop(run.id, "ann")) < 1
    launcher.answers.set()
    supervisor.close()


def test_a_run_is_active_while_the_cluster_is_silent(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    run = jobs.accept("ann", "a", {"task": "fake"})
    jobs.mark_started(run.id)
    launcher = Silent()
    launcher.answers.set()
    results: list[Handle | ExplorerError] = [ExplorerError(NO_CLUSTER)]

    def find(folder: Path) -> Handle | None:
        launcher.asked.set()
        if isinstance(results[0], ExplorerError):
            raise results[0]
        return results[0]

    monkeypatch.setattr(launcher, "find", find)
    supervisor = JobSupervisor(jobs, launcher=launcher, poll_s=0.02)
    assert launcher.asked.wait(5)
    time.sleep(0.1)
    assert [job.id for job in jobs.started()] == [run.id]
    results[0] = Ended()
    until(lambda: not jobs.started())
    supervisor.close()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> RayRuns:
    """Runs on a cluster whose head cannot be reached."""

    def refuse() -> None:
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(ray_runs, "reach_head", refuse)
    monkeypatch.setattr(synced_run, "RETRY_S", 0.05)
    launcher = RayRuns.__new__(RayRuns)
    launcher.url, launcher.gpus = "", 0
    return launcher


def test_a_run_starts_when_the_cluster_is_back(
    cluster: RayRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = cluster.start((), tmp_path)
    until(lambda: NO_CLUSTER.rstrip(".") in run_folder.read(tmp_path, Job("run", wanted="going")).message)
    assert handle.poll() is None and run_folder.read(tmp_path, Job("run", wanted="going")).state == "starting"
    monkeypatch.setattr(cluster, "start_actor", lambda command, folder: Ended())
    until(lambda: handle.poll() == 0)
    assert not run_folder.is_alive(tmp_path) and not (tmp_path / "trouble").exists()


def test_a_waiting_run_can_be_stopped(cluster: RayRuns, tmp_path: Path) -> None:
    handle = cluster.start((), tmp_path)
    (tmp_path / "stop").touch()
    until(lambda: handle.poll() == 0)


def test_an_unreachable_cluster_is_reported_in_a_sentence(cluster: RayRuns, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=NO_CLUSTER):
        cluster.find(tmp_path)
    with pytest.raises(ExplorerError, match=NO_CLUSTER):
        cluster.send_signal(tmp_path, 15)
