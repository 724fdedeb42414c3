"""Request bodies: limits their size and time, and removes lone surrogates from their JSON."""

import asyncio
import json
import math
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from starlette.formparsers import MultiPartException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.errors import ExplorerError
from bertexplorer.server.arriving import Arriving
from bertexplorer.server.asgi import header, replay, reply
from bertexplorer.settings import Settings
from bertexplorer.store.uploads import Quota

BODY_S = 10.0  # in which a body that is not an upload must arrive, and longer while more of it arrives
BYTES_PER_S = 10_000  # at least, of such a body: a bad Wi-Fi has that
MAX_HELD, HELD_SHARE = 100_000_000, 50_000_000  # bytes of such bodies that are arriving: in all, of one network
MAX_UPLOADING, UPLOADING_SHARE = 300_000_000, 150_000_000  # the same for uploads, as far as they are kept in memory
SPOOL_BYTES = 2**20  # of each file of an upload that Starlette keeps in memory; the rest goes to the disk
COPIES = 2  # of an upload on the disk: a temporary one while it arrives, and the one that stays
MANY_REQUESTS = "Busy: many requests are arriving. What you entered is kept; try again."
MANY_UPLOADS = "Busy: many files are being uploaded. Upload yours again in a minute."
FORM_BYTES = 65_536  # that a form adds to its files
RESERVE_BYTES = 1_000_000_000  # of the disk that uploads leave free
DRAIN_FACTOR = 4  # read and discard up to this many times the limit, so that the browser gets to see the response
DRAIN_BYTES = 32_000_000  # the same for a request that is not an upload: many clients read only once they have sent all
NOT_UTF8 = "The request is not JSON in UTF-8. Send it in this encoding, or reload the page."
DISCONNECTED = (400, "The request ended early. Send it again.")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^";,\s]{1,70}))', re.IGNORECASE)


class Rejected(MultiPartException):
    """Raised for a request that breaks a limit. Its base class makes Starlette delete a partial upload."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class BodyLimits:
    """Enforces the limits of Settings."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings
        self.bodies = Arriving(MAX_HELD, HELD_SHARE)
        self.uploads = Arriving(MAX_UPLOADING, UPLOADING_SHARE)
        self.on_disk = 0  # bytes that the uploads on their way may take there

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        route = scope["state"]["route"]
        if route != "upload" and scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            if route == "upload":
                await self.upload(scope, receive, send)
                return
            body = await self.read_body(scope, receive)
            if body and route in ("api", "mcp", "call"):
                body = clean_json(body)
        except Rejected as rejected:
            await send_rejection(send, rejected)
            return
        replaced = (b"content-length", b"transfer-encoding")
        headers = [(key, value) for key, value in scope["headers"] if key not in replaced]
        headers.append((b"content-length", str(len(body)).encode()))
        scope = {**scope, "headers": headers}
        await self.app(scope, replay(body, receive), send)

    async def read_body(self, scope: Scope, receive: Receive) -> bytes:
        """The body of a request. Raises Rejected as `read_body` does, and if all that arrive take too much memory."""
        receive = with_deadline(receive, min(BODY_S, self.settings.upload_s), BYTES_PER_S)
        network = scope["state"].get("network", "")
        held = 0

        async def receive_and_count() -> Message:
            nonlocal held
            message = await receive()
            more = len(message.get("body", b""))
            if not self.bodies.add(network, more):
                raise Rejected(503, MANY_REQUESTS)
            held += more
            return message

        try:
            return await read_body(scope, receive_and_count, 1000 * self.settings.request_kb)
        finally:
            self.bodies.remove(network, held)

    async def upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an upload on while it arrives. Raises Rejected if it breaks a limit before the app begins to answer."""
        match = BOUNDARY.search(header(scope, "content-type"))
        if match is None:
            raise Rejected(400, "Files must be sent as multipart/form-data. Upload them on the page.")
        network = scope["state"].get("network", "")
        limit = max_upload_bytes(self.settings)
        upload = UploadLimits(
            with_deadline(receive, self.settings.upload_s),
            limit,
            self.settings,
            boundary=(match[1] or match[2]).encode("latin-1"),
            hold=lambda size: self.uploads.add(network, size),
        )
        length = header(scope, "content-length")
        needed = COPIES * (int(length) if length.isdecimal() else limit)
        started = False

        async def send_unless_rejected(message: Message) -> None:
            nonlocal started
            if upload.rejected is None or started:
                started = True
                await send(message)

        self.on_disk += needed
        try:
            upload.check_length(length)
            self.check_space(upload, scope["state"]["owner"])
            await self.app(scope, upload.receive, send_unless_rejected)
        except Exception:
            if upload.rejected is None:
                raise
        finally:
            self.on_disk -= needed
            self.uploads.remove(network, upload.held)
        if upload.rejected and not started:
            rejected = Rejected(upload.rejected.status, upload.rejected.detail)
            upload.rejected = rejected  # that which was raised holds on to all that had arrived
            await upload.drain()
            raise rejected

    def check_space(self, upload: "UploadLimits", owner: str) -> None:
        """Reject an upload if the disk has no room for it and for all others on their way, or if its owner's quota is
        full."""
        free = shutil.disk_usage(nearest_folder(self.settings.data_dir)).free
        if free - self.on_disk < RESERVE_BYTES:
            upload.reject(
                507,
                f"{free / 1e9:.2f} GB are free on the server's disk, and the uploads on their way may take "
                f"{self.on_disk / 1e9:.2f} GB; they must leave 1 GB free. Make room there.",
            )
        try:
            Quota(self.settings).check(owner)
        except ExplorerError as error:
            upload.reject(507, str(error))


def max_upload_bytes(settings: Settings) -> int:
    """The limit of an upload, including the form around its files."""
    return settings.upload_mb * 2**20 + FORM_BYTES


class UploadLimits:
    """An upload in progress: counts its bytes and its parts, and rejects it beyond the limits."""

    def __init__(
        self,
        receive: Receive,
        limit: int,
        settings: Settings,
        boundary: bytes,
        hold: Callable[[int], bool] = lambda size: True,
    ) -> None:
        """*hold*: counts that many bytes more in memory, unless that is too much; returns whether they fit."""
        self.receive_message = receive
        self.hold = hold
        self.held = 0  # bytes in memory
        self.limit = limit
        self.settings = settings
        self.delimiter = b"--" + boundary
        self.size = 0  # bytes that have arrived
        self.parts = -1  # delimiters so far, less one: the last one closes the form
        self.tail = b""  # the end of what has arrived, in which a delimiter may have begun
        self.complete = False
        self.rejected: Rejected | None = None

    def check_length(self, length: str) -> None:
        """Raises Rejected if *length*, the Content-Length header, is beyond the limit."""
        if length.isdecimal() and int(length) > self.limit:
            self.reject(
                413,
                f"The upload has {int(length) / 2**20:,.1f} MB; the limit is {self.settings.upload_mb} MB for all "
                "files together. Upload part of it.",
            )

    def reject(self, status: int, detail: str) -> NoReturn:
        """Raises Rejected, and keeps it: the app may catch it."""
        self.rejected = Rejected(status, detail)
        raise self.rejected

    async def receive(self) -> Message:
        """The next part of the upload, once it is counted. Raises Rejected beyond a limit."""
        try:
            message = await self.receive_message()
        except Rejected as timeout:
            self.reject(timeout.status, timeout.detail)
        if message["type"] != "http.request":
            if not self.complete:
                self.reject(*DISCONNECTED)
            return message
        chunk = message.get("body", b"")
        self.size += len(chunk)
        self.complete = not message.get("more_body", False)
        window = self.tail + chunk
        self.parts += window.count(self.delimiter)
        self.tail = window[-(len(self.delimiter) - 1) :]
        in_memory = min(self.size, SPOOL_BYTES * max(1, self.parts + 1))
        if not self.hold(in_memory - self.held):
            self.reject(503, MANY_UPLOADS)
        self.held = in_memory
        if self.size > self.limit:
            limit = f"{self.settings.upload_mb} MB, the limit for all files together"
            self.reject(413, f"The upload has more than {limit}. Upload part of it.")
        if self.parts > self.settings.upload_files:
            self.reject(413, f"More than {self.settings.upload_files} files were sent at once. Upload fewer.")
        return message

    async def drain(self) -> None:
        """Read and discard the rest of the upload, within the time limit."""
        with suppress(Rejected):
            while not self.complete and self.size < DRAIN_FACTOR * self.limit:
                message = await self.receive_message()
                if message["type"] != "http.request":
                    return
                self.size += len(message.get("body", b""))
                self.complete = not message.get("more_body", False)


def with_deadline(receive: Receive, seconds: float, bytes_per_s: float = math.inf) -> Receive:
    """*receive* with a deadline for the body: *seconds*, and a second more for each *bytes_per_s* that have arrived.
    Raises Rejected after it: a client that sends byte by byte could otherwise keep a connection, and a file, open
    indefinitely."""
    start = time.monotonic()
    size = 0
    complete = False

    async def receive_in_time() -> Message:
        nonlocal size, complete
        if complete:
            return await receive()
        deadline = start + seconds + size / bytes_per_s
        try:
            message = await asyncio.wait_for(receive(), max(0.0, deadline - time.monotonic()))
        except TimeoutError as error:
            taken = time.monotonic() - start
            detail = f"The request took longer than {taken:.0f} seconds to arrive. Try again, or send less."
            raise Rejected(408, detail) from error
        size += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        return message

    return receive_in_time


async def send_rejection(send: Send, rejected: Rejected) -> None:
    """Send the error. After a timeout, this closes the connection, as the client would continue to send the body."""
    headers = [("connection", "close")] if rejected.status == 408 else []
    await reply(send, rejected.status, rejected.detail, headers)


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The body of a request that is not an upload. Raises Rejected beyond *limit* bytes."""
    length = header(scope, "content-length")
    parts = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Rejected(*DISCONNECTED)
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        more = message.get("more_body", False)
        if size > limit:
            parts = []  # the rest is read and discarded
        if size > DRAIN_BYTES or (length.isdecimal() and int(length) > DRAIN_BYTES):
            break
    if size > limit or more:
        raise Rejected(413, f"A request may have {limit / 1000:,.0f} kB. Shorten the text.")
    return b"".join(parts)


def clean_json(body: bytes) -> bytes:
    """JSON without lone surrogates: halves of characters that JavaScript and JSON can represent, but UTF-8 cannot. One
    in an answer would end the stream for which its page waits. Raises Rejected for anything but JSON in UTF-8."""
    try:
        text = body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise Rejected(400, NOT_UTF8) from error
    if "\0" in text:  # UTF-16, which Python's json would also accept
        raise Rejected(400, NOT_UTF8)
    if body.isascii() and rb"\u" not in body:
        return body
    try:
        return json.dumps(replace_surrogates(json.loads(text)), ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Rejected(400, "The request is not JSON that can be read. Send an object, or reload the page.") from error


def replace_surrogates(value: Any) -> Any:
    """*value* with U+FFFD for each lone surrogate, including those in keys."""
    if isinstance(value, str):
        return LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {LONE_SURROGATE.sub("\ufffd", key): replace_surrogates(item) for key, item in value.items()}
    return value


def nearest_folder(folder: Path) -> Path:
    """*folder*, or its nearest parent that exists."""
    return next((path for path in (folder, *folder.parents) if path.is_dir()), Path("."))
