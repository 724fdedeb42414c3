"""Line: who waits for an answer is told where they stand; beyond those who may wait, one is told to come again."""

import json
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.engine.lanes import Lanes
from bertexplorer.server.reply import reply

JSON = "application/json"


class Line:
    """/line gives {"place": 3, "seconds": 5}; {} for who does not wait. The page asks once an answer takes a while, and
    asks again by itself for what was refused (see assets/page.js).

    *going*: how many events were taken and not answered yet, slow ones too; *most*: of the quick ones."""

    def __init__(self, app: ASGIApp, lanes: Lanes, going: Callable[[], int], most: int) -> None:
        self.app, self.lanes, self.going, self.most = app, lanes, going, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else ""
        if route == "line":
            await reply(send, 200, json.dumps(self.lanes.standing(scope["state"]["owner"])), kind=JSON)
        elif route == "join" and self.full(scope["state"]["page"]):
            quick = self.lanes.quick
            quick.refused += 1
            again = [("retry-after", str(quick.seconds(self.most)))]
            await reply(send, 503, json.dumps({"detail": quick.busy(self.most)}), again, JSON)
        else:
            await self.app(scope, receive, send)

    def full(self, page: str) -> bool:
        """Whether an event of *page* is one too many. A page that waits already keeps its place."""
        slow = len(self.lanes.slow.inside) + self.lanes.slow.waiting
        return self.going() - slow >= self.most and not self.lanes.quick.holds(page)
