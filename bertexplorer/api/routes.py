"""Routes: the whole API on one router, and the response to unknown addresses."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from bertexplorer.api import (
    analyses,
    checkpoints,
    classroom,
    documents,
    encode,
    experiments,
    files,
    lectures,
    lessons,
    runs,
    shared_runs,
    suite_runs,
    view,
)
from bertexplorer.api.admission import Admission, problem, to_response
from bertexplorer.api.calls import Backend
from bertexplorer.api.perform import InProcess
from bertexplorer.api.tools import MISSING
from bertexplorer.classroom.classroom import Classroom
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.runs.experiments import ExperimentService
from bertexplorer.runs.service import RunService

METHODS = ["GET", "HEAD", "POST", "DELETE"]


def routes(
    answerer: Answerer,
    queues: RequestQueues,
    opening: State,
    service: RunService | None = None,
    backend: Backend | None = None,
) -> APIRouter:
    """*queues*: where requests wait. *opening*: the state with which the page opens. *service*: the runs, if any.
    *backend*: where views are computed, None for this process."""
    admission, checkpoint = Admission(queues), opening.checkpoint
    catalogue = LessonCatalogue.of(answerer.registry.settings)
    answering = backend or InProcess(answerer, admission, opening)
    rooms = Classroom(answerer.registry.settings.data_dir / "class")
    page = view.routes(answerer, admission, opening, catalogue, answering)
    parts = [
        analyses.routes(answering, checkpoint),
        encode.routes(answering, checkpoint),
        checkpoints.routes(answerer, admission, backend),
        page,
        lessons.routes(answerer, admission, catalogue, opening, answering),
        lectures.routes(catalogue),
        classroom.routes(answerer, admission, catalogue, rooms, opening, answering),
    ]
    if service:
        parts += [
            files.routes(answerer.registry.settings, service.quota),
            shared_runs.routes(service),
            runs.routes(service, admission, checkpoint),
            experiments.routes(ExperimentService(service), admission),
            suite_runs.routes(service, answerer, admission, checkpoint),
        ]
    parts += [documents.routes([route for part in parts for route in part.routes])]
    router, known = APIRouter(), [route for part in parts for route in part.routes]
    for part in sorted(parts, key=lambda part: part is not page):  # routes are tried in turn: what is asked most, first
        router.routes.extend(part.routes)

    @router.api_route("/mcp", methods=METHODS, include_in_schema=False)
    async def no_tools() -> Response:
        """Reached where the MCP SDK is not installed."""
        return to_response(problem(404, "Not Found", f"{MISSING}, and start the server again."))

    @router.api_route("/api/{rest:path}", methods=METHODS, include_in_schema=False)
    async def nothing(request: Request) -> Response:
        """Unknown addresses and methods, which gradio would answer with its page."""
        fitting = [route for route in known if route.matches(request.scope)[0] == Match.PARTIAL]
        allowed = ", ".join(sorted(method for route in fitting for method in getattr(route, "methods", ())))
        if allowed:
            wrong = problem(405, "Method Not Allowed", f"This address answers {allowed} only, not {request.method}.")
            wrong.headers["allow"] = allowed
            return to_response(wrong)
        detail = f"There is no {request.url.path[:60]} here. GET /api/v1/openapi.json lists what there is."
        return to_response(problem(404, "Not Found", detail))

    return router
