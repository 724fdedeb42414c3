"""The access code: each browser enters it once, where the page can be reached from other machines."""

import hmac
import time
from collections import OrderedDict
from html import escape
from urllib.parse import parse_qs, quote

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import HTML, cookie, cookies, header, reply
from bertexplorer.server.body import Refused, refuse, whole
from bertexplorer.server.connections import network
from bertexplorer.server.cookie_signing import CookieSigner
from bertexplorer.settings import ASSETS

TRIES, PERIOD_S = 30, 60.0  # wrong codes per minute from one address, which a whole class often shares
REMEMBERED = 10_000  # addresses that sent wrong codes
TERM = 120 * 86_400  # seconds until a browser must enter the code again
LONGEST, PATIENCE_S = 4000, 20  # bytes of the form, and the seconds in which they must arrive
OPEN = ("health", "none", "phone", "room")  # a classroom vote has its own code, and allows nothing but voting
BEARING = ("/api/", "/mcp")  # what programs ask for
AGAIN = "Too many wrong codes came from your network. Try again in {:.0f} seconds."


class AccessCode:
    """Lets a browser through once it has entered the code. Runs inside the owners' layer, so that a proof is valid for
    one browser only."""

    def __init__(self, app: ASGIApp, signer: CookieSigner, code: str) -> None:
        self.app, self.signer, self.code = app, signer, code
        self.name = f"{signer.name}-code"
        self.wrong: OrderedDict[str, list[float]] = OrderedDict()  # when each network sent wrong codes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else "none"
        if not self.code or route in OPEN or (route != "code" and self.passed(scope)):
            await self.app(scope, receive, send)
        elif route == "code":
            await self.ask_for_code(scope, receive, send)
        elif scope["path"].startswith(BEARING):
            await self.borne(scope, receive, send)
        elif route == "page":
            await reply(send, 401, form(wanted(scope["path"], scope["query_string"])), kind=HTML)
        else:
            await reply(send, 401, "The class code is needed first. Open the page at / and type it.")

    def passed(self, scope: Scope) -> bool:
        owner = scope["state"]["owner"]
        return any(self.signer.verify(value, "code", self.code, owner) for value in cookies(scope, self.name))

    async def ask_for_code(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the form with a code."""
        try:
            fields = parse_qs((await whole(scope, receive, LONGEST, PATIENCE_S)).decode("utf-8", "replace"))
        except Refused as refused:
            await refuse(send, refused)
            return
        back = wanted(fields.get("page", ["/"])[0])
        address = network((scope.get("client") or ("", 0))[0])
        if wait := self.wait(address):
            await reply(send, 429, form(back, AGAIN.format(wait)), [("retry-after", f"{wait:.0f}")], HTML)
        elif hmac.compare_digest(fields.get("code", [""])[0].strip().encode(), self.code.encode()):
            proof = self.signer.sign("code", self.code, scope["state"]["owner"])
            await reply(send, 303, "", [("location", back), cookie(scope, self.name, proof, TERM)])
        else:
            self.note(address)
            await reply(send, 401, form(back, "Wrong code (it is case-sensitive)."), kind=HTML)

    async def borne(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request of a program, which sends the code every time."""
        scheme, _, code = header(scope, "authorization").partition(" ")
        address = network((scope.get("client") or ("", 0))[0])
        if scheme.lower() != "bearer":
            detail = (
                "The class code is needed. Send it as Authorization: Bearer CODE, or open the page at / and type it."
            )
            await reply(send, 401, detail, [("www-authenticate", "Bearer")])
        elif wait := self.wait(address):
            await reply(send, 429, AGAIN.format(wait), [("retry-after", f"{wait:.0f}")])
        elif hmac.compare_digest(code.strip().encode("latin-1"), self.code.encode()):
            await self.app(scope, receive, send)
        else:
            self.note(address)
            await reply(send, 401, "Wrong class code (it is case-sensitive).", [("www-authenticate", "Bearer")])

    def wait(self, address: str) -> float:
        """Seconds until *address* may try again, 0 for now."""
        now = time.monotonic()
        own = [at for at in self.wrong.get(address, []) if now - at <= PERIOD_S]
        return max(1.0, PERIOD_S - (now - own[0])) if len(own) >= TRIES else 0.0

    def note(self, address: str) -> None:
        """Count a wrong code from *address*."""
        self.wrong[address] = [*self.wrong.get(address, []), time.monotonic()][-TRIES:]
        self.wrong.move_to_end(address)
        while len(self.wrong) > REMEMBERED:
            self.wrong.popitem(last=False)


def wanted(path: str, query: bytes = b"") -> str:
    """The page of this server to continue to, with its query; "/" for anything else."""
    path, _, asked = f"{path}?{query.decode('latin-1')}".partition("?")
    asked = asked.removesuffix("?")
    if path not in ("/", "/learn", "/train", "/pretrain"):
        return "/"
    return path + (f"?{quote(asked, safe='=&%+-_.~,:;@!()*')}" if asked else "")


def form(page: str, detail: str = "") -> str:
    """The page that asks for the code."""
    source = (ASSETS / "code.html").read_text("utf-8")
    said = f'<p role="alert">{escape(detail)}</p>' if detail else ""
    return source.replace("TOLD", said).replace("PAGE", escape(page, quote=True))  # PAGE last: a link may hold either
