"""Line: /line says to whoever waits for an answer where they stand, while all who compute are busy."""

import json

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.engine.lanes import Lanes
from bertexplorer.server.reply import reply


class Line:
    """{"place": 3, "seconds": 5} as JSON; {} for who does not wait. The page asks once an answer takes a while."""

    def __init__(self, app: ASGIApp, lanes: Lanes) -> None:
        self.app, self.lanes = app, lanes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["state"]["route"] != "line":
            await self.app(scope, receive, send)
            return
        await reply(send, 200, json.dumps(self.lanes.standing(scope["state"]["owner"])), kind="application/json")
