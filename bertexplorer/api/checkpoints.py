"""Checkpoints: list them, and download one."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.api.admission import Admission, Reply, SendLine, json_reply, parse_json, to_response
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.models import TEXT, CheckpointModel, body
from bertexplorer.api.problems import Route
from bertexplorer.core import provenance
from bertexplorer.core.ask import Answerer
from bertexplorer.errors import ExplorerError
from bertexplorer.store.registry import PRECISIONS

REQUEST = body(("name",), {"name": "mini"}, name=TEXT, precision={**TEXT, "enum": PRECISIONS})


def routes(answerer: Answerer, admission: Admission, backend: Backend | None) -> APIRouter:
    """GET and POST /api/v1/checkpoints. *backend*: where checkpoints are loaded, None for this process."""
    router = APIRouter(prefix="/api/v1/checkpoints", route_class=Route, tags=["Checkpoints"])

    def answerer_of(request: Request) -> Answerer:
        return answerer.for_owner(request.scope["state"]["owner"])

    @router.get(
        "",
        operation_id="list-checkpoints",
        summary="List checkpoints",
        responses={200: {"model": list[CheckpointModel]}},
    )
    def checkpoints(request: Request) -> Response:
        """The checkpoints to choose from."""
        return to_response(json_reply(provenance.offered_checkpoints(answerer_of(request).registry)))

    @router.post("", operation_id="fetch-checkpoint", summary="Fetch a checkpoint", openapi_extra=REQUEST)
    async def fetch(request: Request) -> Response:
        """Download a checkpoint from the hub; lines ahead of the answer report progress."""
        own, fields = answerer_of(request), parse_json(await request.body())

        def download(send_line: SendLine) -> Reply:
            name, precision = parse_request(fields)
            for notice in own.fetch(name):
                send_line({"notice": notice})
            if backend:
                call = Call("load", "", request.scope["state"]["owner"], {"checkpoint": name, "precision": precision})
                return backend.task(call).start(send_line).result()
            own.registry.get(name, precision)
            return json_reply({"name": name})

        return admission.respond(request, download, queued=False)

    return router


def parse_request(fields: Any) -> tuple[str, str]:
    """Return (name, precision). Raises ExplorerError."""
    if not isinstance(fields, dict) or not isinstance(fields.get("name"), str):
        raise ExplorerError('The request names no checkpoint. Send {"name": "…"}.')
    if unknown := sorted(set(fields) - {"name", "precision"}):
        raise ExplorerError(f"The request has {unknown[0]!r:.40}; wanted name, precision.")
    precision = fields.get("precision", "auto")
    if precision not in PRECISIONS:
        raise ExplorerError(f"precision: got {precision!r:.60}; wanted one of {', '.join(PRECISIONS)}.")
    return fields["name"].strip(), precision
