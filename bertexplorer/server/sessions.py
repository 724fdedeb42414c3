"""Sessions: each browser is an owner, recognised by a signed cookie. The owner is in the state of the scope."""

import re
import secrets

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.server.asgi import cookie_values, set_cookie
from bertexplorer.server.connections import network_of
from bertexplorer.server.cookie_signing import CookieSigner

YEAR = 365 * 86_400
VALUE = re.compile(r"([0-9a-f]{32})\.([0-9a-f]{64})")  # of the cookie: the owner, and the signature


class OwnerCookies:
    """Sets state.owner, 128 random bits as hexadecimal digits, state.known, whether the browser has sent them, and
    state.network, the address of its network: a program makes up any number of owners, but has few addresses."""

    def __init__(self, app: ASGIApp, signer: CookieSigner) -> None:
        self.app = app
        self.signer = signer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        owner = self.read(scope)
        state = scope["state"]
        state["network"] = network_of(scope)
        state["known"] = bool(owner)
        state["owner"] = owner or secrets.token_hex(16)
        if owner and state.get("route") != "page":  # a visit to the page renews the cookie for another year
            await self.app(scope, receive, send)
            return
        value = f"{state['owner']}.{self.signer.sign('owner', state['owner'])}"
        key, line = set_cookie(scope, self.signer.name, value, YEAR)

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                header = (key.encode(), line.encode())
                message = {**message, "headers": [*message.get("headers", []), header]}
            await send(message)

        await self.app(scope, receive, send_with_cookie)

    def read(self, scope: Scope) -> str:
        """The owner according to a valid cookie, "" if there is none."""
        for value in cookie_values(scope, self.signer.name):
            if match := VALUE.fullmatch(value):
                owner, signature = match.groups()
                if self.signer.verify(signature, "owner", owner):
                    return owner
        return ""
