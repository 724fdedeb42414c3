"""Request bodies: their size, the time they may take, and JSON without lone surrogates."""

import asyncio
import json
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from starlette.datastructures import QueryParams
from starlette.formparsers import MultiPartException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.errors import ExplorerError
from bertexplorer.server.asgi import header, replayed, reply
from bertexplorer.server.sessions import Sessions
from bertexplorer.settings import Settings
from bertexplorer.store.quota import Quota

FRAME = 65_536  # bytes that a form adds to its files
RESERVE = 1_000_000_000  # bytes of the disk that uploads leave free
DRAINED = 4  # read and drop up to this many times the limit, so that the browser gets to see the answer
LONGEST_HASH = 100  # characters; gradio's hashes have about a dozen
LEFT = (400, "The request broke off. Send it again.")
LONE = re.compile("[\ud800-\udfff]")
BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^";,\s]{1,70}))', re.IGNORECASE)


class Refused(MultiPartException):
    """A request that is not read to its end. Derives from an error that makes gradio delete a partial upload."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Body:
    """Enforces the limits of Settings, and keeps browsers from using each other's pages."""

    def __init__(self, app: ASGIApp, settings: Settings, sessions: Sessions, fault: Callable[[Any], str]) -> None:
        """*fault*: says what is wrong with the JSON of an event, "" if nothing is."""
        self.app, self.settings, self.sessions, self.fault = app, settings, sessions, fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            if scope["state"]["route"] == "upload":
                await self.upload(scope, receive, send)
                return
            limits = 1000 * self.settings.request_kb, self.settings.upload_s
            body = await whole(scope, receive, *limits) if scope["method"] == "POST" else b""
            if scope["state"]["route"] in ("join", "session", "api", "mcp") and body:
                body = clean(body)
            self.page(scope, body)
        except Refused as refused:
            await refuse(send, refused)
            return
        if scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        kept = [(key, value) for key, value in scope["headers"] if key not in (b"content-length", b"transfer-encoding")]
        scope = {**scope, "headers": [*kept, (b"content-length", str(len(body)).encode())]}
        await self.app(scope, replayed(body, receive), send)

    def page(self, scope: Scope, body: bytes) -> None:
        """Raises Refused if the request is about a page that another browser opened."""
        session, route = session_of(scope, body), scope["state"]["route"]
        if route in ("join", "stream") and not 0 < len(session) <= LONGEST_HASH:
            raise Refused(400, "The request does not say which page it is about. Reload the page.")
        scope["state"]["page"] = session
        if session and not self.sessions.admits(session, scope["state"]["owner"], scope["state"]["known"]):
            raise Refused(403, "This page was opened by another browser. Reload it.")
        if route == "join" and (fault := self.fault(json.loads(body))):
            raise Refused(400, fault)

    async def upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = largest(self.settings)
        kind = BOUNDARY.search(header(scope, "content-type"))
        if kind is None:
            raise Refused(400, "Files come as multipart/form-data. Upload them on the page.")
        coming, boundary = timely(receive, self.settings.upload_s), (kind[1] or kind[2]).encode("latin-1")
        counted = Counted(coming, limit, self.settings, boundary)
        started = False

        async def unless_refused(message: Message) -> None:
            nonlocal started
            if counted.refused is None or started:
                started = True
                await send(message)

        try:
            self.room(counted, scope["state"]["owner"])
            counted.promised(header(scope, "content-length"))
            await self.app(scope, counted.receive, unless_refused)
        except Exception:
            if counted.refused is None:
                raise
        if counted.refused and not started:
            await counted.drain()
            raise counted.refused

    def room(self, counted: "Counted", owner: str) -> None:
        """Reject an upload that does not fit on the disk or into its owner's quota."""
        held = shutil.disk_usage(existing(self.settings.data_dir)).free
        if held < RESERVE:
            free = f"{held / 1e9:.2f} GB are free on the server's disk"
            counted.stop(507, f"{free}; uploads leave 1 GB. Make room there.")
        try:
            Quota(self.settings).check(owner)
        except ExplorerError as full:
            counted.stop(507, str(full))


def largest(settings: Settings) -> int:
    """Bytes of an upload, including the form around its files."""
    return settings.upload_mb * 2**20 + FRAME


class Counted:
    """An upload in progress: its bytes and its parts."""

    def __init__(self, given: Receive, limit: int, settings: Settings, boundary: bytes) -> None:
        self.given, self.limit, self.settings = given, limit, settings
        self.mark = b"--" + boundary
        self.size, self.parts, self.tail = 0, -1, b""  # the last boundary closes the form
        self.over = False
        self.refused: Refused | None = None

    def promised(self, length: str) -> None:
        if length.isdecimal() and int(length) > self.limit:
            self.stop(413, f"The upload has {int(length) / 2**20:,.1f} MB; the limit is {self.settings.upload_mb} MB "
                           "for all files together. Upload part of it.")  # fmt: skip

    def stop(self, status: int, detail: str) -> NoReturn:
        self.refused = Refused(status, detail)
        raise self.refused

    async def receive(self) -> Message:
        try:
            message = await self.given()
        except Refused as slow:
            self.stop(slow.status, slow.detail)
        if message["type"] != "http.request":
            if not self.over:
                self.stop(*LEFT)
            return message
        chunk = message.get("body", b"")
        self.size += len(chunk)
        self.over = not message.get("more_body", False)
        seen = self.tail + chunk
        self.parts += seen.count(self.mark)
        self.tail = seen[-(len(self.mark) - 1) :]
        if self.size > self.limit:
            self.stop(413, f"The upload has more than {self.settings.upload_mb} MB, the limit for all files together. "
                           "Upload part of it.")  # fmt: skip
        if self.parts > self.settings.upload_files:
            self.stop(413, f"More than {self.settings.upload_files} files came at once. Upload fewer at a time.")
        return message

    async def drain(self) -> None:
        """Read and discard the rest, within the time limit."""
        with suppress(Refused):
            while not self.over and self.size < DRAINED * self.limit:
                message = await self.given()
                if message["type"] != "http.request":
                    return
                self.size += len(message.get("body", b""))
                self.over = not message.get("more_body", False)


def timely(receive: Receive, seconds: float) -> Receive:
    """*receive* with a deadline for the body. Raises Refused if it takes longer than *seconds* in total: a client that
    sends byte by byte could otherwise hold a connection, and a file, indefinitely."""
    ends, over = time.monotonic() + seconds, False

    async def waiting() -> Message:
        nonlocal over
        if over:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0.0, ends - time.monotonic()))
        except TimeoutError as error:
            detail = f"The request took longer than {seconds:g} seconds to arrive. Try again, or send less at a time."
            raise Refused(408, detail) from error
        over = not message.get("more_body", False)
        return message

    return waiting


async def refuse(send: Send, refused: Refused) -> None:
    """Send the refusal. The connection of a client that is too slow is closed, as the rest would keep coming."""
    more = [("connection", "close")] if refused.status == 408 else []
    await reply(send, refused.status, refused.detail, more)


async def whole(scope: Scope, receive: Receive, limit: int, seconds: float) -> bytes:
    """The whole body of a request that is not an upload. Raises Refused beyond *limit* bytes or *seconds*."""
    receive = timely(receive, seconds)
    detail = f"A request may have {limit / 1000:,.0f} kB. Shorten the text."
    length = header(scope, "content-length")
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(*LEFT)
        parts.append(message.get("body", b""))
        size, more = size + len(parts[-1]), message.get("more_body", False)
        if size > limit:
            parts = []
        if size > DRAINED * limit or (length.isdecimal() and int(length) > DRAINED * limit):
            break
    if size > limit or more:
        raise Refused(413, detail)
    return b"".join(parts)


def clean(body: bytes) -> bytes:
    """JSON without lone surrogates, half characters that JavaScript and JSON can hold but UTF-8 cannot. One in an
    answer would end the stream that its page is waiting on. Raises Refused for anything but JSON in UTF-8."""
    text = body.decode("utf-8", "replace")
    if "\0" in text:  # UTF-16, which Python's json would also accept
        raise Refused(400, "The request is not JSON in UTF-8. Reload the page.")
    if body.isascii() and rb"\u" not in body:
        return body
    try:
        found = json.loads(text)
        return json.dumps(whole_characters(found), ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Refused(400, "The request is not JSON. Reload the page.") from error


def whole_characters(value: Any) -> Any:
    """*value* with U+FFFD for each lone surrogate, in keys too."""
    if isinstance(value, str):
        return LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole_characters(one) for one in value]
    if isinstance(value, dict):
        return {LONE.sub("\ufffd", key): whole_characters(one) for key, one in value.items()}
    return value


def session_of(scope: Scope, body: bytes) -> str:
    """The session hash of the page that a request concerns, "" if it concerns none."""
    route, path = scope["state"]["route"], str(scope["path"])
    if route == "stream":
        found = QueryParams(scope["query_string"]).getlist("session_hash")  # read as gradio reads it
        if len(found) > 1:
            raise Refused(400, f"The request names {len(found)} pages; wanted one. Reload the page.")
        return found[0] if found else ""
    if "/heartbeat/" in path:
        return path.rpartition("/")[2]
    if route in ("join", "session") and body:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Refused(400, "The request is not JSON. Reload the page.") from error
        session = found.get("session_hash") if isinstance(found, dict) else None
        return session if isinstance(session, str) else ""
    return ""


def existing(folder: Path) -> Path:
    """*folder*, or its nearest parent that exists."""
    return next((path for path in (folder, *folder.parents) if path.is_dir()), Path("."))
