"""Request log: gives each request an id, counts, times and logs it, and reports a failure with its id."""

import hashlib
import logging
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.server.asgi import reply
from bertexplorer.server.metrics import Metrics

QUIET = ("asset", "health", "line")  # routes that are logged only on errors
REJECTED = (400, 403, 408, 413, 429, 503, 507)  # statuses of requests that a rule or a limit has refused
log = logging.getLogger("bertexplorer.server.watch")  # a name that log configurations may use


class RequestLog:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        id = secrets.token_hex(4)
        started_at = time.perf_counter()
        status = 0
        open_routes: list[str] = []

        async def send_and_count(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                open_routes.append(state.get("route", "none"))
                self.metrics.open.labels(open_routes[0]).inc()
            await send(message)

        try:
            await self.app(scope, receive, send_and_count)
        except Exception:
            log.exception("a request failed", extra={"id": id, "route": state.get("route", "none")})
            if not status:
                detail = f"Internal error (number {id} in the log). Reload the page."
                await reply(send_and_count, 500, detail)
        finally:
            for route in open_routes:
                self.metrics.open.labels(route).dec()
            self.record(scope, id, status, time.perf_counter() - started_at)

    def record(self, scope: Scope, id: str, status: int, seconds: float) -> None:
        """Count and log a finished request, without its address, text or cookie."""
        route = scope["state"].get("route", "none")
        self.metrics.requests.labels(route, str(status or "left")).inc()
        if route != "events":
            self.metrics.seconds.labels(route).observe(seconds)
        if route in QUIET and status not in (403, 500):
            return
        level = logging.INFO
        if status == 500:
            level = logging.ERROR
        elif status in REJECTED:
            level = logging.WARNING
        owner_hash = hashlib.sha256(scope["state"].get("owner", "").encode()).hexdigest()[:8]
        fields = {
            "id": id,
            "route": route,
            "method": scope["method"],
            "status": status,
            "ms": round(1000 * seconds, 1),
            "who": owner_hash,
        }
        log.log(level, "request", extra=fields)
