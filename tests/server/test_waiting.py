"""Waiting clients get their queue position and progress; work ends when they disconnect."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bertexplorer.api import admission
from bertexplorer.api.admission import Admission, Reply, SendLine, json_reply
from bertexplorer.engine import progress
from bertexplorer.engine.progress import Work
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.errors import ExplorerError
from tests.server.conftest import settle
from tests.server.talk import LINES, read_lines

PLAIN = {"accept": "application/json"}


class Service:
    """Admission control around work that a test controls."""

    def __init__(self) -> None:
        self.queues, self.compute = RequestQueues(cores=1, quick_waiting=2, together=1), self.soon
        self.admission = Admission(self.queues)
        self.go = threading.Semaphore(0)

        async def route(request: Request) -> Response:
            return self.admission.respond(request, self.compute)

        self.app = Starlette(routes=[Route("/", route, methods=["POST"])])

    def soon(self, send_line: SendLine) -> Reply:
        return json_reply({"answer": 1})

    def held(self, send_line: SendLine) -> Reply:
        self.go.acquire(timeout=20)
        return json_reply({"answer": 2})

    def browser(self) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=30)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(admission, "FIRST_REPORT_S", 0.01)
    monkeypatch.setattr(admission, "REPORT_INTERVAL_S", 0.01)
    instance = Service()
    yield instance
    instance.go.release(100)
    instance.admission.threads.shutdown()


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(2000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it has not come to that")


def test_waiting_clients_receive_their_queue_position_and_then_the_answer(service: Service) -> None:
    """Each of three clients receives only its own queue position; the fourth is rejected with a waiting time."""
    service.compute, queue = service.held, service.queues.quick

    async def go() -> None:
        async with service.browser() as browser:
            tasks = []
            for number in range(3):
                tasks.append(asyncio.create_task(browser.post("/", headers=LINES)))
                await until(lambda number=number: len(queue.active) + queue.waiting == number + 1)
            refused = await browser.post("/", headers=PLAIN)
            (in_line,) = read_lines(await browser.post("/", headers=LINES))
            await asyncio.sleep(0.1)
            service.go.release(3)
            first, second, third = await asyncio.gather(*tasks)
        assert refused.status_code == 503 and refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["detail"].startswith("Busy: 2 others are already waiting. Your text is kept")
        assert in_line["status"] == 503 and in_line["answer"]["retry_after"] >= 1
        assert int(refused.headers["retry-after"]) == refused.json()["retry_after"] >= 1
        assert first.headers["content-type"] == "application/json" and first.json() == {"answer": 2}, "nothing to tell"
        for answer, position in ((second, 1), (third, 2)):
            *lines, last = read_lines(answer)
            assert answer.headers["content-type"] == "application/x-ndjson"
            assert last == {"status": 200, "answer": {"answer": 2}}
            assert lines[0]["place"] == position and all(line["seconds"] >= 1 for line in lines)

    settle(go())


def test_long_work_reports_its_progress(service: Service) -> None:
    """Clients that accept lines receive the progress; others get only the answer."""

    def long(send_line: SendLine) -> Reply:
        for done in (0, 40_000, 80_000, 100_000):
            progress.report(done, 100_000)
            service.go.acquire(timeout=20)
        return json_reply("done")

    service.compute = long

    async def ask(headers: dict[str, str]) -> httpx.Response:
        async with service.browser() as browser:
            request = asyncio.create_task(browser.post("/", headers=headers))
            for _ in range(4):
                await asyncio.sleep(0.1)
                service.go.release()
            return await request

    *lines, last = read_lines(settle(ask(LINES)))
    shares = [line["done"] for line in lines]
    assert {0.4, 0.8} <= set(shares) and shares == sorted(shares) and all(line["seconds"] >= 1 for line in lines)
    assert last == {"status": 200, "answer": "done"}
    assert settle(ask(PLAIN)).json() == "done"


def test_lines_of_the_work_are_sent(service: Service) -> None:
    def telling(send_line: SendLine) -> Reply:
        for n in range(3):
            send_line({"notice": n})
            service.go.acquire(timeout=0.1)
        return json_reply(3)

    service.compute = telling

    async def go() -> None:
        async with service.browser() as browser:
            *lines, last = read_lines(await browser.post("/", headers=LINES))
            assert lines[0] == {"notice": 0} and lines[-1] == {"notice": 2} and last["answer"] == 3

    settle(go())


def failing(error: Exception) -> Callable[[SendLine], Reply]:
    def compute(send_line: SendLine) -> Reply:
        raise error

    return compute


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (ExplorerError("No mask.", code="mask"), 422, "No mask."),
        (progress.Stopped(), 499, "Stopped before it was done"),
        (ZeroDivisionError("secret"), 500, "in the log"),
    ],
)
def test_an_error_is_reported_and_releases_its_place(
    service: Service, error: Exception, status: int, sentence: str
) -> None:
    async def go() -> None:
        async with service.browser() as browser:
            service.compute = failing(error)
            answer = await browser.post("/", headers=PLAIN)
            problem = answer.json()
            assert answer.status_code == problem["status"] == status and sentence in problem["detail"]
            # a page reads the error without one on its console
            (line,) = read_lines(await browser.post("/", headers=LINES))
            assert line["status"] == status and sentence in line["answer"]["detail"]
            assert "secret" not in answer.text and problem.get("missing") == getattr(error, "missing", None)
            service.compute = service.soon
            assert (await browser.post("/", headers=PLAIN)).json() == {"answer": 1}

    settle(go())


def test_an_error_after_lines_is_in_the_last_line(service: Service) -> None:
    def late(send_line: SendLine) -> Reply:
        send_line({"notice": "first"})
        service.go.acquire(timeout=0.2)
        raise ExplorerError("Too much.")

    service.compute = late

    async def go() -> None:
        async with service.browser() as browser:
            *_, last = read_lines(await browser.post("/", headers=LINES))
            assert last["status"] == 422 and last["answer"]["detail"] == "Too much."

    settle(go())


def test_a_client_that_disconnects_stops_its_work_and_releases_its_place(service: Service) -> None:
    """One computes and one waits; both clients close their connections."""
    works: list[Work] = []
    ended = []

    def compute(send_line: SendLine) -> Reply:
        works.append(progress.current.get() or Work())
        progress.report(0, 10)
        service.go.acquire(timeout=20)
        try:
            progress.report(5, 10)
        except progress.Stopped:
            ended.append("after its batch")
            raise
        return json_reply(1)

    service.compute, queue = compute, service.queues.quick

    async def go() -> None:
        leave = asyncio.Event()
        given = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            if given:
                return given.pop()
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message["type"])

        sent: list[str] = []
        scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b"", "root_path": ""}
        tasks = []
        for number in range(2):
            tasks.append(asyncio.create_task(service.app(dict(scope), receive, send)))
            await until(lambda number=number: len(queue.active) + queue.waiting == number + 1)
        await until(lambda: len(works) == 1)
        leave.set()
        await asyncio.wait_for(asyncio.gather(*tasks), 5)
        assert queue.waiting == 0 and works[0].stopped and not sent
        service.go.release()
        await until(lambda: not queue.active)

    settle(go())
    assert ended == ["after its batch"] and len(works) == 1, "the one in line never began"
