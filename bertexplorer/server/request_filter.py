"""Request filter: only requests to a name of this server, from its own pages, on a known route are answered."""

import ipaddress
import re
import socket
from urllib.parse import unquote, unquote_plus, urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import header, headers, reply
from bertexplorer.settings import Settings

READ, WRITE = ("GET", "HEAD"), ("POST",)
ROUTES = (  # (name, methods, path): all that the pages request; the other routes of gradio are unreachable
    ("page", READ, r"/(train|pretrain|learn)?/?"),
    ("health", READ, r"/(healthz|readyz|metrics)"),
    ("code", WRITE, r"/code"),
    ("phone", READ, r"/j(/[A-Za-z]{1,8})?"),
    ("room", READ, r"/api/v1/class/[A-Za-z]{4}"),
    ("room", WRITE, r"/api/v1/class/[A-Za-z]{4}/vote"),
    ("events", READ, r"/api/v1/runs/[\w.-]+/events"),
    ("api", (*READ, "DELETE"), r"/api/v1/runs/[\w.-]+"),
    ("upload", WRITE, r"/gradio_api/upload|/api/v1/lines|/api/v1/lessons/own"),
    ("mcp", ("GET", "POST", "DELETE"), r"/mcp"),
    ("api", (*READ, *WRITE), r"/api/v1(/[\w.-]+)+"),
    ("asset", READ, r"/(assets|static|svelte|scripts)/.+|/(favicon\.ico|robots\.txt|manifest\.json)"),
    ("asset", READ, r"(/gradio_api)?/theme\.css"),
    ("config", READ, r"/config/?|/gradio_api/info/?"),
    ("join", WRITE, r"/gradio_api/queue/join"),
    ("stream", READ, r"/gradio_api/queue/data"),
    ("progress", READ, r"/gradio_api/upload_progress"),
    ("file", READ, r"/gradio_api/file=(/[^/]|[A-Za-z]:[/\\]).*"),  # a path on this disk, never an address
    ("session", (*READ, *WRITE), r"/gradio_api/(heartbeat/\w+|cancel|reset/?)"),
)
PATTERNS = [(name, methods, re.compile(path)) for name, methods, path in ROUTES]
UNHEARD = (b"range", b"x-forwarded-host")  # no page sends them; gradio fails on odd ranges, and trusts the other
UNASKED = ("page", "deep_link")  # gradio's own parameters of a page's link, which fail if they name something missing
LONGEST, LONGEST_PART = 2000, 255  # bytes of a path and of a part of it; file systems allow no longer names
CROOKED = re.compile(r"//|(^|[/\\])\.\.([/\\]|$)|[\x00-\x1f]")


class RequestFilter:
    """Puts the route's name into the scope's state for the layers below, or refuses with a sentence."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.local = settings.local
        self.names = {"localhost", "127.0.0.1", "[::1]", named(settings.host), *settings.hosts}
        if not self.local:
            own = socket.gethostname().lower()
            self.names |= {own, f"{own}.local"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        route = route_of(scope["path"])
        heard = [pair for pair in scope["headers"] if pair[0] not in UNHEARD]
        query = plain(scope["query_string"]) if route[0] == "page" else scope["query_string"]
        scope = {**scope, "headers": heard, "query_string": query}
        scope.setdefault("state", {})["route"] = route[0]
        if refused := self.host(scope) or wrong_route(scope, route) or wrong_origin(scope):
            allowed = [("allow", ", ".join(route[1]))] if refused[0] == 405 else []
            await reply(send, *refused, allowed)
            return
        await self.app(scope, receive, send)

    def host(self, scope: Scope) -> tuple[int, str] | None:
        """The refusal of a request to a host name that is not ours, None if there is nothing to refuse.

        This prevents DNS rebinding: another site can point its own name at this machine's address, and the browser
        then treats both as the same site. An IP address cannot be rebound like that."""
        asked = header(scope, "host").lower()
        name = re.sub(r":\d*$", "", asked)
        if name in self.names or (not self.local and is_address(name)):
            return None
        return 400, (
            f"This server does not answer to the name {name!r:.80}. Open it as localhost or by its "
            "address, or start it with BERTEXPLORER_HOSTS set to that name."
        )


def named(host: str) -> str:
    """*host* as a request writes it."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.lower()


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def route_of(path: str) -> tuple[str, tuple[str, ...]]:
    """(name, methods) of the route, however its path is spelled; ("none", ()) if there is no such route."""
    plain = path
    for _ in range(5):
        plain, before = unquote(plain), plain
        if plain == before:
            break
    size = max(map(len, path.encode("utf-8", "replace").split(b"/")))
    if len(path) > LONGEST or size > LONGEST_PART:
        return "none", ()
    if plain != path or CROOKED.search(plain):  # unquoted once already; a second change hides something
        return "none", ()
    return next(((name, methods) for name, methods, known in PATTERNS if known.fullmatch(path)), ("none", ()))


def plain(query: bytes) -> bytes:
    """A page's query without gradio's own parameters."""
    parts = query.split(b"&")
    return b"&".join(p for p in parts if unquote_plus(p.partition(b"=")[0].decode("latin-1")) not in UNASKED)


def wrong_route(scope: Scope, route: tuple[str, tuple[str, ...]]) -> tuple[int, str] | None:
    if not route[1]:
        return 404, "There is no such page here. Open the page at / and go on from there."
    if scope["method"] not in route[1]:
        return 405, f"This address answers {' and '.join(route[1])} only."
    return None


def wrong_origin(scope: Scope) -> tuple[int, str] | None:
    """The refusal of a request from another site, None if there is nothing to refuse.

    Requests that change something must come from a page of this server, as their Origin says."""
    if scope["method"] in READ:
        return None
    origins, host = headers(scope, "origin"), header(scope, "host").lower()
    alike = all(urlsplit(origin).netloc.lower() == host for origin in origins)
    if alike and (origins or header(scope, "sec-fetch-site") in ("", "same-origin", "none")):
        return None
    return 403, (
        "This request came from a page of another site. Open BERT Explorer itself and try there; behind a proxy, make "
        "it pass the Host header on unchanged."
    )
