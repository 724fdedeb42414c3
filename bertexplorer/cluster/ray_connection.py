"""The connection to a Ray cluster: one on this machine, or one to join if nobody can use it without its token."""

from __future__ import annotations

import os
import secrets
import socket
from typing import Any

from bertexplorer.errors import ExplorerError, need
from bertexplorer.settings import Settings

OBJECT_STORE_MB = 200  # of a local cluster: answers are small
NO_USAGE_STATS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_USAGE_STATS_PROMPT_ENABLED": "0"}
RECONNECT = {
    "RAY_gcs_rpc_server_reconnect_timeout_s": "86400",  # Ray ends this process if the head is away for longer
    "RAY_gcs_server_request_timeout_seconds": "10",
}
CONNECT_TIMEOUT_S = 5.0


def connect(settings: Settings) -> None:
    """Start Ray here, or join the cluster that *settings* name. Sets variables of Ray in the environment. Raises
    ExplorerError if that is not possible, or if anyone could use the cluster."""
    need("ray", "A Ray cluster")
    # 1. The variables that Ray reads when it is imported.
    os.environ.update(NO_USAGE_STATS | RECONNECT)
    if settings.ray == "local":  # its ports are open on all interfaces
        mode = os.environ.setdefault("RAY_AUTH_MODE", "token")
        if mode == "token" and "RAY_AUTH_TOKEN_PATH" not in os.environ:
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    else:
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")  # each takes 40 s; Ray's own 20 take 14 minutes
    quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    import ray

    if ray.is_initialized():
        return
    # 2. A cluster of this machine.
    if settings.ray == "local":
        os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's own 15 puts answers behind all else on the machine
        # without the address, Ray would join a cluster that runs here already
        ray.init("local", include_dashboard=False, object_store_memory=OBJECT_STORE_MB << 20, **quiet)
        return
    # 3. Another cluster, which must not be open to everyone.
    protected = os.environ.get("BERTEXPLORER_RAY_INSECURE") != "1"
    if protected and os.environ.get("RAY_AUTH_MODE") != "token":
        raise ExplorerError(
            "RAY_AUTH_MODE is not token: anyone who reaches the ports of this Ray cluster can run programs on it. Set "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH here and on all its nodes, or BERTEXPLORER_RAY_INSECURE=1 if "
            "nobody else reaches them."
        )
    join(settings, quiet)
    if protected:
        try:
            require_token(ray.get_runtime_context().gcs_address)
        except ExplorerError:
            ray.shutdown()
            raise


def join(settings: Settings, quiet: dict[str, Any]) -> None:
    """Join the cluster that *settings* name. *quiet*: arguments of ray.init. Raises ExplorerError."""
    import ray

    try:
        reach(settings.ray)
        ray.init(address=settings.ray, **quiet)
    except ray.exceptions.AuthenticationError as error:
        raise ExplorerError(
            f"This Ray cluster needs a token, and there is none here ({str(error).partition('. ')[0]}). Set "
            "RAY_AUTH_TOKEN_PATH to the file with the token of the cluster."
        ) from error
    except (RuntimeError, ValueError, OSError, OverflowError) as error:
        raise no_cluster(settings, error) from error


def require_token(address: str) -> None:
    """Raises ExplorerError unless the head at *address* refuses a call without a token."""
    import grpc

    otherwise = "or set BERTEXPLORER_RAY_INSECURE=1 if nobody else reaches its ports."
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        try:
            channel.unary_unary("/ray.rpc.NodeInfoGcsService/CheckAlive")(b"", timeout=CONNECT_TIMEOUT_S)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNAUTHENTICATED:
                return
            raise ExplorerError(
                f"The head of this Ray cluster did not say whether it needs a token ({error.code().name}). Try again, "
                f"{otherwise}"
            ) from error
    raise ExplorerError(
        "This Ray cluster answers without a token: anyone who reaches its ports can run programs on it. Start its head "
        f"and all its nodes with RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH, {otherwise}"
    )


def no_cluster(settings: Settings, error: Exception) -> ExplorerError:
    """What to say if the cluster that *settings* name could not be joined because of *error*."""
    return ExplorerError(
        f"BERTEXPLORER_RAY is {settings.ray!r:.80}, but no Ray cluster accepts this server there ({str(error)[:300]}). "
        "Give the address of its head, such as 10.0.0.5:6379, or local for one on this machine. If the address is "
        "right, use the token and the version of Ray of its nodes."
    )


def reach(address: str) -> None:
    """Raises OSError if nobody listens at *address*, HOST:PORT, which Ray notices much later. Ray itself checks
    others, such as auto."""
    host, _, port = address.rpartition(":")
    if host and "/" not in host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_S).close()


def reach_head() -> None:
    """Raises OSError if the head of the cluster that this process has joined cannot be reached."""
    import ray

    reach(ray.get_runtime_context().gcs_address)
