"""Stream limit: bounds the streams that one browser, and all browsers, keep open: the logs of runs that they follow."""

from collections import Counter

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import reply

MAX_OWN, MAX_ALL = 16, 1000
RETRY_S = 5


class StreamLimit:
    """Rejects further streams."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.open: Counter[str] = Counter()  # owner -> open streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["state"]["route"] != "events":
            await self.app(scope, receive, send)
            return
        owner = scope["state"]["owner"]
        if self.open[owner] >= MAX_OWN or self.open.total() >= MAX_ALL:
            count = f"this browser has {self.open[owner]} open streams, all have {self.open.total()}"
            await reply(send, 503, f"Busy: {count}. Close some tabs.", [("retry-after", str(RETRY_S))])
            return
        self.open[owner] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.open[owner] -= 1
            if not self.open[owner]:
                del self.open[owner]
