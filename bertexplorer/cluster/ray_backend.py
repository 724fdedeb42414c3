"""Ray backend: replicas of Ray Serve answer, on this machine or on a cluster. Needs the extra ray.

Replicas are called through a handle; Serve's HTTP proxy is off. Calls and replies are frames of `wire`, never pickled
objects."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from hashlib import sha256
from typing import Any
from uuid import uuid4

from bertexplorer.api.admission import Reply, SendLine, error_reply, problem
from bertexplorer.api.calls import Call, ReplicaStatus
from bertexplorer.cluster.ray_connection import connect
from bertexplorer.cluster.replica import RayReplica
from bertexplorer.cluster.routing import replica_stats
from bertexplorer.cluster.wire import Header, decode_reply, encode_call, encode_settings, pack_frame, unpack_frame
from bertexplorer.cluster.worker_pool import GAVE_UP, MAX_DEATHS, RETRY_AFTER_S, OwnedRuns
from bertexplorer.engine.queues import Busy
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings

BASE_MB = 1000  # memory of a replica without checkpoints: torch and Python
MAX_ONGOING = 64  # concurrent calls in a replica besides those that wait; its own queues order them
START_S = 35.0  # until the server starts with the replicas that are running
WARM_UP_TIMEOUT_S = 60.0
ROUTING_TIMEOUT_S = 20.0  # until a call must have reached a replica; Serve replaces a dead replica in 7 to 12 s
NO_ANSWER = f"The Ray cluster does not answer. Your text is kept; try again in {RETRY_AFTER_S} s."
log = logging.getLogger(__name__)


def application_name(settings: Settings) -> str:
    """The name in Serve of a server's replicas. Several servers may use one cluster if each has a data folder of its
    own path."""
    path = os.fsencode(settings.data_dir.resolve())
    return f"bertexplorer-{sha256(path).hexdigest()[:8]}"


def deploy(settings: Settings, name: str) -> Any:
    """Start the replicas as application *name* and return their handle. Raises ExplorerError if they cannot start."""
    from ray import serve
    from ray.serve.config import RequestRouterConfig

    threads = settings.worker_cores or 1
    memory = (settings.memory_mb + BASE_MB) * 1_000_000
    deployment = serve.deployment(
        RayReplica,
        name="replica",
        num_replicas=settings.workers or 1,
        max_ongoing_requests=MAX_ONGOING + settings.waiting,
        max_queued_requests=max(1, settings.waiting),
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
    target = serve.RunTarget(deployment.bind(encode_settings(settings), threads), name=name, route_prefix=None)
    (handle,) = serve.run_many([target], wait_for_applications_running=False)
    wait_for_replicas(name)
    return handle


def wait_for_replicas(name: str) -> None:
    """Wait until all replicas of the application *name* are running, up to a limit: the cluster may lack room
    for some, or a run may occupy the core of one. Raises ExplorerError if they cannot start."""
    from ray import serve

    deadline = time.monotonic() + START_S
    while (application := serve.status().applications[name]).status != "RUNNING":
        messages = [deployment.message for deployment in application.deployments.values()]
        reason = " ".join(messages) or application.message
        if application.status == "DEPLOY_FAILED":
            with suppress(Exception):
                serve.delete(name)  # those that are running
            raise ExplorerError(
                f"The replicas cannot be started on the Ray cluster: {reason[:300]} Run `bertexplorer cluster check` "
                "to see what its nodes lack."
            )
        if time.monotonic() > deadline:
            log.warning("some replicas have not been started yet", extra={"reason": reason[:500]})
            return
        time.sleep(0.2)


class RayTask:
    """A call that a replica answers."""

    def __init__(self, backend: RayBackend, header: Header, routing_key: tuple[str, str]) -> None:
        self.backend = backend
        self.header = header
        self.routing_key = routing_key
        self.last_progress: dict[str, Any] = {}
        self.reply: Future[Reply] | None = None

    def start(self, send_line: SendLine) -> Future[Reply]:
        self.reply = asyncio.run_coroutine_threadsafe(self.run(), self.backend.loop)
        return self.reply

    def progress(self) -> dict[str, Any]:
        return self.last_progress

    def stop(self) -> None:
        if self.reply:
            self.reply.cancel()

    async def run(self) -> Reply:
        """Return the reply. If the replica dies, another one gets the call, once."""
        from ray.exceptions import RayActorError, RayError
        from ray.serve.exceptions import BackPressureError, RayServeException, ReplicaUnavailableError

        try:
            for _ in range(MAX_DEATHS):
                with suppress(RayActorError, ReplicaUnavailableError):
                    return await self.request_reply()
                self.last_progress = {}
            return problem(503, "Invalid request", GAVE_UP)
        except BackPressureError as error:
            return error_reply(Busy(error.args[0], RETRY_AFTER_S))  # the number of waiting calls has no other name
        except (RayError, RayServeException, ConnectionError):
            log.exception("the Ray cluster does not answer")
            return problem(503, "The Ray cluster does not answer", NO_ANSWER, retry_after=RETRY_AFTER_S)

    async def request_reply(self) -> Reply:
        """Send the call to a replica and read frames until its reply. Raises ConnectionError if there is none."""
        key = uuid4().hex
        frames = self.backend.answers.remote(pack_frame(self.header), *self.routing_key, key)
        deadline = time.monotonic() + ROUTING_TIMEOUT_S
        complete = False
        next_frame = asyncio.ensure_future(anext(frames))
        try:
            while True:
                while not (await asyncio.wait({next_frame}, timeout=1.0))[0]:
                    if key not in replica_stats.routed and time.monotonic() > deadline:
                        raise ConnectionError("the call has not reached a replica")
                header, body = unpack_frame(next_frame.result())
                if "status" in header:
                    complete = True
                    return decode_reply(header, body)
                self.last_progress = header["progress"]
                next_frame = asyncio.ensure_future(anext(frames))
        except StopAsyncIteration as error:
            raise ConnectionError("a replica ended its answer early") from error
        finally:
            # retrieves the exception that Serve raises on cancel, which asyncio would report as never retrieved
            next_frame.add_done_callback(lambda future: future.cancelled() or future.exception())
            next_frame.cancel()
            replica_stats.routed.discard(key)
            if not complete:
                frames.cancel()


class RayBackend:
    """The replicas, and the calls that they answer. *owned_runs*: None if everyone may open all runs."""

    def __init__(self, settings: Settings, owned_runs: OwnedRuns | None = None) -> None:
        connect(settings)
        self.owned_runs = owned_runs
        self.closing = threading.Event()
        self.name = application_name(settings)
        self.handle = deploy(settings, self.name)
        self.answers = self.handle.options(method_name="answer", stream=True)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="ray", daemon=True).start()

    def task(self, call: Call) -> RayTask:
        """The *call* as a task, which waits for its start."""
        owned_runs: Collection[str] | None = self.owned_runs(call.owner) if self.owned_runs else None
        return RayTask(self, encode_call(call, owned_runs), call.routing_key)

    def warm_up(self) -> str:
        """Wait until a replica has answered. Return its error, "" if there is none."""
        from ray.exceptions import RayError
        from ray.serve.exceptions import RayServeException

        while not self.closing.is_set():
            try:
                return str(self.handle.warm_up_error.remote().result(timeout_s=WARM_UP_TIMEOUT_S))
            except (TimeoutError, RayError, RayServeException):  # no replica is running, or the cluster does not answer
                self.closing.wait(RETRY_AFTER_S)
        return ""

    def replicas(self) -> Sequence[ReplicaStatus]:
        """Restarts are counted under the name "lost", as Ray does not report them by replica."""
        statuses = []
        for name in replica_stats.live:
            statuses.append(
                ReplicaStatus(
                    name,
                    answered=replica_stats.answered[name],
                    in_flight=replica_stats.in_flight[name],
                    restarts=0,
                    ready=True,
                )
            )
        statuses.append(ReplicaStatus("lost", answered=0, in_flight=0, restarts=replica_stats.lost, ready=False))
        return statuses

    def close(self) -> None:
        """Shut the replicas down. This waits for a cluster that does not answer; a server that gets a signal exits
        after a timeout all the same."""
        import ray
        from ray import serve

        self.closing.set()
        with suppress(Exception):  # the cluster may not answer
            serve.delete(self.name)
        self.loop.call_soon_threadsafe(self.loop.stop)
        ray.shutdown()
