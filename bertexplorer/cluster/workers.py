"""Workers: the backend of N processes on this machine.

One that dies is started again. What it took with it is asked of another one once, as analyses change nothing."""

import threading
import time
from collections.abc import Callable, Collection, Sequence

from bertexplorer.api.admission import SPARE, problem, refusal
from bertexplorer.api.calls import Call, Replica
from bertexplorer.cluster.routing import Router
from bertexplorer.cluster.wire import call_head, settings_head
from bertexplorer.cluster.worker_link import COMMAND, RemoteTask, WorkerLink
from bertexplorer.engine.queues import SLOW_WAITING, Busy
from bertexplorer.model.scheduler import available_cores
from bertexplorer.settings import Settings

LIVES = 2  # deaths of workers after which a call is given up
SILENT_S = 60.0  # without a sign of life, after which a worker is ended
LOOK_S = 5.0
AGAIN_S = 5  # after which a client may try again
GIVEN_UP = (
    "Two processes ended while they computed this, perhaps because memory ran out. "
    "Shorten the text or choose a smaller checkpoint, then ask again."
)
NONE = f"No worker runs at the moment; they are being started again. Your text is kept; try again in {AGAIN_S} s."
Owned = Callable[[str], Collection[str]]


class Workers:
    """*owned*: owner -> ids of the runs that they may open; None: all runs."""

    def __init__(self, settings: Settings, owned: Owned | None = None, command: Sequence[str] = COMMAND) -> None:
        self.owned = owned
        self.most = settings.waiting + SLOW_WAITING + SPARE  # in flight in one worker
        self.lock = threading.Lock()
        self.router = Router()
        self.closing = threading.Event()
        count = settings.workers
        threads = settings.worker_cores or max(1, available_cores() // count)
        first = {"settings": settings_head(settings, share=count), "threads": threads}
        self.links = {str(n): WorkerLink(str(n), first, self.lost, command) for n in range(count)}
        threading.Thread(target=self.watch, name="workers", daemon=True).start()

    def task(self, call: Call) -> RemoteTask:
        owns = self.owned(call.owner) if self.owned else None
        return RemoteTask(call_head(call, owns), call.asks, self.give)

    def give(self, task: RemoteTask) -> None:
        """Send *task* to a worker, or reply that none can take it."""
        while not task.stopped:
            live = [link for link in self.links.values() if link.alive]
            ready = [link for link in live if link.ready.is_set()] or live
            if not ready:
                return task.reply(problem(503, "Busy", NONE, retry_after=AGAIN_S))
            with self.lock:
                name = self.router.pick(*task.asks, {link.name: link.load for link in ready})
                link = self.links[name]
                if len(link.tasks) >= self.most:
                    return task.reply(refusal(Busy(len(link.tasks), AGAIN_S)))
                if link.send(task):
                    return None
        return None

    def lost(self, link: WorkerLink, tasks: list[RemoteTask]) -> None:
        """Ask others what the process of *link* has not answered."""
        with self.lock:
            self.router.forget(link.name)
        for task in tasks:
            task.deaths += 1
            if self.closing.is_set() or task.deaths >= LIVES:
                task.reply(problem(503, "Not possible", GIVEN_UP))
            else:
                self.give(task)

    def watch(self) -> None:
        """End workers that have been silent for too long."""
        while not self.closing.wait(LOOK_S):
            for link in self.links.values():
                if link.alive and time.monotonic() - link.seen > SILENT_S:
                    link.kill()

    def warm(self) -> str:
        """Wait until a worker has answered. Returns its error, "" if there is none."""
        while not self.closing.is_set():
            for link in self.links.values():
                if link.ready.wait(0.05):
                    return link.error
        return ""

    def replicas(self) -> Sequence[Replica]:
        return [
            Replica(name, link.answered, len(link.tasks), link.restarts, link.ready.is_set())
            for name, link in self.links.items()
        ]

    def close(self) -> None:
        self.closing.set()
        for link in self.links.values():
            link.close()
