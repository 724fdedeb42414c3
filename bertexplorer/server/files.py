"""File access: each browser can read only the files that it has uploaded and those made for it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.server.asgi import replay, reply
from bertexplorer.store import uploads

NOT_YOURS = "This file is not yours, or it was deleted after a day. Upload or make it again."


class FileAccess:
    """Serves a file only to its owners (see store/uploads.py).

    Gradio alone would copy any file that a request names to the folder that it serves, and send it to anyone who
    knows its path."""

    def __init__(self, app: ASGIApp, folder: Path) -> None:
        self.app, self.folder = app, folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else ""
        owner = scope["state"]["owner"] if route else ""
        if route == "upload" and scope["path"].startswith("/gradio_api/"):
            headers = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
            await self.app({**scope, "headers": headers}, receive, self.add_owner_first(send, owner))
            return
        files: list[str] = []
        if route == "file":
            files = [str(scope["path"]).partition("file=")[2]]
        elif route == "join":
            body = (await receive())["body"]  # complete, see BodyLimits
            receive, files = replay(body, receive), list(file_paths(body))
        if all(uploads.is_owner(path, self.folder, owner) for path in files):
            await self.app(scope, receive, send)
        else:
            await reply(send, 403, NOT_YOURS)

    def add_owner_first(self, send: Send, owner: str) -> Send:
        """A send function that makes the browser the owner of the files that a response names before sending it."""
        messages: list[Message] = []

        async def send_complete(message: Message) -> None:
            messages.append(message)
            if message.get("more_body", message["type"] == "http.response.start"):
                return
            if messages[0]["status"] == 200:
                for path in json.loads(b"".join(part.get("body", b"") for part in messages)):
                    uploads.add_owner(Path(path), owner)
            for part in messages:
                await send(part)

        return send_complete


def file_paths(body: bytes) -> Iterator[str]:
    """Every file path in a JSON *body*, at any depth."""
    if b'"path"' in body or b"\\" in body:  # a key may contain escapes
        yield from paths_in(json.loads(body))


def paths_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("path"), str) and "meta" in value:
            yield value["path"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from paths_in(item)
