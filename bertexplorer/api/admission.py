"""Admission: answers each request in a thread once it has a place in a queue, and stops if the client disconnects."""

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

JSON = "application/json"
LINES = "application/x-ndjson"
PROBLEM = "application/problem+json"
SPARE_THREADS = 16  # in addition to those for full queues, to reject further requests at once
FIRST_REPORT_S, REPORT_INTERVAL_S = 0.2, 0.5  # of progress to a client
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reply:
    """A response: a body with its media type, status and further headers."""

    body: bytes
    media: str = JSON
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


SendLine = Callable[[dict[str, Any]], None]  # sends a line of JSON ahead of the reply; thread-safe


def json_reply(value: Any) -> Reply:
    return Reply(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))


def problem(status: int, title: str, detail: str, **more: Any) -> Reply:
    """An error as RFC 9457 defines it. *detail* says what was given, what was wanted and what to do."""
    headers = {"retry-after": str(more["retry_after"])} if "retry_after" in more else {}
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return Reply(orjson.dumps(problem), PROBLEM, status, headers)


def error_reply(error: ExplorerError) -> Reply:
    """The response to an error that is meant for people."""
    if isinstance(error, Busy):
        return problem(503, "The server is busy", str(error), retry_after=error.seconds)
    return problem(422, "Invalid request", str(error), **({"missing": error.code} if error.code else {}))


def to_response(reply: Reply) -> Response:
    """Convert the *reply* to a request that needs no place in a queue."""
    return Response(reply.body, reply.status, {"cache-control": "no-store", **reply.headers}, reply.media)


class Computation(Protocol):
    """An answer that is computed here or in another process."""

    def start(self, send_line: SendLine) -> "Future[Reply]":
        """Start computing. *send_line* may be called from any thread."""

    def progress(self) -> dict[str, Any]:
        """A message for the waiting client, see RequestQueues.progress; {} if there is none."""

    def stop(self) -> None:
        """Stop computing, as nobody waits for the reply any more."""


class Admission:
    """The threads that answer requests, and the queues in which requests wait."""

    def __init__(self, queues: RequestQueues) -> None:
        self.queues = queues
        self.threads = ThreadPoolExecutor(queues.max_requests + SPARE_THREADS, "answer")

    def respond(
        self, request: Request, compute: Callable[[SendLine], Reply], *, slow: bool = False, queued: bool = True
    ) -> "TaskResponse":
        """The response whose reply *compute* returns; see `task`."""
        return task_response(request, self.task(compute, slow=slow, queued=queued))

    def task(self, compute: Callable[[SendLine], Reply], *, slow: bool = False, queued: bool = True) -> "LocalTask":
        """Create the task that calls *compute*, whose argument sends lines ahead of the reply to clients that accept
        lines of JSON. *slow*: it waits in the slow queue. *queued*: whether it waits in a queue at all."""
        return LocalTask(self, compute, slow, queued)


class LocalTask:
    """A task that a thread of this process computes."""

    def __init__(self, admission: Admission, compute: Callable[[SendLine], Reply], slow: bool, queued: bool) -> None:
        self.admission = admission
        self.compute = compute
        self.slow = slow
        self.queued = queued
        self.work: Work = admission.queues.new_work()

    def start(self, send_line: SendLine) -> "Future[Reply]":
        return self.admission.threads.submit(self.run, send_line)

    def progress(self) -> dict[str, Any]:
        return self.admission.queues.progress(self.work)

    def stop(self) -> None:
        self.admission.queues.stop(self.work)

    def run(self, send_line: SendLine) -> Reply:
        try:
            if not self.queued:
                return self.compute(send_line)
            with self.admission.queues.turn(self.work, slow=self.slow):
                return self.compute(send_line)
        except ExplorerError as error:
            return error_reply(error)
        except Stopped as stopped:
            return problem(499, "Stopped", str(stopped))
        except BaseException:  # a panic of a library in Rust is no Exception; nothing else ends a thread
            return problem(500, "Internal error", unforeseen(log, "a request failed"))


def task_response(request: Request, task: Computation) -> "TaskResponse":
    """The response to *request* whose reply *task* computes."""
    return TaskResponse(task, LINES in request.headers.get("accept", ""))


class TaskResponse(Response):
    """Starts the task and sends its reply. If the client disconnects, the task stops before its next batch, or leaves
    the queue. *lines*: whether the client accepts lines of JSON."""

    def __init__(self, task: Computation, lines: bool) -> None:
        self.task, self.lines = task, lines
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop, sent_lines = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any]]()

        def send_line(line: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(sent_lines.put_nowait, line)

        result = asyncio.wrap_future(self.task.start(send_line))
        disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
        events: set[asyncio.Future[Any]] = {result, disconnect}
        started, wait = False, FIRST_REPORT_S
        while not result.done() and not disconnect.done():
            await asyncio.wait(events, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if result.done() or not self.lines:
                continue
            lines = [sent_lines.get_nowait() for _ in range(sent_lines.qsize())] or [self.task.progress()]
            if lines[-1]:
                if not started:
                    await send(response_start(200, LINES, {}))
                started, wait = True, REPORT_INTERVAL_S
                await send({"type": "http.response.body", "body": json_line(lines[-1]), "more_body": True})
        if not result.done():
            self.task.stop()
            return
        disconnect.cancel()
        reply = result.result()
        if self.lines and (started or reply.status >= 400):  # browsers log an error status as a fault of the page
            if not started:
                await send(response_start(200, LINES, {}))
            last_line = {"status": reply.status, "answer": as_json(reply)}
            await send({"type": "http.response.body", "body": json_line(last_line)})
            return
        headers = {"content-length": str(len(reply.body)), **reply.headers}
        await send(response_start(reply.status, reply.media, headers))
        await send({"type": "http.response.body", "body": reply.body})


async def computed(task: Computation, receive: Receive | None) -> Reply:
    """The reply of *task*, for a caller that goes on with it. If the client behind *receive* disconnects, or the caller
    is cancelled, the task stops."""
    result = asyncio.wrap_future(task.start(lambda line: None))
    disconnect = asyncio.ensure_future(wait_for_disconnect(receive)) if receive else asyncio.Future[None]()
    events: set[asyncio.Future[Any]] = {result, disconnect}
    try:
        await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
        return result.result() if result.done() else problem(499, "Stopped", "The client disconnected.")
    finally:
        disconnect.cancel()
        if not result.done():
            task.stop()


def as_json(reply: Reply) -> Any:
    """The body of *reply* as a value in JSON: a file becomes an object with its content and its name."""
    if reply.media in (JSON, PROBLEM):
        return orjson.Fragment(reply.body)
    return {"content": reply.body.decode(), "name": reply.headers.get("x-file-name")}


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def response_start(status: int, media: str, headers: dict[str, str]) -> dict[str, Any]:
    headers = {"content-type": media, "cache-control": "no-store", **headers}
    raw = [(key.encode(), value.encode()) for key, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": raw}


def json_line(value: Any) -> bytes:
    return orjson.dumps(value) + b"\n"


def parse_json(body: bytes) -> Any:
    """Parse the body of a request; None if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
