"""Who waits for an answer is told the place in line, and nobody else's."""

import threading
from collections.abc import Callable
from typing import Any

from tests.model.test_cores import started, until
from tests.server.conftest import SEAL, settle


def test_the_place_of_who_asks(alone: Callable[..., Any]) -> None:
    made, hold = alone(), threading.Event()
    lane = made.lanes.slow
    ann, ben = "a" * 32, "b" * 32

    def visit(who: str) -> None:
        with lane.place(who):
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
