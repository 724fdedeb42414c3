"""Health: /healthz, /readyz and /metrics, for operators."""

import asyncio
import ipaddress
import os
import tempfile
import threading
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import header, reply
from bertexplorer.server.metrics import Metrics
from bertexplorer.settings import Settings

PROBE = b"x" * 65_536


class Readiness:
    """Whether the opening checkpoint has answered once, and its error if it cannot."""

    def __init__(self) -> None:
        self.loaded = threading.Event()
        self.error = ""
        self.ending = False

    def problem(self, folder: Path) -> str:
        """Why the server is not ready, "" if it is."""
        if self.ending:
            return "The server is stopping."
        if self.error:
            return f"The checkpoint that the page opens with cannot be used. {self.error}"
        if not self.loaded.is_set():
            return "The checkpoint that the page opens with is being loaded."
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(PROBE)  # a full disk still has room for an empty file
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            return f"The data folder cannot be written: {error.strerror}."
        return ""


class Health:
    """Answers these three paths, only for this machine unless Settings.metrics is public. While the server stops, it
    refuses uploads."""

    def __init__(self, app: ASGIApp, settings: Settings, ready: Readiness, metrics: Metrics) -> None:
        self.app = app
        self.settings = settings
        self.ready = ready
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else "none"
        if route == "upload" and self.ready.ending:
            detail = "The server is stopping; runs continue. Try again in a minute."
            await reply(send, 503, detail, [("retry-after", "60")])
        elif route != "health":
            await self.app(scope, receive, send)
        elif self.settings.metrics != "public" and not is_local(scope):
            await reply(send, 403, "Only this machine may read this. BERTEXPLORER_METRICS=public opens it to others.")
        elif scope["path"] == "/metrics":
            await reply(send, 200, self.metrics.text(), media="text/plain; version=0.0.4; charset=utf-8")
        elif scope["path"] == "/readyz":
            problem = await asyncio.to_thread(self.ready.problem, self.settings.data_dir)
            await reply(send, 503 if problem else 200, problem or "ready")
        else:
            await reply(send, 200, "ok")


def is_local(scope: Scope) -> bool:
    """Whether the request comes from this machine itself, not through a proxy on it."""
    client = scope.get("client")
    if header(scope, "x-forwarded-for") or header(scope, "forwarded"):
        return False
    try:
        return client is None or ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False
