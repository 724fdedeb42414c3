"""Compression: pages are compressed, and files that are the same for everyone are compressed once and kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.server.asgi import header

OWN = (b"content-length", b"cache-control", b"set-cookie")  # headers of an answer that are not cached with it
FOR_GOOD = b"private, max-age=31536000, immutable"  # private, as the layers above may add a browser's cookie
FOR_A_DAY = b"private, max-age=86400"
ROOM = 64_000_000  # bytes of cached assets; a page needs 2 million


class Compressed:
    """Compresses the page and its configuration.

    Gradio compresses its scripts itself. A stream is left alone: it must not wait until there is enough to
    compress."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.packing = app, GZipMiddleware(app, minimum_size=1000, compresslevel=5)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        packed = scope["type"] == "http" and scope["state"]["route"] in ("page", "config")
        await (self.packing if packed else self.app)(scope, receive, send)


@dataclass(frozen=True)
class Asset:
    """A complete answer with status 200, as it is sent."""

    headers: list[tuple[bytes, bytes]]
    body: bytes

    async def send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


class Assets:
    """Compresses scripts, styles and fonts once, and lets browsers cache them.

    A page needs some 70 of these files, one of them of 5 MB. Gradio compresses each again for every browser, which
    blocks the server for 0.3 s. One file may have many names (/assets/./index.js), so the cache is limited to *room*
    bytes."""

    def __init__(
        self, app: ASGIApp, room: int = ROOM, changed: Mapping[str, tuple[bytes, bytes]] | None = None
    ) -> None:
        """*changed*: start of a path -> (bytes in the file, their replacement)."""
        self.app, self.room, self.changed = app, room, changed or {}
        self.kept: dict[tuple[str, str], Asset] = {}  # by path and encoding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asset = scope["type"] == "http" and scope["state"]["route"] == "asset"
        if not asset or scope["method"] != "GET" or header(scope, "if-none-match"):
            await self.app(scope, receive, send)
            return
        key = scope["path"], best(header(scope, "accept-encoding"), scope["path"])
        if asset := self.kept.get(key) or await self.ask(scope, key, receive, send):
            await asset.send(send)

    async def ask(self, scope: Scope, key: tuple[str, str], receive: Receive, send: Send) -> Asset | None:
        """Gradio's answer, cached while there is room. None if its status is not 200; it is then sent unchanged."""
        change = next((change for path, change in self.changed.items() if key[0].startswith(path)), None)
        encoding = "identity" if change else key[1]
        others = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        asked = {**scope, "headers": [*others, (b"accept-encoding", encoding.encode())]}
        made = await whole(self.app, asked, receive, send)
        if made and change:
            made = replaced(made, *change)
        if made and key not in self.kept and len(made.body) <= self.room:
            self.room -= len(made.body)
            self.kept[key] = made
        return made


def replaced(asset: Asset, old: bytes, new: bytes) -> Asset:
    """The asset with *new* in place of *old*, not compressed."""
    body = asset.body.replace(old, new)
    headers = [pair for pair in asset.headers if pair[0] != b"content-length"]
    return Asset([*headers, (b"content-length", str(len(body)).encode())], body)


def best(accepted: str, path: str = "") -> str:
    """The encoding of the answer, chosen from those that the browser accepts. For gradio's files the choice is
    gradio's; ours use gzip."""
    offered = ("gzip",) if path.startswith("/scripts/") else ("br", "gzip")
    return next((one for one in offered if one in accepted), "identity")


async def whole(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> Asset | None:
    """*app*'s answer if its status is 200 and it is complete; anything else is sent unchanged."""
    heads: list[tuple[bytes, bytes]] = []
    parts: list[bytes] = []
    status, more = 0, True

    async def hold(message: Message) -> None:
        nonlocal status, more
        if message["type"] == "http.response.start":
            status = message["status"]
            heads.extend((key.lower(), value) for key, value in message.get("headers", []))
        else:
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        if status != 200:
            await send(message)

    await app(scope, receive, hold)
    if status != 200 or more:
        return None
    body = b"".join(parts)
    written = [pair for pair in heads if pair[0] not in OWN]
    hashed = scope["path"].startswith(("/assets/", "/scripts/"))  # their names change with their content
    stays = FOR_GOOD if hashed else FOR_A_DAY
    return Asset([*written, (b"content-length", str(len(body)).encode()), (b"cache-control", stays)], body)
