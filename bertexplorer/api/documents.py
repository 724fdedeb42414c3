"""Documents: the OpenAPI document of the API, and a page that shows it without a network."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson
from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute

from bertexplorer.api.admission import LINES, PROBLEM
from bertexplorer.api.problems import Problem, Route

STATIC = Path(__file__).parent / "static"
METHODS = ("get", "post", "delete")
ABOUT = (
    "Every analysis of BERT Explorer as one POST: rows, the result in a sentence, and the provenance of the numbers. "
    "Errors are application/problem+json with a sentence that says what was given, what was wanted and what to do. "
    f"A client that accepts {LINES} gets lines while it waits: its place in line or the share done, last "
    "the answer or the problem as {status, answer}. "
    "Where the server has an access code, send it as `Authorization: Bearer CODE`. Runs belong to the cookie that the "
    "first answer sets: keep it, as `curl -c jar -b jar` does."
)
ERRORS = {  # status -> (when, whether the response has Retry-After)
    "400": ("Not JSON, or a host name that the server does not answer to", False),
    "422": ("A field is invalid, or the analysis cannot be computed from it", False),
    "503": ("Too many requests are waiting", True),
    "default": ("Any other error", False),
}


def routes(documented: Sequence[BaseRoute]) -> APIRouter:
    """The OpenAPI document of the *documented* routes, and the page that shows it."""
    router = APIRouter(prefix="/api/v1", route_class=Route, include_in_schema=False)

    @cache
    def content() -> bytes:
        return orjson.dumps(document(documented))

    @router.get("/openapi.json")
    def openapi() -> Response:
        """The OpenAPI document."""
        return Response(content(), media_type="application/json")

    @router.get("/docs")
    def page() -> Response:
        """A page that shows the OpenAPI document."""
        return FileResponse(STATIC / "docs.html", headers={"cache-control": "no-cache"})

    @router.get("/docs/{name}")
    def part(name: Literal["docs.js", "docs.css"]) -> Response:
        """The page's script and style."""
        media_type = {"docs.js": "text/javascript", "docs.css": "text/css"}[
            name
        ]  # operating systems name these differently
        return FileResponse(STATIC / name, headers={"cache-control": "no-cache"}, media_type=media_type)

    return router


def document(documented: Sequence[BaseRoute]) -> dict[str, Any]:
    """OpenAPI 3.1 of the routes, including their errors."""
    openapi = get_openapi(title="BERT Explorer", version="1", description=ABOUT, routes=documented)
    schemas = openapi["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema()
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for path in openapi["paths"].values():
        for method in METHODS:
            if method in path:
                responses = path[method]["responses"]
                responses.pop("422", None)
                responses |= {
                    status: error_response(*error)
                    for status, error in ERRORS.items()
                    if method == "post" or status == "default"
                }
    return openapi


def error_response(when: str, has_retry_after: bool) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": when,
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if has_retry_after:
        response["headers"] = {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}}
    return response
