"""Problems: every error under /api/ as application/problem+json (RFC 9457), with a detail for people."""

import json
import logging
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.params import Form
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.api.admission import JSON, PROBLEM, Reply, error_reply, problem, to_response
from bertexplorer.errors import ExplorerError, unforeseen

WANTED = {  # type of a pydantic error -> what was wanted
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "missing": "a value",
    "literal_error": "{expected}",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "string_too_long": "{max_length:,} characters or fewer",
    "value_error": "{error}",
    "too_long": "{max_length:,} items or fewer",
    "union_tag_invalid": "{discriminator} to be one of {expected_tags}",
    "union_tag_not_found": "an object with {discriminator}",
}
MAX_EXCERPT = 60  # characters of a request that an error repeats
log = logging.getLogger(__name__)


class Problem(BaseModel):
    """An error as RFC 9457 defines it."""

    type: str = Field(description="about:blank: the status says what kind of error it is.")
    title: str
    status: int
    detail: str = Field(description="What was given, what was wanted and what to do, in a sentence for a person.")
    retry_after: int | None = Field(None, description="Seconds after which to try again, also in Retry-After.")
    missing: str | None = Field(
        None, description="What the request lacks: mask, pair, checkpoint, head, tuned or class."
    )


def validation_problem(error: RequestValidationError) -> Reply:
    """The problem for the first error in a request."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return not_json()
    if first["loc"][0] == "path":
        detail = f"There is no {excerpt(first['input'])} here. GET /api/v1/openapi.json lists the routes."
        return problem(404, "Not Found", detail)
    return problem(422, "Invalid request", describe(first, error.body))


def not_json() -> Reply:
    return problem(400, "Not JSON", 'The request is not JSON that can be read. Send an object such as {"text": "…"}.')


def describe(error: Any, body: Any = None, documented: bool = True) -> str:
    """field: got …; wanted …. *error*: one of pydantic's, about *body*. *documented*: whether a page lists the
    fields."""
    parts = [str(part) for part in error["loc"] if part != "body"]
    if len(parts) > 1 and isinstance(body, dict) and parts[0] not in body and error["loc"][0] == "body":
        del parts[0]  # the kind of body, such as a task, to which pydantic's union led
    field = ".".join(parts)[:MAX_EXCERPT] or "The request"
    if error["type"] == "extra_forbidden":
        see = ", or see the fields at /api/v1/docs" if documented else ""
        return f"{field}: not a field here; leave it out{see}."
    got = "nothing" if error["type"] in ("missing", "union_tag_not_found") else excerpt(error["input"])
    wanted = WANTED.get(error["type"], "").format(**error.get("ctx", {}))
    return f"{field}: got {got}; wanted {wanted or error['msg'].removeprefix('Input should be ')}."


def excerpt(value: Any) -> str:
    """*value* as JSON, cut to MAX_EXCERPT characters."""
    text = json.dumps(value, ensure_ascii=False, default=repr) if not isinstance(value, bytes) else "no JSON"
    return text if len(text) <= MAX_EXCERPT else f"{text[: MAX_EXCERPT - 1]}…"


class Route(APIRoute):
    """A route that answers every error with a problem."""

    @property
    def takes_json(self) -> bool:
        return self.body_field is not None and not isinstance(self.body_field.field_info, Form)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_errors(request: Request) -> Response:
            try:
                media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if self.takes_json and media != JSON:
                    detail = "The request is not marked as JSON. Send the header Content-Type: application/json."
                    return to_response(problem(415, "Not JSON", detail))
                return await handle(request)
            except RequestValidationError as error:
                return to_response(validation_problem(error))
            except ExplorerError as error:
                return to_response(error_reply(error))
            except HTTPException as error:
                if self.takes_json and error.status_code == 400:  # nested too deeply, or a number with too many digits
                    return to_response(not_json())
                return to_response(problem(error.status_code, HTTPStatus(error.status_code).phrase, f"{error.detail}."))
            except Exception:
                return to_response(problem(500, "Internal error", unforeseen(log, "a request failed")))

        return handle_errors


class Problems:
    """The outermost layer: turns plain errors of the inner layers under /api/ into problems."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def convert(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and is_plain_error(message):
                start = message
            elif start is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    for part in to_problem(start, body):
                        await send(part)

        await self.app(scope, receive, convert)


def is_plain_error(start: Message) -> bool:
    """Whether a response that starts with *start* is an error, but not a problem."""
    media = dict(start.get("headers", [])).get(b"content-type", b"")
    return start["status"] >= 400 and media.decode("latin-1") != PROBLEM


def to_problem(start: Message, body: bytes) -> tuple[Message, Message]:
    """Convert a plain error to a problem. Headers that do not describe the body stay."""
    status = start["status"]
    described = (b"content-type", b"content-length", b"content-encoding", b"content-disposition")
    headers = [(key, value) for key, value in start.get("headers", []) if key.lower() not in described]
    wait = dict(headers).get(b"retry-after", b"").decode("latin-1")
    more = {"retry_after": int(wait)} if wait.isdecimal() else {}
    reply = problem(status, HTTPStatus(status).phrase, body.decode("utf-8", "replace"), **more)
    headers += [(b"content-type", PROBLEM.encode()), (b"content-length", str(len(reply.body)).encode())]
    return {**start, "headers": headers}, {"type": "http.response.body", "body": reply.body}
