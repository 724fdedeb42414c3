"""Checkpoints: list them, and fetch one."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.api.admission import Admission, Reply, SendLine, json_reply, parse_json, to_response
from bertexplorer.api.models import TEXT, CheckpointOf, body
from bertexplorer.api.problems import Route
from bertexplorer.errors import ExplorerError
from bertexplorer.store.registry import PRECISIONS
from bertexplorer.ui import facts
from bertexplorer.ui.explore import Explore

NAMED = body(("name",), {"name": "mini"}, name=TEXT, precision={**TEXT, "enum": PRECISIONS})


def routes(explore: Explore, admission: Admission) -> APIRouter:
    """GET and POST /api/v1/checkpoints."""
    router = APIRouter(prefix="/api/v1/checkpoints", route_class=Route, tags=["Checkpoints"])

    def mine(request: Request) -> Explore:
        return explore.of(request.scope["state"]["owner"])

    @router.get(
        "", operation_id="list-checkpoints", summary="List checkpoints", responses={200: {"model": list[CheckpointOf]}}
    )
    def checkpoints(request: Request) -> Response:
        """The checkpoints that may be chosen."""
        return to_response(json_reply(facts.checkpoints(mine(request).library)))

    @router.post("", operation_id="fetch-checkpoint", summary="Fetch a checkpoint", openapi_extra=NAMED)
    async def fetch(request: Request) -> Response:
        """Download a checkpoint from the hub; lines ahead of the answer report progress."""
        own, wanted = mine(request), parse_json(await request.body())

        def fetched(send_line: SendLine) -> Reply:
            name, precision = named(wanted)
            for sentence in own.fetch(name):
                send_line({"notice": sentence})
            own.library.get(name, precision)
            return json_reply({"name": name})

        return admission.respond(request, fetched, queued=False)

    return router


def named(wanted: Any) -> tuple[str, str]:
    """(name, precision) of a request. Raises ExplorerError."""
    if not isinstance(wanted, dict) or not isinstance(wanted.get("name"), str):
        raise ExplorerError('The request names no checkpoint. Send {"name": "…"}.')
    if unknown := sorted(set(wanted) - {"name", "precision"}):
        raise ExplorerError(f"The request has {unknown[0]!r:.40}; wanted name, precision.")
    precision = wanted.get("precision", "auto")
    if precision not in PRECISIONS:
        raise ExplorerError(f"precision: got {precision!r:.60}; wanted one of {', '.join(PRECISIONS)}.")
    return wanted["name"].strip(), precision
