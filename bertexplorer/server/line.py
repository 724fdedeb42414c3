"""Line: who waits for an answer is told where they stand; beyond those who may wait, one is told to come again; who
waits for nothing is not kept waiting."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.engine.lanes import Lanes
from bertexplorer.server.reply import reply

JSON = "application/json"
CLOSED = 'data: {"msg": "close_stream", "event_id": null}\n\n'  # with this gradio ends a stream of answers


@dataclass(frozen=True)
class Events:
    """What gradio has taken and not answered yet.

    *going*: how many; *awaited*: whether a page has any of them, or answers that it has not read; *inputs*: how many
    values the event of a number takes, None where there is no such event."""

    going: Callable[[], int] = lambda: 0
    awaited: Callable[[str], bool] = lambda page: True
    inputs: Callable[[int], int | None] = lambda number: None

    def fault(self, asked: Any) -> str:
        """What is wrong with the JSON that asks for an event, in a sentence; "" for nothing. Gradio would fail
        at it, and write what people typed to stderr."""
        if not isinstance(asked, dict):
            return "The request is no event. Reload the page."
        number, values = asked.get("fn_index"), asked.get("data")
        wanted = self.inputs(number) if type(number) is int else None
        if wanted is None:
            return f"There is no event of the number {number!r:.20} here. Reload the page."
        if not isinstance(values, list) or len(values) != wanted:
            found = f"{len(values):,} values" if isinstance(values, list) else "no list of values"
            return f"The event came with {found}; wanted {wanted}. Reload the page."
        return ""


class Line:
    """/line gives {"place": 3, "seconds": 5} to who waits, {"done": 0.4, "seconds": 9} where the long work of the page
    is under way, and else {}; a POST ends that work. The page asks once an answer takes a while, and
    asks again by itself for what was refused (see assets/answers.js). A stream that a page opens after it has read all
    its answers ends at once: gradio would keep it open, and a browser has six connections for all its tabs.

    *most*: how many quick events may be going."""

    def __init__(self, app: ASGIApp, lanes: Lanes, events: Events, most: int) -> None:
        self.app, self.lanes, self.events, self.most = app, lanes, events, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else ""
        if route == "line":
            page = scope["state"]["page"]
            if scope["method"] == "POST":
                self.lanes.stop(page)
            told = self.lanes.standing(scope["state"]["owner"]) or self.lanes.progress(page)
            await reply(send, 200, json.dumps(told), kind=JSON)
        elif route == "join" and self.full(scope["state"]["page"]):
            quick = self.lanes.quick
            quick.refused += 1
            again = [("retry-after", str(quick.seconds(self.most)))]
            await reply(send, 503, json.dumps({"detail": quick.busy(self.most)}), again, JSON)
        elif route == "stream" and not self.events.awaited(scope["state"]["page"]):
            await reply(send, 200, CLOSED, kind="text/event-stream")
        elif route == "stream":
            with self.lanes.presence.listening(scope["state"]["page"]):
                await self.app(scope, receive, send)
        else:
            if route == "join":
                self.lanes.presence.hear(scope["state"]["page"])
            await self.app(scope, receive, send)

    def full(self, page: str) -> bool:
        """Whether an event of *page* is one too many. A page that waits already keeps its place."""
        slow = len(self.lanes.slow.inside) + self.lanes.slow.waiting
        return self.events.going() - slow >= self.most and not self.lanes.quick.holds(page)
