"""The settings select the backend; by default the server computes the answers itself and imports neither workers nor
Ray."""

import subprocess
import sys
from concurrent.futures import Future
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from bertexplorer.api import checkpoints
from bertexplorer.api.admission import Reply, error_reply
from bertexplorer.api.calls import Call, ReplicaStatus
from bertexplorer.api.perform import InProcess
from bertexplorer.cluster.backends import create_backend, create_launcher
from bertexplorer.cluster.ray_runs import capacity
from bertexplorer.errors import ExplorerError
from bertexplorer.server.metrics import Metrics
from bertexplorer.settings import Settings
from tests.cluster.conftest import OWNER
from tests.conftest import ROOT


def test_the_default_server_needs_neither_a_cluster_nor_ray() -> None:
    assert create_backend(Settings()) is None and create_launcher(Settings()) is None
    code = "import sys, bertexplorer.cluster.backends, bertexplorer.cluster.check; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60).returncode == 0


@pytest.mark.parametrize(
    ("resources", "wanted"),
    [
        ([{"CPU": 4.0}, {"CPU": 8.0}], (2, 0)),
        ([{"CPU": 4.0, "GPU": 2.0}, {"CPU": 8.0, "GPU": 1.0}, {"CPU": 4.0}], (3, 1)),
        ([{"GPU": 4.0}], (1, 0)),  # the head, which has no CPUs
        ([], (1, 0)),
    ],
)
def test_each_run_gets_a_gpu_if_there_are_any(resources: list[dict[str, float]], wanted: tuple[int, int]) -> None:
    nodes = [{"Alive": True, "Resources": resource} for resource in resources]
    assert capacity([*nodes, {"Alive": False, "Resources": {"CPU": 9.0, "GPU": 9.0}}]) == wanted


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_a_missing_ray_is_reported_with_its_package() -> None:
    with pytest.raises(ExplorerError, match=r'pip install "bertexplorer\[ray\]"'):
        create_backend(Settings(ray="local"))


def test_the_settings_of_a_cluster_are_read_and_checked() -> None:
    settings = Settings.from_env(
        {"BERTEXPLORER_WORKERS": "4", "BERTEXPLORER_RAY": " auto ", "BERTEXPLORER_RUNS": "ray"}
    )
    assert (settings.workers, settings.worker_cores, settings.ray, settings.runs) == (4, 0, "auto", "ray")
    for name, value in (
        ("BERTEXPLORER_WORKERS", "many"),
        ("BERTEXPLORER_RUNS", "there"),
        ("BERTEXPLORER_RUNS_URL", "bucket"),
    ):
        with pytest.raises(ExplorerError, match=name):
            Settings.from_env({name: value})
    with pytest.raises(ExplorerError, match="Set BERTEXPLORER_RAY to its address"):
        create_launcher(Settings(runs="ray"))
    with pytest.raises(ExplorerError, match="Set BERTEXPLORER_RUNS=ray"):
        create_launcher(Settings(runs_url="s3://bucket/runs"))


def test_the_metrics_list_each_replica() -> None:
    metrics = Metrics()
    metrics.watch_replicas(lambda: [ReplicaStatus("0", 5, 2, 1, True), ReplicaStatus("1", 0, 0, 0, False)])
    text = metrics.text()
    for line in ('requests_total{replica="0"} 5.0', 'in_flight{replica="0"} 2.0', 'restarts_total{replica="0"} 1.0'):
        assert f"bertexplorer_replica_{line}" in text
    assert 'bertexplorer_replica_ready{replica="1"} 0.0' in text


class Loading:
    """A backend that notes the calls and answers each with *reply*."""

    def __init__(self, reply: Reply) -> None:
        self.calls: list[Call] = []
        self.answer: Future[Reply] = Future()
        self.answer.set_result(reply)

    def task(self, call: Call) -> Any:
        self.calls.append(call)
        return SimpleNamespace(start=lambda send_line: self.answer)


def test_a_fetched_checkpoint_is_loaded_where_answers_are_computed(in_process: InProcess) -> None:
    backend: Any = Loading(error_reply(ExplorerError("It does not fit.")))
    api = FastAPI()
    api.include_router(checkpoints.routes(in_process.answerer, in_process.admission, backend))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await api({**scope, "state": {"owner": OWNER}}, receive, send)

    fetched = TestClient(app).post("/api/v1/checkpoints", json={"name": "little"})
    assert fetched.status_code == 422 and fetched.json()["detail"] == "It does not fit."
    assert backend.calls == [Call("load", "", OWNER, {"checkpoint": "little", "precision": "auto"})]
    assert backend.calls[0].routing_key[0] == "little" and not in_process.answerer.registry.loaded
