"""ASGI helpers that the layers share: read a header or a cookie, send a sentence in place of the page."""

from collections.abc import Iterable

from starlette.types import Message, Receive, Scope, Send

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"


def headers(scope: Scope, name: str) -> list[str]:
    """Every value of the header *name* (lower case), in order."""
    wanted = name.encode("latin-1")
    return [value.decode("latin-1") for key, value in scope["headers"] if key == wanted]


def header(scope: Scope, name: str) -> str:
    """The first value of the header *name*, "" if there is none."""
    return next(iter(headers(scope, name)), "")


def cookies(scope: Scope, name: str) -> list[str]:
    """Every value of the cookie *name*; a browser sends several if several were set for different paths."""
    pairs = [pair.strip().partition("=") for line in headers(scope, "cookie") for pair in line.split(";")]
    return [value for key, _, value in pairs if key == name]


def cookie(scope: Scope, name: str, value: str, seconds: int) -> tuple[str, str]:
    """The header that sets a cookie which scripts cannot read.

    Lax, not Strict: someone who follows a link from a course page should stay the same person. Strict would omit the
    cookie from that request, and a new one would replace it. Requests that change something are POSTs, and those from
    other sites are rejected by their Origin."""
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return "set-cookie", f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


async def reply(send: Send, status: int, body: str, more: Iterable[tuple[str, str]] = (), kind: str = TEXT) -> None:
    """Send a whole answer that the browser does not cache."""
    content = body.encode()
    named = [("content-type", kind), ("content-length", str(len(content))), ("cache-control", "no-store"), *more]
    raw = [(key.encode("latin-1"), value.encode("latin-1", "replace")) for key, value in named]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content})


def replayed(body: bytes, receive: Receive) -> Receive:
    """A receive that returns *body* at once, and after it whatever *receive* sends: that the browser has
    disconnected."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
