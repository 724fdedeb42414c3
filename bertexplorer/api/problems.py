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
SHOWN = 60  # characters of what was sent that an error repeats
log = logging.getLogger(__name__)


class Problem(BaseModel):
    """An error after RFC 9457."""

    type: str = Field(description="about:blank: the status says what kind of error it is.")
    title: str
    status: int
    detail: str = Field(description="What was given, what was wanted and what to do, in a sentence for a person.")
    retry_after: int | None = Field(None, description="Seconds after which to try again, also in Retry-After.")
    missing: str | None = Field(None, description="What the request lacks: mask, pair or checkpoint.")


def invalid(error: RequestValidationError) -> Reply:
    """The first thing that is wrong with a request, in a sentence."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(400, "Not JSON", 'The request is not JSON. Send an object such as {"text": "…"}.')
    if first["loc"][0] == "path":
        detail = f"There is no {shown(first['input'])} here. GET /api/v1/openapi.json lists what there is."
        return problem(404, "Not Found", detail)
    return problem(422, "Not possible", sentence(first))


def sentence(error: Any) -> str:
    """field: got …; wanted …. *error*: one of pydantic's."""
    where = ".".join(str(part) for part in error["loc"] if part != "body")[:SHOWN] or "The request"
    if error["type"] == "extra_forbidden":
        return f"{where}: not a field here; leave it out, or see the fields at /api/v1/docs."
    got = "nothing" if error["type"] in ("missing", "union_tag_not_found") else shown(error["input"])
    wanted = WANTED.get(error["type"], "").format(**error.get("ctx", {}))
    return f"{where}: got {got}; wanted {wanted or error['msg'].removeprefix('Input should be ')}."


def shown(value: Any) -> str:
    """At most SHOWN characters of it."""
    written = json.dumps(value, ensure_ascii=False, default=repr) if not isinstance(value, bytes) else "no JSON"
    return written if len(written) <= SHOWN else f"{written[: SHOWN - 1]}…"


class Route(APIRoute):
    """A route that answers every error with a problem."""

    @property
    def takes_json(self) -> bool:
        return self.body_field is not None and not isinstance(self.body_field.field_info, Form)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                if self.takes_json and not request.headers.get("content-type", "").lower().startswith(JSON):
                    detail = "The request is not marked as JSON. Send the header Content-Type: application/json."
                    return to_response(problem(415, "Not JSON", detail))
                return await answer(request)
            except RequestValidationError as error:
                return to_response(invalid(error))
            except ExplorerError as error:
                return to_response(error_reply(error))
            except HTTPException as error:
                return to_response(problem(error.status_code, HTTPStatus(error.status_code).phrase, f"{error.detail}."))
            except Exception:
                return to_response(problem(500, "Unforeseen", unforeseen(log, "a request failed")))

        return answered


class Problems:
    """The outermost layer: turns plain errors of the inner layers under /api/ into problems."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        held: Message | None = None
        body = b""

        async def worded(message: Message) -> None:
            nonlocal held, body
            if message["type"] == "http.response.start" and plain(message):
                held = message
            elif held is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    for part in as_problem(held, body):
                        await send(part)

        await self.app(scope, receive, worded)


def plain(start: Message) -> bool:
    """Whether a response that starts like this is an error that is not a problem yet."""
    kind = dict(start.get("headers", [])).get(b"content-type", b"")
    return start["status"] >= 400 and kind.decode("latin-1") != PROBLEM


def as_problem(start: Message, body: bytes) -> tuple[Message, Message]:
    """The same error as a problem; headers other than those of the body stay."""
    status = start["status"]
    kept = [(key, value) for key, value in start.get("headers", []) if not key.lower().startswith(b"content-")]
    wait = dict(kept).get(b"retry-after", b"").decode("latin-1")
    more = {"retry_after": int(wait)} if wait.isdecimal() else {}
    made = problem(status, HTTPStatus(status).phrase, body.decode("utf-8", "replace"), **more)
    kept += [(b"content-type", PROBLEM.encode()), (b"content-length", str(len(made.body)).encode())]
    return {**start, "headers": kept}, {"type": "http.response.body", "body": made.body}
