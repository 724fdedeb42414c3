"""Stream limit: bounds the streams that one browser, one network address and all keep open: the logs of runs that they
follow, and the answers of endpoints. A program makes up any number of browsers, but has few addresses, so others still
get their streams."""

from collections import Counter

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import reply

MAX_OWN, MAX_ALL = 16, 1000  # of a browser, of all
MAX_NETWORK = 100  # of an address, which a class may share
RETRY_S = 5


class StreamLimit:
    """Rejects further streams."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.open: Counter[str] = Counter()  # owner -> open streams
        self.of_network: Counter[str] = Counter()  # network -> open streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["state"]["route"] not in ("events", "answers"):
            await self.app(scope, receive, send)
            return
        owner = scope["state"]["owner"]
        network = scope["state"].get("network", "")
        own = self.open[owner]
        near = self.of_network[network]
        total = self.open.total()
        if own >= MAX_OWN or near >= MAX_NETWORK or total >= MAX_ALL:
            count = f"this browser has {own} open streams, its network {near}, all have {total}"
            await reply(send, 503, f"Busy: {count}. Close some tabs.", [("retry-after", str(RETRY_S))])
            return
        self.open[owner] += 1
        self.of_network[network] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            for counter, key in ((self.open, owner), (self.of_network, network)):
                counter[key] -= 1
                if not counter[key]:
                    del counter[key]
