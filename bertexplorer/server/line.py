"""Line: who waits for an answer is told where they stand; beyond those who may wait, one is told to come again; who
waits for nothing is not kept waiting."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.engine.lanes import Lanes
from bertexplorer.server.reply import reply

JSON = "application/json"
CLOSED = 'data: {"msg": "close_stream", "event_id": null}\n\n'  # with this gradio ends a stream of answers


@dataclass(frozen=True)
class Events:
    """What gradio has taken and not answered yet.

    *going*: how many; *awaited*: whether a page has any of them, or answers that it has not read."""

    going: Callable[[], int] = lambda: 0
    awaited: Callable[[str], bool] = lambda page: True


class Line:
    """/line gives {"place": 3, "seconds": 5}; {} for who does not wait. The page asks once an answer takes a while, and
    asks again by itself for what was refused (see assets/answers.js). A stream that a page opens after it has read all
    its answers ends at once: gradio would keep it open, and a browser has six connections for all its tabs.

    *most*: how many quick events may be going."""

    def __init__(self, app: ASGIApp, lanes: Lanes, events: Events, most: int) -> None:
        self.app, self.lanes, self.events, self.most = app, lanes, events, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else ""
        if route == "line":
            await reply(send, 200, json.dumps(self.lanes.standing(scope["state"]["owner"])), kind=JSON)
        elif route == "join" and self.full(scope["state"]["page"]):
            quick = self.lanes.quick
            quick.refused += 1
            again = [("retry-after", str(quick.seconds(self.most)))]
            await reply(send, 503, json.dumps({"detail": quick.busy(self.most)}), again, JSON)
        elif route == "stream" and not self.events.awaited(scope["state"]["page"]):
            await reply(send, 200, CLOSED, kind="text/event-stream")
        else:
            await self.app(scope, receive, send)

    def full(self, page: str) -> bool:
        """Whether an event of *page* is one too many. A page that waits already keeps its place."""
        slow = len(self.lanes.slow.inside) + self.lanes.slow.waiting
        return self.events.going() - slow >= self.most and not self.lanes.quick.holds(page)
