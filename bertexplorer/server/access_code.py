"""Access code: if other machines can reach the page, each browser must enter the code once."""

import asyncio
import hmac
import time
from collections import Counter, OrderedDict, defaultdict
from html import escape
from urllib.parse import parse_qs, quote

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import HTML, cookie_values, header, reply, set_cookie
from bertexplorer.server.body import Rejected, read_body, send_rejection, with_deadline
from bertexplorer.server.connections import network_of
from bertexplorer.server.cookie_signing import CookieSigner
from bertexplorer.settings import ASSETS

MAX_WRONG, PERIOD_S = 30, 60.0  # wrong codes per minute from one address, which a whole class often shares
TURN_S, MAX_WAITING = 1.0, 60  # beyond these, codes from the address are compared one a second; so many may wait
MAX_NETWORKS = 10_000  # networks whose wrong codes are remembered
PROOF_S = 120 * 86_400  # until a browser must enter the code again
MAX_FORM_BYTES, FORM_TIMEOUT_S = 4000, 20
# A class has its own code, which permits only voting, and a shared run its key, which permits only watching.
OPEN_ROUTES = ("health", "none", "phone", "room")
PROGRAM_PATHS = ("/api/", "/mcp", "/gradio_api/", "/config")
TOO_MANY = f"Too many wrong codes came from your network, and {MAX_WAITING} wait to be compared. Try again in a minute."
RETRY = ("retry-after", f"{PERIOD_S:.0f}")


class AccessCode:
    """Admits a browser once it has entered the code. This layer is inside OwnerCookies, so that a proof is valid for
    one browser only.

    Many wrong codes slow down all that come from their address, but the right one is still admitted: one pupil must not
    lock out the others."""

    def __init__(self, app: ASGIApp, signer: CookieSigner, code: str) -> None:
        self.app = app
        self.signer = signer
        self.code = code
        self.name = f"{signer.name}-code"
        self.wrong: OrderedDict[str, list[float]] = OrderedDict()  # network -> times of its wrong codes
        self.turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.waiting: Counter[str] = Counter()  # network -> codes that wait to be compared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else "none"
        if not self.code or route in OPEN_ROUTES:
            await self.app(scope, receive, send)
        elif route == "code":
            await self.handle_form(scope, receive, send)
        elif self.has_proof(scope):
            await self.app(scope, receive, send)
        elif scope["path"].startswith(PROGRAM_PATHS):
            await self.handle_program(scope, receive, send)
        elif route == "page":
            await reply(send, 401, form(safe_target(scope["path"], scope["query_string"])), media=HTML)
        else:
            await reply(send, 401, "The access code is required first. Open the page at / and type it.")

    def has_proof(self, scope: Scope) -> bool:
        """Whether the browser has a cookie that says that it has entered the code."""
        owner = scope["state"]["owner"]
        return any(self.signer.verify(value, "code", self.code, owner) for value in cookie_values(scope, self.name))

    async def handle_form(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the form of the page: admit the browser by a cookie, or ask again."""
        try:
            body = await read_body(scope, with_deadline(receive, FORM_TIMEOUT_S), MAX_FORM_BYTES)
        except Rejected as rejected:
            await send_rejection(send, rejected)
            return
        fields = parse_qs(body.decode("utf-8", "replace"))
        target = safe_target(fields.get("page", ["/"])[0])
        code = fields.get("code", [""])[0]
        address = network_of(scope)
        if not await self.take_turn(address):
            await reply(send, 429, form(target, TOO_MANY), [RETRY], HTML)
        elif hmac.compare_digest(code.strip().encode(), self.code.encode()):
            proof = self.signer.sign("code", self.code, scope["state"]["owner"])
            await reply(send, 303, "", [("location", target), set_cookie(scope, self.name, proof, PROOF_S)])
        else:
            self.count_wrong(address)
            await reply(send, 401, form(target, "Wrong code (it is case-sensitive)."), media=HTML)

    async def handle_program(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request of a program, which sends the code with every request."""
        scheme, _, code = header(scope, "authorization").partition(" ")
        address = network_of(scope)
        if scheme.lower() != "bearer":
            detail = (
                "The access code is required. Send it as Authorization: Bearer CODE, or open the page at / and type it."
            )
            await reply(send, 401, detail, [("www-authenticate", "Bearer")])
        elif not await self.take_turn(address):
            await reply(send, 429, TOO_MANY, [RETRY])
        elif hmac.compare_digest(code.strip().encode("latin-1"), self.code.encode()):
            await self.app(scope, receive, send)
        else:
            self.count_wrong(address)
            await reply(send, 401, "Wrong access code (it is case-sensitive).", [("www-authenticate", "Bearer")])

    async def take_turn(self, address: str) -> bool:
        """Wait, if many wrong codes came from *address* lately; False if too many wait already."""
        now = time.monotonic()
        lately = [at for at in self.wrong.get(address, []) if now - at <= PERIOD_S]
        if len(lately) < MAX_WRONG:
            return True
        if self.waiting[address] >= MAX_WAITING:
            return False
        self.waiting[address] += 1
        try:
            async with self.turns[address]:
                await asyncio.sleep(TURN_S)
        finally:
            self.waiting[address] -= 1
            if not self.waiting[address]:
                del self.waiting[address], self.turns[address]
        return True

    def count_wrong(self, address: str) -> None:
        """Count a wrong code from *address*."""
        self.wrong[address] = [*self.wrong.get(address, []), time.monotonic()][-MAX_WRONG:]
        self.wrong.move_to_end(address)
        while len(self.wrong) > MAX_NETWORKS:
            self.wrong.popitem(last=False)


def safe_target(path: str, query: bytes = b"") -> str:
    """The page of this server to continue to, with its query; "/" for anything else."""
    path, _, parameters = f"{path}?{query.decode('latin-1')}".partition("?")
    parameters = parameters.removesuffix("?")  # where the path had a query itself
    if path not in ("/", "/learn", "/train", "/pretrain", "/gradio"):
        return "/"
    if not parameters:
        return path
    return f"{path}?{quote(parameters, safe='=&%+-_.~,:;@!()*')}"


def form(page: str, detail: str = "") -> str:
    """The page that asks for the code."""
    source = (ASSETS / "code.html").read_text("utf-8")
    alert = f'<p role="alert">{escape(detail)}</p>' if detail else ""
    # PAGE last, as a link may contain either word
    return source.replace("TOLD", alert).replace("PAGE", escape(page, quote=True))
