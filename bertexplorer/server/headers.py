"""Headers: set on every answer, they limit what a browser may load, show and pass on."""

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
ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # no-referrer would remove the Origin from the class code's form
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# for the other pages, as gradio compiles its HTML templates in the browser
COMPILING = POLICY.replace("script-src 'self'", "script-src 'self' 'unsafe-eval'").encode()
FILE = b"default-src 'none'; sandbox"  # an uploaded file, should a browser ever show one as a page


class Headers:
    """Adds those headers, and removes any that let other sites read an answer (CORS) or name the software."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                compiling = scope["path"].strip("/") in ("train", "pretrain")
                policy = FILE if scope["state"].get("route") == "file" else COMPILING if compiling else POLICY.encode()
                kept = [(k, v) for k, v in message.get("headers", []) if not drop(k.lower())]
                message = {**message, "headers": [*kept, *ALWAYS, (b"content-security-policy", policy)]}
            await send(message)

        if scope["type"] == "http":
            scope.setdefault("state", {})
        await self.app(scope, receive, adding if scope["type"] == "http" else send)


def drop(name: bytes) -> bool:
    return name.startswith(b"access-control-") or name == b"server" or name in dict(ALWAYS)
