"""Request filter: admits only requests to a name of this server, from its own pages, on a known route."""

import ipaddress
import re
import socket
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus, urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import header, header_values, reply
from bertexplorer.settings import Settings

READ = ("GET", "HEAD")
WRITE = ("POST",)
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
# No page sends them; gradio fails on odd ranges, and takes the others for the address of this server.
DROPPED_HEADERS = (b"range", b"x-forwarded-host", b"x-gradio-server")
GRADIO_PARAMETERS = ("page", "deep_link")  # of a link to a page, on which gradio fails if their target is missing
MAX_PATH, MAX_PART = 2000, 255  # bytes of a path and of a part of it; file systems do not allow longer names
SUSPICIOUS = re.compile(r"//|(^|[/\\])\.\.([/\\]|$)|[\x00-\x1f]")


class Route(NamedTuple):
    """What a path leads to, and the methods that it answers."""

    name: str
    methods: tuple[str, ...]


NO_ROUTE = Route("none", ())


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
        headers = [(name, value) for name, value in scope["headers"] if name not in DROPPED_HEADERS]
        query = scope["query_string"]
        if route.name == "page":
            query = without_gradio_parameters(query)
        scope = {**scope, "headers": headers, "query_string": query}
        scope.setdefault("state", {})["route"] = route.name
        problem = self.host_problem(scope) or route_problem(scope, route) or origin_problem(scope)
        if problem is None:
            await self.app(scope, receive, send)
            return
        status, detail = problem
        allowed = [("allow", ", ".join(route.methods))] if status == 405 else []
        await reply(send, status, detail, allowed)

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
    """Whether *name*, of a Host header, is an IP address."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def route_of(path: str) -> Route:
    """The route of *path*; NO_ROUTE if there is none, or if the path may be disguised."""
    longest_part = max(map(len, path.encode("utf-8", "replace").split(b"/")))
    if len(path) > MAX_PATH or longest_part > MAX_PART:
        return NO_ROUTE
    is_encoded_twice = unquote(path) != path  # the server has decoded it once; more is a disguise
    if is_encoded_twice or SUSPICIOUS.search(path):
        return NO_ROUTE
    for name, methods, pattern in PATTERNS:
        if pattern.fullmatch(path):
            return Route(name, methods)
    return NO_ROUTE


def without_gradio_parameters(query: bytes) -> bytes:
    """The query of a page without the parameters of gradio."""
    kept = []
    for part in query.split(b"&"):
        name, _, _ = part.partition(b"=")
        if unquote_plus(name.decode("latin-1")) not in GRADIO_PARAMETERS:
            kept.append(part)
    return b"&".join(kept)


def route_problem(scope: Scope, route: Route) -> tuple[int, str] | None:
    """(status, detail) for a request to no route, or with a method that it does not answer, else None."""
    if not route.methods:
        return 404, "There is no such page here. Open the page at / and continue from there."
    if scope["method"] not in route.methods:
        return 405, f"This address answers {' and '.join(route.methods)} only."
    return None


def origin_problem(scope: Scope) -> tuple[int, str] | None:
    """(status, detail) for a request from another site, else None.

    Requests that change something must come from a page of this server according to their Origin."""
    if scope["method"] in READ:
        return None
    origins = header_values(scope, "origin")
    host = header(scope, "host").lower()
    is_same = all(urlsplit(origin).netloc.lower() == host for origin in origins)
    if is_same and (origins or header(scope, "sec-fetch-site") in ("", "same-origin", "none")):
        return None
    return 403, (
        "This request came from a page of another site. Open BERT Explorer itself and try there. A proxy must pass "
        "the Host header on unchanged."
    )
