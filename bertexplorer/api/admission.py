"""Admission: runs the work of one request in a thread, with a place in the queue; drops it once the client has left."""

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bertexplorer.engine.progress import Stopped, Work
from bertexplorer.engine.queues import Busy, RequestQueues
from bertexplorer.errors import ExplorerError, unforeseen

JSON, LINES, PROBLEM = "application/json", "application/x-ndjson", "application/problem+json"
SPARE = 16  # threads in addition to those for the full queues: to refuse further requests at once
FIRST_S, NEXT_S = 0.2, 0.5  # until the first report of progress to a client, and between two reports
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reply:
    """A response: a body with its media type, status and further headers."""

    body: bytes
    media: str = JSON
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Tell = Callable[[dict[str, Any]], None]


def as_json(value: Any, status: int = 200) -> Reply:
    return Reply(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY), JSON, status)


def problem(status: int, title: str, detail: str, **more: Any) -> Reply:
    """An error after RFC 9457: *detail* says what was given, what was wanted and what to do."""
    headers = {"retry-after": str(more["retry_after"])} if "retry_after" in more else {}
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return Reply(orjson.dumps(problem), PROBLEM, status, headers)


def refusal(error: ExplorerError) -> Reply:
    """The response for an error that people are meant to read."""
    if isinstance(error, Busy):
        return problem(503, "Busy", str(error), retry_after=error.seconds)
    return problem(422, "Not possible", str(error), **({"missing": error.missing} if error.missing else {}))


def sent(reply: Reply) -> Response:
    """*reply* as the response to a request that needs no place in the queue."""
    return Response(reply.body, reply.status, {"cache-control": "no-store", **reply.headers}, reply.media)


class Task(Protocol):
    """One answer on its way, wherever it is computed."""

    def start(self, tell: Tell) -> "Future[Reply]":
        """Begin. *tell* takes lines that go ahead of the reply, in any thread."""

    def progress(self) -> dict[str, Any]:
        """A message for the waiting client, see RequestQueues.progress; empty if there is none."""

    def stop(self) -> None:
        """Nobody waits for the reply any more."""


class Admission:
    """The threads that compute requests, and the queues in which they wait."""

    def __init__(self, queues: RequestQueues) -> None:
        self.queues = queues
        self.threads = ThreadPoolExecutor(queues.max_requests + SPARE, "answer")

    def answer(
        self, request: Request, compute: Callable[[Tell], Reply], *, slow: bool = False, place: bool = True
    ) -> "Answer":
        """A response that *compute* makes. It is given a function that sends a line ahead of the answer to a client
        that accepts lines of JSON. *slow*: waits in the slow queue; *place*: whether it needs a place at all."""
        return answered(request, self.task(compute, slow=slow, place=place))

    def task(self, compute: Callable[[Tell], Reply], *, slow: bool = False, place: bool = True) -> "LocalTask":
        """The same as a task that has not begun."""
        return LocalTask(self, compute, slow, place)


class LocalTask:
    """What a thread of this process computes, once it has a place in the queue."""

    def __init__(self, admission: Admission, compute: Callable[[Tell], Reply], slow: bool, place: bool) -> None:
        self.admission, self.compute, self.slow, self.place = admission, compute, slow, place
        self.work: Work = admission.queues.new_work()

    def start(self, tell: Tell) -> "Future[Reply]":
        return self.admission.threads.submit(self.run, tell)

    def progress(self) -> dict[str, Any]:
        return self.admission.queues.progress(self.work)

    def stop(self) -> None:
        self.admission.queues.stop(self.work)

    def run(self, tell: Tell) -> Reply:
        try:
            if not self.place:
                return self.compute(tell)
            with self.admission.queues.turn(self.work, slow=self.slow):
                return self.compute(tell)
        except ExplorerError as error:
            return refusal(error)
        except Stopped as stopped:
            return problem(499, "Stopped", str(stopped))
        except Exception:
            return problem(500, "Unforeseen", unforeseen(log, "a request failed"))


def answered(request: Request, task: Task) -> "Answer":
    """The response to *request* that *task* makes."""
    return Answer(task, LINES in request.headers.get("accept", ""))


class Answer(Response):
    """Sends the result. Work whose client leaves is stopped before its next batch, or taken out of the queue."""

    def __init__(self, task: Task, lines: bool) -> None:
        self.task, self.lines = task, lines
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop, news = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any]]()

        def tell(line: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(news.put_nowait, line)

        computed = asyncio.wrap_future(self.task.start(tell))
        left = asyncio.ensure_future(gone(receive))
        either: set[asyncio.Future[Any]] = {computed, left}
        begun, wait = False, FIRST_S
        while not computed.done() and not left.done():
            await asyncio.wait(either, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            lines = [news.get_nowait() for _ in range(news.qsize())] or [self.task.progress()]
            if self.lines and not computed.done() and lines[-1]:
                if not begun:
                    await send(start(200, LINES, {}))
                begun, wait = True, NEXT_S
                await send({"type": "http.response.body", "body": line(lines[-1]), "more_body": True})
        if not computed.done():
            self.task.stop()
            return
        left.cancel()
        reply = computed.result()
        if self.lines and (begun or reply.status >= 400):  # browsers would report a status as a fault of the page
            if not begun:
                await send(start(200, LINES, {}))
            whole = {"status": reply.status, "answer": orjson.Fragment(reply.body)}
            await send({"type": "http.response.body", "body": line(whole)})
            return
        await send(start(reply.status, reply.media, {"content-length": str(len(reply.body)), **reply.headers}))
        await send({"type": "http.response.body", "body": reply.body})


async def gone(receive: Receive) -> None:
    """Returns once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def start(status: int, media: str, headers: dict[str, str]) -> dict[str, Any]:
    named = {"content-type": media, "cache-control": "no-store", **headers}
    raw = [(key.encode(), value.encode()) for key, value in named.items()]
    return {"type": "http.response.start", "status": status, "headers": raw}


def line(value: Any) -> bytes:
    return orjson.dumps(value) + b"\n"


def loads(body: bytes) -> Any:
    """The JSON of a request; None if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
