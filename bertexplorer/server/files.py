"""Files: each browser can read the files that it uploaded and those made for it, and no others."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.server.asgi import replayed, reply
from bertexplorer.store import uploads

ELSE = "This file is not yours, or it is gone: files are kept for a day. Upload or make it again."


class Files:
    """Serves a file only to its owners (store/uploads.py).

    Gradio alone would copy any file that a request names to the folder that it serves, and give it to anyone who
    knows its path."""

    def __init__(self, app: ASGIApp, folder: Path) -> None:
        self.app, self.folder = app, folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else ""
        owner = scope["state"]["owner"] if route else ""
        if route == "upload" and scope["path"].startswith("/gradio_api/"):
            plain = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
            await self.app({**scope, "headers": plain}, receive, self.giving(send, owner))
            return
        named: list[str] = []
        if route == "file":
            named = [str(scope["path"]).partition("file=")[2]]
        elif route == "join":
            body = (await receive())["body"]  # complete, see Body
            receive, named = replayed(body, receive), list(paths(body))
        if all(uploads.is_owner(path, self.folder, owner) for path in named):
            await self.app(scope, receive, send)
        else:
            await reply(send, 403, ELSE)

    def giving(self, send: Send, owner: str) -> Send:
        """Pass the answer on, and first make the browser the owner of the files that the answer names."""
        held: list[Message] = []

        async def after(message: Message) -> None:
            held.append(message)
            if message.get("more_body", message["type"] == "http.response.start"):
                return
            if held[0]["status"] == 200:
                for path in json.loads(b"".join(one.get("body", b"") for one in held)):
                    uploads.add_owner(Path(path), owner)
            for one in held:
                await send(one)

        return after


def paths(body: bytes) -> Iterator[str]:
    """Every file path in a JSON *body*, at any depth."""
    if b'"path"' in body or b"\\" in body:  # a key may be spelt with escapes
        yield from named(json.loads(body))


def named(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("path"), str) and "meta" in value:
            yield value["path"]
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from named(one)
