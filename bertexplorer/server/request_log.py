"""The request log: each request gets an id and is counted, timed and logged; a failure is answered with its id."""

import hashlib
import logging
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.server.asgi import reply
from bertexplorer.server.metrics import Metrics

QUIET = ("asset", "health", "line")  # routes that are logged only when something is wrong
log = logging.getLogger("bertexplorer.server.watch")  # the name that readers of the log know


class RequestLog:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state, id, begun, status = scope.setdefault("state", {}), secrets.token_hex(4), time.perf_counter(), 0
        opened: list[str] = []

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                opened.append(state.get("route", "none"))
                self.metrics.open.labels(opened[0]).inc()
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception:
            log.exception("a request failed", extra={"id": id, "route": state.get("route", "none")})
            if not status:
                detail = f"Something went wrong that should not have (error {id} in the log). Reload the page."
                await reply(noting, 500, detail)
        finally:
            for route in opened:
                self.metrics.open.labels(route).dec()
            self.note(scope, id, status, time.perf_counter() - begun)

    def note(self, scope: Scope, id: str, status: int, seconds: float) -> None:
        """Count and log a finished request, without address, text or cookie."""
        route = scope["state"].get("route", "none")
        self.metrics.requests.labels(route, str(status or "left")).inc()
        if route not in ("stream", "events"):
            self.metrics.seconds.labels(route).observe(seconds)
        refused, failed = status in (400, 403, 408, 413, 429, 503, 507), status == 500
        if (route in QUIET and not failed and status != 403) or (route == "join" and status == 503):
            return
        who = hashlib.sha256(scope["state"].get("owner", "").encode()).hexdigest()[:8]
        record = {"id": id, "route": route, "method": scope["method"], "status": status, "ms": round(1000 * seconds, 1)}
        level = logging.ERROR if failed else logging.WARNING if refused else logging.INFO
        log.log(level, "request", extra={**record, "who": who})
