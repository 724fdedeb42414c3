"""Replicas on a Ray cluster of two small nodes answer like this process, even while replicas and nodes are killed."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.api.perform import InProcess
from bertexplorer.cluster.backends import create_backend, warn_of_problems
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from tests.cluster.conftest import CALLS, analysis_call, answer, view_call, without_times
from tests.cluster.nodes import BUSY_S, replace_node, small_cluster
from tests.conftest import ROOT
from tests.runs import running as waiting

until = partial(waiting.until, seconds=BUSY_S)

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs Ray: pip install -r requirements-ray.txt")
NODE_KILLS = int(os.environ.get("NODE_KILLS", "1"))  # of replicas, and of nodes
TEXTS = [f"The {word} [MASK] {n}." for word in ("cat", "dog", "man") for n in range(5)]


@pytest.fixture
def cluster() -> Iterator[Any]:
    with small_cluster() as cluster:
        yield cluster


def pids() -> set[int]:
    """The processes of replicas on this machine."""
    replicas = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"ServeReplica:bertexplorer-" in path.read_bytes():
                replicas.add(int(path.parent.name))
        except OSError:
            continue
    return replicas


def is_running(application: str) -> bool:
    """Whether Serve has as many replicas of *application* as were asked for, each ready to answer."""
    from ray import serve

    return serve.status().applications[application].status == "RUNNING"


class Load:
    """Four clients that never pause. *faults*: wrong replies."""

    def __init__(self, backend: Any, expected: dict[str, Any]) -> None:
        self.backend, self.expected = backend, expected
        self.over, self.faults, self.answers = threading.Event(), [], 0
        self.threads = ThreadPoolExecutor(4)
        self.futures = [self.threads.submit(self.client, 7 * n) for n in range(4)]

    def client(self, n: int) -> None:
        while not self.over.is_set():
            text, n = TEXTS[n % len(TEXTS)], n + 1
            reply = without_times(answer(self.backend, analysis_call(text), BUSY_S))
            if reply != self.expected[text]:
                self.faults.append((text, reply))
            self.answers += 1

    def end(self) -> None:
        self.over.set()
        for future in self.futures:
            future.result(BUSY_S)
        self.threads.shutdown()


def test_a_cluster_without_tokens_is_rejected(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(ExplorerError, match="RAY_AUTH_MODE=token"):
        create_backend(replace(settings, ray="10.0.0.5:6379"))


def test_replicas_answer_like_this_process_and_survive_kills(
    cluster: Any, settings: Settings, in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bertexplorer.cluster import ray_backend

    monkeypatch.setattr(ray_backend, "ROUTING_TIMEOUT_S", BUSY_S)
    backend = create_backend(replace(settings, ray=cluster.address, memory_mb=500))
    assert backend and backend.warm_up() == ""
    try:
        for call in CALLS:
            assert without_times(answer(backend, call)) == without_times(answer(in_process, call))
        until(lambda: len(pids()) == 2)
        task = backend.task(view_call("The cat sat on the mat.", "saliency"))
        task.start(lambda line: None)
        task.stop()
        load = Load(backend, {text: without_times(answer(in_process, analysis_call(text))) for text in TEXTS})
        until(lambda: load.answers > 20)
        for _ in range(NODE_KILLS):
            before = pids()
            os.kill(min(before), signal.SIGKILL)
            until(lambda before=before: len(pids()) == 2 and pids() != before)
            until(lambda: is_running(backend.name))
        for number in range(NODE_KILLS):
            removed = cluster.small[number % 2]
            cluster.remove_node(removed, allow_graceful=False)
            until(lambda: len(pids()) == 1)
            answered = load.answers
            until(lambda answered=answered: load.answers > answered + 20)
            replace_node(cluster, removed)
            until(lambda: len(pids()) == 2)
            until(lambda: is_running(backend.name))
        load.end()
        assert not load.faults, load.faults[:3]
        assert sum(replica.answered for replica in backend.replicas()) > 20
        monkeypatch.setattr(ray_backend, "ROUTING_TIMEOUT_S", 3.0)
        for node in cluster.small:
            cluster.remove_node(node, allow_graceful=False)
        until(lambda: not pids())
        reply = answer(backend, analysis_call("The cat [MASK] alone."))
        assert reply.status == 503 and b"does not answer. Your text is kept" in reply.body
        replace_node(cluster, cluster.small[0])
        until(lambda: answer(backend, analysis_call("The cat [MASK] alone.")).status == 200)
    finally:
        backend.close()


def check_in_new_process(data: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `bertexplorer cluster check` with these environment variables."""
    command = [sys.executable, "-m", "bertexplorer", "cluster", "check"]
    environment = {**os.environ, "BERTEXPLORER_DATA": str(data), **variables}
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=BUSY_S)


def test_a_local_cluster_is_a_new_one(tmp_path: Path) -> None:
    done = check_in_new_process(
        tmp_path, BERTEXPLORER_RAY="local", BERTEXPLORER_MEMORY_MB="100", RAY_ADDRESS="127.0.0.1:1"
    )
    assert done.returncode == 0 and "no problems" in done.stdout, done.stderr


@pytest.mark.parametrize("listening", [False, True])
def test_an_unreachable_cluster_is_reported(listening: bool, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if not listening:
            server.close()
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "missing")}
        done = check_in_new_process(tmp_path, BERTEXPLORER_RAY=address, **token)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert ("Set RAY_AUTH_TOKEN_PATH" if listening else f"'{address}', but no Ray cluster accepts") in line


def test_a_server_starts_with_the_available_capacity(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from bertexplorer.cluster import ray_backend

    monkeypatch.setattr(ray_backend, "START_S", 15.0)
    with small_cluster() as cluster:
        crowded = replace(settings, ray=cluster.address, memory_mb=500, workers=3)
        warn_of_problems(crowded)
        assert "the cluster: there is room for 2 of 3 replicas" in caplog.text
        backend = ThreadPoolExecutor(1).submit(create_backend, crowded).result(BUSY_S)
        assert backend and backend.warm_up() == "" and "some replicas have not been started" in caplog.text
        assert answer(backend, analysis_call("The cat [MASK] alone."), BUSY_S).status == 200
        backend.close()
