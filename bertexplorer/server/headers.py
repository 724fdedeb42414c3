"""Security headers of every response: they limit what a browser may load, show and pass on."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",  # pictures of figures are made in the browser
        "font-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self' https://huggingface.co",
    )
)
COMMON = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # no-referrer would remove the Origin from the access code's form
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
FILE_POLICY = b"default-src 'none'; sandbox"  # in case a browser shows an uploaded file as a page


class Headers:
    """Adds these headers, and removes those that let other sites read a response (CORS) or that name the software."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = FILE_POLICY if scope["state"].get("route") == "file" else POLICY.encode()
                others = [(key, value) for key, value in message.get("headers", []) if not is_dropped(key.lower())]
                message = {**message, "headers": [*others, *COMMON, (b"content-security-policy", policy)]}
            await send(message)

        await self.app(scope, receive, send_with_headers)


def is_dropped(name: bytes) -> bool:
    """Whether the header *name*, in lower case, is removed or replaced."""
    return name.startswith(b"access-control-") or name == b"server" or name in dict(COMMON)
