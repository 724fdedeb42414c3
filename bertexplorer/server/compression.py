"""Compression: compresses pages, and caches compressed files that are the same for everyone."""

from dataclasses import dataclass

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.server.asgi import header

UNCACHED_HEADERS = (b"content-length", b"cache-control", b"set-cookie")
IMMUTABLE = b"private, max-age=31536000, immutable"  # private, as the layers above may add a browser's cookie
ONE_DAY = b"private, max-age=86400"
CACHE_BYTES = 64_000_000  # of assets; a page needs 2 million


class PageCompression:
    """Compresses pages, and gradio's configuration.

    Scripts are compressed where they are served. Streams are not compressed, as compression would delay them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.compressed = GZipMiddleware(app, minimum_size=1000, compresslevel=5)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["state"]["route"] in ("page", "config"):
            await self.compressed(scope, receive, send)
        else:
            await self.app(scope, receive, send)


@dataclass(frozen=True)
class Asset:
    """A complete response with status 200."""

    headers: list[tuple[bytes, bytes]]
    body: bytes

    async def send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


class AssetCache:
    """Compresses scripts, styles and fonts once, and lets browsers cache them.

    A page needs about 25 of these files; compressed again for every browser, they would keep the server busy. One file
    can have many names (/assets/./index.js), so the cache is limited."""

    def __init__(self, app: ASGIApp, free_bytes: int = CACHE_BYTES) -> None:
        self.app = app
        self.free_bytes = free_bytes
        self.cache: dict[tuple[str, str], Asset] = {}  # by path and encoding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_asset = scope["type"] == "http" and scope["state"]["route"] == "asset"
        if not is_asset or scope["method"] != "GET" or header(scope, "if-none-match"):
            await self.app(scope, receive, send)
            return
        encoding = choose_encoding(header(scope, "accept-encoding"), scope["path"])
        key = (scope["path"], encoding)
        asset = self.cache.get(key) or await self.fetch(scope, key, receive, send)
        if asset:
            await asset.send(send)

    async def fetch(self, scope: Scope, key: tuple[str, str], receive: Receive, send: Send) -> Asset | None:
        """The response of the app, which is cached if it fits. If its status is not 200, send it unchanged and return
        None."""
        _, encoding = key
        others = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        scope = {**scope, "headers": [*others, (b"accept-encoding", encoding.encode())]}
        asset = await read_response(self.app, scope, receive, send)
        if asset and key not in self.cache and len(asset.body) <= self.free_bytes:
            self.free_bytes -= len(asset.body)
            self.cache[key] = asset
        return asset


def choose_encoding(accepted: str, path: str = "") -> str:
    """The encoding of the response, one of those that the browser accepts. Our own scripts exist only in gzip."""
    offered = ("gzip",) if path.startswith("/scripts/") else ("br", "gzip")
    return next((encoding for encoding in offered if encoding in accepted), "identity")


async def read_response(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> Asset | None:
    """The response of *app* if its status is 200 and it is complete. Anything else is sent unchanged."""
    headers: list[tuple[bytes, bytes]] = []
    parts: list[bytes] = []
    status = 0
    more = True

    async def collect(message: Message) -> None:
        nonlocal status, more
        if message["type"] == "http.response.start":
            status = message["status"]
            headers.extend((key.lower(), value) for key, value in message.get("headers", []))
        else:
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        if status != 200:
            await send(message)

    await app(scope, receive, collect)
    if status != 200 or more:
        return None
    body = b"".join(parts)
    headers = [(name, value) for name, value in headers if name not in UNCACHED_HEADERS]
    headers.append((b"content-length", str(len(body)).encode()))
    is_versioned = scope["path"].startswith(("/assets/", "/scripts/"))  # names change with the content
    headers.append((b"cache-control", IMMUTABLE if is_versioned else ONE_DAY))
    return Asset(headers, body)
