"""ASGI helpers for the layers: read headers and cookies, send a text instead of the page."""

from collections.abc import Iterable

from starlette.types import Message, Receive, Scope, Send

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"


def header_values(scope: Scope, name: str) -> list[str]:
    """All values of the header *name* (lower case), in order."""
    raw_name = name.encode("latin-1")
    return [value.decode("latin-1") for key, value in scope["headers"] if key == raw_name]


def header(scope: Scope, name: str) -> str:
    """The first value of the header *name*, "" if there is none."""
    return next(iter(header_values(scope, name)), "")


def cookie_values(scope: Scope, name: str) -> list[str]:
    """All values of the cookie *name*. A browser sends several if they were set for different paths."""
    values = []
    for line in header_values(scope, "cookie"):
        for pair in line.split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                values.append(value)
    return values


def set_cookie(scope: Scope, name: str, value: str, seconds: int) -> tuple[str, str]:
    """(name, value) of the header that sets a cookie which scripts cannot read.

    It is Lax, not Strict: someone who follows a link from a course page should keep their identity. With Strict, that
    request would have no cookie, and a new one would replace it. Requests that change something are POSTs, and the
    request filter rejects those from other sites by their Origin."""
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return "set-cookie", f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


async def reply(send: Send, status: int, body: str, headers: Iterable[tuple[str, str]] = (), media: str = TEXT) -> None:
    """Send a complete response that the browser does not cache."""
    content = body.encode()
    own = [("content-type", media), ("content-length", str(len(content))), ("cache-control", "no-store")]
    raw = [(key.encode("latin-1"), value.encode("latin-1", "replace")) for key, value in (*own, *headers)]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content})


def replay(body: bytes, receive: Receive) -> Receive:
    """A receive function that returns *body* first, then what *receive* returns, which is the disconnect."""
    replayed = False

    async def receive_again() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
