"""Ray backend: replicas of Ray Serve answer, on this machine or on a cluster. Needs the extra ray.

Handles only: no proxy of Serve listens anywhere. What crosses are the frames of `wire`, never objects of ours."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any
from uuid import uuid4

from bertexplorer.api.admission import Reply, Tell, problem, refusal
from bertexplorer.api.calls import Call, Replica
from bertexplorer.cluster.ray_replica import RayReplica
from bertexplorer.cluster.routing import standing
from bertexplorer.cluster.wire import Head, call_head, frame, reply_of, settings_head, unframe
from bertexplorer.cluster.workers import AGAIN_S, GIVEN_UP, LIVES, Owned
from bertexplorer.engine.queues import Busy
from bertexplorer.errors import ExplorerError, need
from bertexplorer.settings import Settings

NAME = "bertexplorer"
OBJECTS_MB = 200  # of the object store of a local cluster: answers are small
BESIDE_MB = 1000  # of a replica beside its checkpoints: torch and Python
ONGOING = 64  # calls at once in a replica, whose own queues order them
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_USAGE_STATS_PROMPT_ENABLED": "0"}  # nothing leaves the machine
TAKEN_S = 20.0  # in which a replica must have taken a call; Serve replaces one that died in 7 to 12 s
PATIENCE = {"RAY_gcs_rpc_server_reconnect_timeout_s": "86400"}  # Ray ends this process if the head is away for longer
GONE = f"The Ray cluster does not answer. Your text is kept; try again in {AGAIN_S} s."
log = logging.getLogger(__name__)


def connect(settings: Settings) -> None:
    """Start Ray here, or join the cluster that *settings* name. Raises ExplorerError if that is not possible, or if the
    cluster would let anyone in."""
    need("ray", "A Ray cluster")
    os.environ.update(QUIET | PATIENCE)
    quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    import ray

    if ray.is_initialized():
        return
    if settings.ray == "local":
        os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's own 15 puts answers behind all else on the machine
        ray.init(include_dashboard=False, object_store_memory=OBJECTS_MB << 20, **quiet)
        return
    if os.environ.get("RAY_AUTH_MODE") != "token" and os.environ.get("BERTEXPLORER_RAY_INSECURE") != "1":
        raise ExplorerError(
            "RAY_AUTH_MODE is not token: whoever reaches the ports of this Ray cluster can run programs on it. Set "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH here and on all its nodes, or BERTEXPLORER_RAY_INSECURE=1 if "
            "nobody else reaches them."
        )
    try:
        ray.init(address=settings.ray, **quiet)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise ExplorerError(
            f"BERTEXPLORER_RAY is {settings.ray!r:.80}, and no Ray cluster answers there ({str(error)[:200]}). Give "
            "the address of its head, such as 10.0.0.5:6379, or local for one on this machine."
        ) from error


def deploy(settings: Settings) -> Any:
    """Start the replicas and return their handle. Raises ExplorerError if they cannot start."""
    from ray import serve
    from ray.serve.config import RequestRouterConfig

    threads = settings.worker_cores or 1
    memory = (settings.memory_mb + BESIDE_MB) * 1_000_000
    made = serve.deployment(
        RayReplica,
        name="replica",
        num_replicas=settings.workers or 1,
        max_ongoing_requests=ONGOING,
        max_queued_requests=settings.waiting,
        health_check_period_s=5,
        health_check_timeout_s=30,
        graceful_shutdown_timeout_s=2,
        request_router_config=RequestRouterConfig(
            request_router_class="bertexplorer.cluster.ray_router:CheckpointRouter"
        ),
        ray_actor_options={"num_cpus": threads, "memory": memory},
        logging_config={"enable_access_log": False},
    )
    serve.start(proxy_location="Disabled")
    try:
        bound = made.bind(settings_head(settings), threads)
        return serve.run(bound, name=NAME, route_prefix=None)
    except RuntimeError as error:
        raise ExplorerError(
            f"The replicas cannot be started on the Ray cluster: {str(error)[:300]} `bertexplorer cluster check` says "
            "what its nodes lack."
        ) from error


class RayTask:
    """A call on its way to a replica, and its reply on its way back."""

    def __init__(self, backend: RayReplicas, head: Head, asks: tuple[str, str]) -> None:
        self.backend, self.head, self.asks = backend, head, asks
        self.news: dict[str, Any] = {}
        self.going: Future[Reply] | None = None

    def start(self, tell: Tell) -> Future[Reply]:
        self.going = asyncio.run_coroutine_threadsafe(self.run(), self.backend.loop)
        return self.going

    def progress(self) -> dict[str, Any]:
        return self.news

    def stop(self) -> None:
        if self.going:
            self.going.cancel()

    async def run(self) -> Reply:
        """The reply. A call whose replica dies is asked of another one, once."""
        from ray.exceptions import RayActorError, RayError
        from ray.serve.exceptions import BackPressureError, ReplicaUnavailableError

        try:
            for _ in range(LIVES):
                with suppress(RayActorError, ReplicaUnavailableError):
                    return await self.asked()
                self.news = {}
            return problem(503, "Not possible", GIVEN_UP)
        except BackPressureError as error:
            return refusal(Busy(error.num_queued_requests, AGAIN_S))
        except (RayError, ConnectionError):
            log.exception("the Ray cluster does not answer")
            return problem(503, "No answer", GONE, retry_after=AGAIN_S)

    async def asked(self) -> Reply:
        key = uuid4().hex
        handle = self.backend.handle.options(method_name="answer", stream=True)
        answers = handle.remote(frame(self.head), *self.asks, key)
        done, until = False, time.monotonic() + TAKEN_S
        coming = asyncio.ensure_future(anext(answers))
        try:
            while True:
                while not (await asyncio.wait({coming}, timeout=1.0))[0]:
                    if key not in standing.taken and time.monotonic() > until:
                        raise ConnectionError("no replica has taken the call")
                head, body = unframe(coming.result())
                if done := "status" in head:
                    return reply_of(head, body)
                self.news = head["progress"]
                coming = asyncio.ensure_future(anext(answers))
        except StopAsyncIteration as error:
            raise ConnectionError("a replica ended its answer early") from error
        finally:
            coming.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # Serve's own, on cancel
            coming.cancel()
            standing.taken.discard(key)
            if not done:
                answers.cancel()


class RayReplicas:
    """The replicas. *owned*: owner -> ids of the runs that they may open; None: all runs."""

    def __init__(self, settings: Settings, owned: Owned | None = None) -> None:
        connect(settings)
        self.owned = owned
        self.handle = deploy(settings)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="ray", daemon=True).start()

    def task(self, call: Call) -> RayTask:
        owns: Collection[str] | None = self.owned(call.owner) if self.owned else None
        return RayTask(self, call_head(call, owns), call.asks)

    def warm(self) -> str:
        return str(self.handle.opening.remote().result(timeout_s=600))

    def replicas(self) -> Sequence[Replica]:
        """The restarts, which Ray does not tell of each replica, are listed with a name of their own."""
        found = [Replica(one, standing.answered[one], standing.in_flight[one], 0, True) for one in standing.live]
        return [*found, Replica("lost", 0, 0, standing.lost, False)]

    def close(self) -> None:
        """Take the replicas down. If the cluster has gone, this waits for it; a server that is told to end does not."""
        import ray
        from ray import serve

        with suppress(Exception):  # the cluster may have gone
            serve.delete(NAME)
        self.loop.call_soon_threadsafe(self.loop.stop)
        ray.shutdown()
