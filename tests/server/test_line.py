"""Who waits for an answer is told the place in line, and nobody else's."""

import json
import threading
from collections.abc import Callable
from typing import Any

from bertexplorer.engine.lanes import Ticket
from bertexplorer.engine.progress import Stopped
from tests.engine.test_lanes import place
from tests.model.test_cores import started, until
from tests.server.conftest import SEAL, settle


def test_the_place_of_who_asks(alone: Callable[..., Any]) -> None:
    made, hold = alone(), threading.Event()
    lane = made.lanes.slow
    ann, ben = "a" * 32, "b" * 32

    def visit(who: str) -> None:
        with place(lane, who):
            hold.wait(20)

    def told(who: str) -> Any:
        async def go() -> Any:
            async with made.browser(cookies={SEAL.name: f"{who}.{SEAL.mark('owner', who)}"}) as browser:
                return (await browser.get("/line")).json()

        return settle(go())

    threads = started(*[lambda: visit("c" * 32)] * lane.at_once)
    until(lambda: len(lane.inside) == lane.at_once)
    threads += started(lambda: visit(ann))
    until(lambda: lane.waiting == 1)
    assert told(ann)["place"] == 1 and told(ann)["seconds"] >= 1
    assert told(ben) == told("c" * 32) == {}
    hold.set()
    for thread in threads:
        thread.join()
    assert told(ann) == {}


def test_beyond_those_who_may_wait_one_is_told_when_to_come_again(alone: Callable[..., Any]) -> None:
    made = alone(waiting=3)

    async def join(page: str) -> Any:
        async with made.browser() as browser:
            return await browser.post("/gradio_api/queue/join", json={"data": [], "session_hash": page})

    made.going = 2
    assert settle(join("a")).status_code == 200
    made.going, made.lanes.quick.mean_s = 3, 1.0
    told = settle(join("b"))
    assert told.status_code == 503 and int(told.headers["retry-after"]) >= 1
    assert told.json()["detail"].startswith("Busy: 3 others wait already.") and made.lanes.quick.refused == 1
    made.lanes.quick.line.append(Ticket("", "c"))
    assert settle(join("c")).status_code == 200, "it has a place in line"
    made.lanes.slow.line.append(Ticket("", "d"))
    assert settle(join("b")).status_code == 200, "one of the three is slow"


def test_a_stream_in_which_nothing_would_come_is_closed(alone: Callable[..., Any]) -> None:
    made = alone()
    made.read.add("a")

    async def streams() -> list[Any]:
        async with made.browser() as browser:
            return [await browser.get("/gradio_api/queue/data", params={"session_hash": page}) for page in "ab"]

    closed, passed = settle(streams())
    assert closed.headers["content-type"] == "text/event-stream"
    assert json.loads(closed.text.removeprefix("data: "))["msg"] == "close_stream" and closed.text.endswith("\n\n")
    assert passed.json()["route"] == "stream"


def test_how_far_long_work_has_come_and_its_end(alone: Callable[..., Any]) -> None:
    """Told to the page that asked, and to no other browser; a POST ends the work before its next batch."""
    made, go, ended = alone(), threading.Semaphore(0), []
    ann, ben = "a" * 32, "b" * 32

    def compute() -> None:
        try:
            with made.lanes.work(ann, "page", slow=True) as work:
                for done in (0, 40_000, 80_000, 100_000):
                    work.report(done, 100_000)
                    go.acquire(timeout=20)
        except Stopped:
            ended.append("stopped")

    def ask(who: str, method: str = "GET") -> Any:
        async def visit() -> Any:
            async with made.browser(cookies={SEAL.name: f"{who}.{SEAL.mark('owner', who)}"}) as browser:
                return await browser.request(method, "/line?session_hash=page")

        return settle(visit())

    (thread,) = started(compute)
    until(lambda: made.lanes.works.get("page"))
    assert ask(ann).json() == {}, "nothing is known before the first batch"
    go.release()
    until(lambda: made.lanes.works["page"].done == 40_000)
    assert ask(ann).json()["done"] == 0.4 and ask(ann).json()["seconds"] >= 1
    assert ask(ben).status_code == ask(ben, "POST").status_code == 403
    assert ask(ann, "POST").status_code == 200
    go.release(5)
    thread.join()
    assert ended == ["stopped"] and ask(ann).json() == {}
