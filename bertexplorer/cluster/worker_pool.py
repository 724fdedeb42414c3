"""Worker pool: the backend of N processes on this machine.

A worker that dies is restarted. Another worker answers its pending calls, once, as analyses change nothing."""

import threading
import time
from collections.abc import Callable, Collection, Sequence

from bertexplorer.api.admission import SPARE_THREADS, error_reply, problem
from bertexplorer.api.calls import Call, ReplicaStatus
from bertexplorer.cluster.routing import Router
from bertexplorer.cluster.wire import encode_call, encode_settings
from bertexplorer.cluster.worker_link import COMMAND, RemoteTask, WorkerLink
from bertexplorer.engine.queues import SLOW_WAITING, Busy
from bertexplorer.model.scheduler import available_cores
from bertexplorer.settings import Settings

MAX_DEATHS = 2  # workers that may die during a call before it is given up
SILENCE_S = 60.0  # a worker without a sign of life for this long is killed
CHECK_INTERVAL_S = 5.0
RETRY_AFTER_S = 5  # for clients
GAVE_UP = (
    "Two processes ended before they answered this, perhaps because memory ran out. "
    "Shorten the text or choose a smaller checkpoint, then try again."
)
NO_WORKER = (
    f"No worker is running at the moment; the server restarts them. Your text is kept; try again in {RETRY_AFTER_S} s."
)
OwnedRuns = Callable[[str], Collection[str]]  # owner -> ids of the runs that they may open


class WorkerPool:
    """The workers, and the calls that they answer. *owned_runs*: None if everyone may open all runs."""

    def __init__(
        self, settings: Settings, owned_runs: OwnedRuns | None = None, command: Sequence[str] = COMMAND
    ) -> None:
        self.owned_runs = owned_runs
        self.max_in_flight = settings.waiting + SLOW_WAITING + SPARE_THREADS  # in one worker
        self.lock = threading.Lock()
        self.router = Router()
        self.closing = threading.Event()
        count = settings.workers
        threads = settings.worker_cores or max(1, available_cores() // count)
        setup = {"settings": encode_settings(settings, share=count), "threads": threads}
        names = [str(number) for number in range(count)]
        self.links = {name: WorkerLink(name, setup, self.redispatch, command) for name in names}
        threading.Thread(target=self.kill_silent_workers, name="workers", daemon=True).start()

    def task(self, call: Call) -> RemoteTask:
        """The *call* as a task, which waits for its start."""
        owned_runs = self.owned_runs(call.owner) if self.owned_runs else None
        return RemoteTask(encode_call(call, owned_runs), call.routing_key, self.dispatch)

    def dispatch(self, task: RemoteTask) -> None:
        """Send *task* to a worker, or reply that no worker is free."""
        while not task.stopped:
            live = [link for link in self.links.values() if link.alive]
            candidates = [link for link in live if link.ready.is_set()] or live
            if not candidates:
                task.reply(problem(503, "The server is busy", NO_WORKER, retry_after=RETRY_AFTER_S))
                return
            with self.lock:
                loads = {link.name: link.load for link in candidates}
                name = self.router.pick(*task.routing_key, loads)
                link = self.links[name]
                if len(link.tasks) >= self.max_in_flight:
                    task.reply(error_reply(Busy(len(link.tasks), RETRY_AFTER_S)))
                    return
                if link.send(task):  # else its process has just ended
                    return

    def redispatch(self, link: WorkerLink, tasks: list[RemoteTask]) -> None:
        """Send the *tasks* that the process of *link* has not answered to other workers."""
        with self.lock:
            self.router.forget(link.name)
        for task in tasks:
            task.deaths += 1
            if self.closing.is_set() or task.deaths >= MAX_DEATHS:
                task.reply(problem(503, "Invalid request", GAVE_UP))
            else:
                self.dispatch(task)

    def kill_silent_workers(self) -> None:
        """End the processes that hang, until `close`; their links start others."""
        while not self.closing.wait(CHECK_INTERVAL_S):
            for link in self.links.values():
                if link.alive and time.monotonic() - link.last_frame_at > SILENCE_S:
                    link.kill()

    def warm_up(self) -> str:
        """Wait until a worker has answered. Return its error, "" if there is none."""
        while not self.closing.is_set():
            for link in self.links.values():
                if link.ready.wait(0.05):
                    return link.warm_up_error
        return ""

    def replicas(self) -> Sequence[ReplicaStatus]:
        """The state of each worker."""
        statuses = []
        for name, link in self.links.items():
            statuses.append(
                ReplicaStatus(
                    name,
                    answered=link.answered,
                    in_flight=len(link.tasks),
                    restarts=link.restarts,
                    ready=link.ready.is_set(),
                )
            )
        return statuses

    def close(self) -> None:
        self.closing.set()
        for link in self.links.values():
            link.close()
