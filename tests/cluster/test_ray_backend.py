"""The server's side of Ray Serve, without a cluster."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bertexplorer.api.admission import Reply, error_reply
from bertexplorer.cluster.ray_backend import NO_ANSWER, RayTask, application_name
from bertexplorer.cluster.ray_connection import connect, require_token
from bertexplorer.cluster.worker_pool import RETRY_AFTER_S
from bertexplorer.engine.queues import Busy
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings


def test_two_servers_on_one_cluster_have_replicas_of_their_own(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "one")
    name = application_name(settings)
    assert name.startswith("bertexplorer-") and name != application_name(replace(settings, data_dir=tmp_path / "two"))
    assert name == application_name(replace(settings, data_dir=tmp_path / "two" / ".." / "one", workers=3))


def test_a_cluster_on_this_machine_has_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="needs Ray: pip install -r requirements-ray.txt")
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"]})
    monkeypatch.setattr(ray, "init", lambda *_, **__: None)
    connect(Settings(ray="local"))
    token = os.environ["RAY_AUTH_TOKEN"]
    assert os.environ["RAY_AUTH_MODE"] == "token" and len(token) == 64
    connect(Settings(ray="local"))
    assert os.environ["RAY_AUTH_TOKEN"] == token
    monkeypatch.setattr(os, "environ", {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": "/etc/ray-token"})
    connect(Settings(ray="local"))
    assert "RAY_AUTH_TOKEN" not in os.environ, "the file has one"


@pytest.mark.parametrize(
    ("status", "message"),
    [("", "answers without a token"), ("UNAVAILABLE", "did not say whether"), ("UNAUTHENTICATED", "")],
)
def test_a_head_that_may_require_no_token_is_rejected(status: str, message: str) -> None:
    grpc = pytest.importorskip("grpc", reason="needs Ray: pip install -r requirements-ray.txt")

    def check_alive(request: bytes, context: Any) -> bytes:
        if status:
            context.abort(grpc.StatusCode[status], "InvalidAuthToken")
        return b""

    method = grpc.unary_unary_rpc_method_handler(check_alive)
    head = grpc.server(ThreadPoolExecutor(1))
    head.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("ray.rpc.NodeInfoGcsService", {"CheckAlive": method})]
    )
    port = head.add_insecure_port("127.0.0.1:0")
    head.start()
    with pytest.raises(ExplorerError, match=message) if message else nullcontext():
        require_token(f"127.0.0.1:{port}")
    head.stop(None)


class Failing:
    """The answer of a replica that ends with *error*."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def __anext__(self) -> bytes:
        raise self.error

    def cancel(self) -> None: ...


def reply_to(error: Exception) -> Reply:
    """The reply to a call that Serve ends with *error*."""
    backend: Any = SimpleNamespace(answers=SimpleNamespace(remote=lambda *_: Failing(error)))
    return asyncio.run(RayTask(backend, {}, ("mini", "A text.")).run())


def test_a_deployment_that_fails_later_is_reported_in_a_sentence() -> None:
    exceptions = pytest.importorskip("ray.serve.exceptions", reason="needs Ray: pip install -r requirements-ray.txt")
    deployment = pytest.importorskip("ray.serve._private.common").DeploymentID("replica", "bertexplorer")
    reply = reply_to(exceptions.DeploymentUnavailableError(deployment))
    assert reply.status == 503 and NO_ANSWER.encode() in reply.body


def test_a_full_queue_of_serve_is_reported_like_a_full_queue_here() -> None:
    exceptions = pytest.importorskip("ray.serve.exceptions", reason="needs Ray: pip install -r requirements-ray.txt")
    assert reply_to(exceptions.BackPressureError(50, 50)) == error_reply(Busy(50, RETRY_AFTER_S))
