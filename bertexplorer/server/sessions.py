"""Sessions: each browser is an owner, recognized by a signed cookie. The scope's state holds the owner."""

import re
import secrets
from collections import OrderedDict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.server.asgi import cookie, cookies
from bertexplorer.server.cookie_signing import CookieSigner

YEAR = 365 * 86_400
VALUE = re.compile(r"([0-9a-f]{32})\.([0-9a-f]{64})")


class OwnerCookies:
    """state.owner: 128 random bits as hexadecimal digits; state.known: whether the browser sent them."""

    def __init__(self, app: ASGIApp, signer: CookieSigner) -> None:
        self.app, self.signer = app, signer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        owner = self.read(scope)
        state = scope["state"]
        state["known"], state["owner"] = bool(owner), owner or secrets.token_hex(16)
        if owner and state.get("route") != "page":  # a visit to the page renews the cookie for another year
            await self.app(scope, receive, send)
            return
        value = f"{state['owner']}.{self.signer.sign('owner', state['owner'])}"
        key, line = cookie(scope, self.signer.name, value, YEAR)

        async def giving(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = (key.encode(), line.encode())
                message = {**message, "headers": [*message.get("headers", []), added]}
            await send(message)

        await self.app(scope, receive, giving)

    def read(self, scope: Scope) -> str:
        """The owner that the browser's cookie proves, "" if it proves none."""
        for value in cookies(scope, self.signer.name):
            if (found := VALUE.fullmatch(value)) and self.signer.verify(found[2], "owner", found[1]):
                return found[1]
        return ""


class Sessions:
    """Which browser opened which page.

    Gradio identifies a page by a hash that the browser draws. Without this check, anyone who knows the hash could
    read the page's answers or stop them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.owners: OrderedDict[str, str] = OrderedDict()

    def admits(self, session: str, owner: str, known: bool) -> bool:
        """Whether *owner* may use the page *session*.

        A page belongs to the first owner who sends a cookie with it. A browser that accepts no cookies is a new owner
        each time, and therefore owns no page."""
        held = self.owners.get(session)
        if held is None and known:
            self.owners[session] = held = owner
            while len(self.owners) > self.most:
                self.owners.popitem(last=False)
        if held is not None:
            self.owners.move_to_end(session)
        return held in (None, owner)
