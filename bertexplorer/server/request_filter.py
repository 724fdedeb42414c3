"""Request filter: admits only requests to a name of this server, from its own pages, on a known route."""

import ipaddress
import re
import socket
from urllib.parse import unquote, unquote_plus, urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import header, header_values, reply
from bertexplorer.settings import Settings

READ, WRITE = ("GET", "HEAD"), ("POST",)
ROUTES = (  # (name, methods, path): what pages and endpoints need; gradio's other routes, such as uploads, do not exist
    ("page", READ, r"/(train|pretrain|learn)?/?|/gradio"),
    ("health", READ, r"/(healthz|readyz|metrics)"),
    ("code", WRITE, r"/code"),
    ("phone", READ, r"/j(/[A-Za-z]{1,8})?"),
    ("phone", READ, r"/r/[0-9a-f]{16}"),
    ("room", READ, r"/api/v1/class/[A-Za-z]{4,6}"),
    ("room", READ, r"/api/v1/shared/[0-9a-f]{16}"),
    ("room", WRITE, r"/api/v1/class/[A-Za-z]{4,6}/(vote|rejoin)"),
    ("events", READ, r"/api/v1/runs/[\w.-]+/events"),
    ("api", WRITE, r"/api/v1/runs/preview"),
    ("api", (*READ, "DELETE"), r"/api/v1/runs/[\w.-]+"),
    ("upload", WRITE, r"/api/v1/(files|lines|rows|vectors)|/api/v1/lessons/own"),
    ("file", READ, r"/api/v1/files/[\w-]+"),
    ("mcp", WRITE, r"/mcp"),
    ("api", (*READ, *WRITE), r"/api/v1(/[\w.-]+)+"),
    ("asset", READ, r"/(assets|static|svelte|scripts)/.+|/(favicon\.ico|robots\.txt|manifest\.json)"),
    ("asset", READ, r"(/gradio_api)?/theme\.css"),
    ("call", WRITE, r"/gradio_api/(queue/join|cancel|call(/v2)?/\w{1,40})"),
    ("answers", ("GET",), r"/gradio_api/(queue/data|call(/v2)?/\w{1,40}/[0-9a-f]{32})"),
    ("config", READ, r"/config/?|/gradio_api/(info|app_id)/?"),
)
PATTERNS = [(name, methods, re.compile(path)) for name, methods, path in ROUTES]
DROPPED_HEADERS = (b"range", b"x-forwarded-host", b"x-gradio-server")
# No page sends them; gradio fails on odd ranges, and takes the others for the address of this server.
GRADIO_PARAMETERS = ("page", "deep_link")  # of a link to a page, on which gradio fails if their target is missing
MAX_PATH, MAX_PART = 2000, 255  # bytes of a path and of a part of it; file systems do not allow longer names
SUSPICIOUS = re.compile(r"//|(^|[/\\])\.\.([/\\]|$)|[\x00-\x1f]")


class RequestFilter:
    """Stores the name of the route in the state of the scope for the inner layers, or rejects the request."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.loopback = settings.loopback
        self.names = {"localhost", "127.0.0.1", "[::1]", host_name(settings.host), *settings.hosts}
        if not self.loopback:
            own = socket.gethostname().lower()
            self.names |= {own, f"{own}.local"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        route = route_of(scope["path"])
        headers = [pair for pair in scope["headers"] if pair[0] not in DROPPED_HEADERS]
        query = without_gradio_parameters(scope["query_string"]) if route[0] == "page" else scope["query_string"]
        scope = {**scope, "headers": headers, "query_string": query}
        scope.setdefault("state", {})["route"] = route[0]
        if problem := self.host_problem(scope) or route_problem(scope, route) or origin_problem(scope):
            allowed = [("allow", ", ".join(route[1]))] if problem[0] == 405 else []
            await reply(send, *problem, allowed)
            return
        await self.app(scope, receive, send)

    def host_problem(self, scope: Scope) -> tuple[int, str] | None:
        """(status, detail) for a request to a host name that is not ours, else None.

        This prevents DNS rebinding: another site can point its own name to the address of this machine, and the
        browser then treats both as the same site. An IP address cannot be rebound like that."""
        name = re.sub(r":\d*$", "", header(scope, "host").lower())
        if name in self.names or (not self.loopback and is_address(name)):
            return None
        return 400, (
            f"This server does not answer to the name {name!r:.80}. Open it as localhost or by its "
            "address, or start it with BERTEXPLORER_HOSTS set to that name."
        )


def host_name(host: str) -> str:
    """*host* as the Host header of a request has it."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.lower()


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def route_of(path: str) -> tuple[str, tuple[str, ...]]:
    """(name, methods) of the route; ("none", ()) if there is none, or if *path* may be disguised."""
    decoded = path
    for _ in range(5):
        decoded, before = unquote(decoded), decoded
        if decoded == before:
            break
    longest_part = max(map(len, path.encode("utf-8", "replace").split(b"/")))
    if len(path) > MAX_PATH or longest_part > MAX_PART:
        return "none", ()
    if decoded != path or SUSPICIOUS.search(
        decoded
    ):  # the server has decoded it once; a path encoded twice is a disguise
        return "none", ()
    return next(((name, methods) for name, methods, pattern in PATTERNS if pattern.fullmatch(path)), ("none", ()))


def without_gradio_parameters(query: bytes) -> bytes:
    """The query of a page without the parameters of gradio."""
    parts = [(unquote_plus(part.partition(b"=")[0].decode("latin-1")), part) for part in query.split(b"&")]
    return b"&".join(part for name, part in parts if name not in GRADIO_PARAMETERS)


def route_problem(scope: Scope, route: tuple[str, tuple[str, ...]]) -> tuple[int, str] | None:
    if not route[1]:
        return 404, "There is no such page here. Open the page at / and continue from there."
    if scope["method"] not in route[1]:
        return 405, f"This address answers {' and '.join(route[1])} only."
    return None


def origin_problem(scope: Scope) -> tuple[int, str] | None:
    """(status, detail) for a request from another site, else None.

    Requests that change something must come from a page of this server according to their Origin."""
    if scope["method"] in READ:
        return None
    origins, host = header_values(scope, "origin"), header(scope, "host").lower()
    is_same = all(urlsplit(origin).netloc.lower() == host for origin in origins)
    if is_same and (origins or header(scope, "sec-fetch-site") in ("", "same-origin", "none")):
        return None
    return 403, (
        "This request came from a page of another site. Open BERT Explorer itself and try there. A proxy must pass "
        "the Host header on unchanged."
    )
