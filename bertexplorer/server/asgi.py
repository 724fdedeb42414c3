"""ASGI helpers that the layers share: a header read, a cookie read, a sentence sent in place of the page."""

from collections.abc import Iterable

from starlette.types import Message, Receive, Scope, Send

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"


def headers(scope: Scope, name: str) -> list[str]:
    """Every value of the header *name* (lower case), in its order."""
    wanted = name.encode("latin-1")
    return [value.decode("latin-1") for key, value in scope["headers"] if key == wanted]


def header(scope: Scope, name: str) -> str:
    """The first value of the header *name*, "" if there is none."""
    return next(iter(headers(scope, name)), "")


def cookies(scope: Scope, name: str) -> list[str]:
    """Every value of the cookie *name*; a browser sends several where several were set for different paths."""
    pairs = [pair.strip().partition("=") for line in headers(scope, "cookie") for pair in line.split(";")]
    return [value for key, _, value in pairs if key == name]


def cookie(scope: Scope, name: str, value: str, seconds: int) -> tuple[str, str]:
    """The header that sets a cookie which no script reads.

    Lax and not Strict: who follows a link from a course page is to be the same person as before. Strict would leave the
    cookie out of that request, and the new one given then would take its place. What another site could make a browser
    change goes by POST, and is kept out by its Origin."""
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return "set-cookie", f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


async def reply(send: Send, status: int, body: str, more: Iterable[tuple[str, str]] = (), kind: str = TEXT) -> None:
    """A whole answer that is not kept by the browser."""
    content = body.encode()
    named = [("content-type", kind), ("content-length", str(len(content))), ("cache-control", "no-store"), *more]
    raw = [(key.encode("latin-1"), value.encode("latin-1", "replace")) for key, value in named]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content})


def replayed(body: bytes, receive: Receive) -> Receive:
    """A receive that gives *body* at once, and then what comes after it: that the browser has left."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
