"""Sessions: each browser is an owner, recognized by a signed cookie; the owner is put into the scope's state."""

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
        if owner and state.get("route") != "page":  # a visit of the page keeps the cookie for another year
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
    """Which browser opened which page: gradio identifies pages by a hash that the browser draws, and anyone who knows
    it could read their answers or stop them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.owners: OrderedDict[str, str] = OrderedDict()

    def admits(self, session: str, owner: str, known: bool) -> bool:
        """Whether *owner* may use the page *session*. The first who comes with a cookie has it; a browser that takes no
        cookies is somebody else each time, and has none."""
        held = self.owners.get(session)
        if held is None and known:
            self.owners[session] = held = owner
            while len(self.owners) > self.most:
                self.owners.popitem(last=False)
        if held is not None:
            self.owners.move_to_end(session)
        return held in (None, owner)
