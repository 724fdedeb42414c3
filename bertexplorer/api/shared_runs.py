"""Shared runs: the owner of a run makes a link, and whoever has it watches the run's curve, without the access code."""

from __future__ import annotations

import time

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.api.admission import Reply, json_reply, problem, to_response
from bertexplorer.api.models import of_type
from bertexplorer.api.problems import Route
from bertexplorer.api.public_address import public_address, qr_code, shared_link
from bertexplorer.api.runs import Id, find_run, owner
from bertexplorer.errors import ExplorerError
from bertexplorer.runs.report import can_share
from bertexplorer.runs.run_folder import Run
from bertexplorer.runs.service import RunService
from bertexplorer.runs.sharing import SharedRuns, shared_report

KEPT_S = 1.0  # how long an answer is given again: a whole class asks for the same


def routes(service: RunService) -> APIRouter:
    """POST /api/v1/runs/{id}/share and …/unshare; GET /api/v1/shared/{key} and its qr.svg."""
    router = APIRouter(prefix="/api/v1", route_class=Route, tags=["Runs"])
    shared = SharedRuns(service.settings.data_dir / "shared")
    answers: dict[str, tuple[float, Reply]] = {}  # key -> when it was made, the last answer

    @router.post("/runs/{id}/share", operation_id="share-run", summary="Share a run")
    def share(request: Request, id: Id) -> Response:
        """Make a link with which others watch the run's curve, its name and its state, and nothing else. A run that is
        shared already keeps its link."""

        def link(run: Run) -> dict[str, str]:
            if not can_share(run):
                raise ExplorerError(f"{run.name} cannot be shared: only runs of a task can, until they are deleted.")
            return shared_link(service.settings, request.url, shared.share(run.id))

        return to_response(find_run(service, id, owner(request), link))

    @router.post("/runs/{id}/unshare", operation_id="unshare-run", summary="Stop sharing a run")
    def unshare(request: Request, id: Id) -> Response:
        """End the link of a run."""

        def end(run: Run) -> dict[str, str]:
            answers.pop(shared.key_of(run.id), None)
            shared.end(run.id)
            return {"ended": run.id}

        return to_response(find_run(service, id, owner(request), end))

    @router.get("/shared/{key}", operation_id="watch-run", summary="Watch a shared run")
    def watch(key: str) -> Response:
        """The curve of a run that somebody shares."""
        made, reply = answers.get(key, (0.0, None))
        if reply is None or time.monotonic() - made > KEPT_S:
            try:
                reply = json_reply(shared_report(service, shared.run_of(key)))
            except ExplorerError as error:
                answers.pop(key, None)
                return to_response(problem(404, "Not found", str(error)))
            answers[key] = time.monotonic(), reply
        return to_response(reply)

    @router.get(
        "/shared/{key}/qr.svg", operation_id="shared-code", summary="A shared run's QR code", **of_type("image/svg+xml")
    )
    def code(request: Request, key: str) -> Response:
        """The address of a shared run as a QR code."""
        shared.run_of(key)
        return qr_code(public_address(service.settings, request.url, f"/r/{key}"))

    return router
