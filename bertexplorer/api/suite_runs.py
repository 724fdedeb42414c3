"""Suites of any size as runs: start one, and get its cases."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, create_model
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from bertexplorer.api.admission import Admission, Reply, SendLine, problem, to_response
from bertexplorer.api.models import StrictModel, of_type, option_fields
from bertexplorer.api.problems import Route
from bertexplorer.api.run_models import RunModel, run_json
from bertexplorer.api.runs import Id, owner
from bertexplorer.core.ask import Answerer
from bertexplorer.errors import ExplorerError
from bertexplorer.options import build
from bertexplorer.runs import analysis, suite as suite_run
from bertexplorer.runs.run_folder import MAX_NAME
from bertexplorer.runs.service import RunService
from bertexplorer.views import VIEWS
from bertexplorer.views.rows import NumberedRow
from bertexplorer.views.suite.compute import Options, name_of, own_or_built_in

MAX_LISTED = 1000  # cases in one response


class CasesModel(BaseModel):
    """A part of the cases of a suite."""

    title: str
    columns: list[str] | None = Field(None, description="The headings of the table, if they are not those of a suite.")
    total: int = Field(description="Cases of the suite.")
    found: int = Field(description="Cases that fit the filter.")
    categories: list[str]
    score: str = Field(description="What the scores are.")
    rows: list[dict[str, Any]] = Field(
        description="line, category, texts, wanted, answer, right, score, rank, others: the answer, right and score of "
        "the run beside it, and link: the case in Explore."
    )
    comparable: list[dict[str, str]] = Field(description="id and name of other finished suites of the same rows.")
    sides: list[str] | None = Field(None, description="With beside: the name of that run.")
    said: str | None = Field(None, description="With beside: the paired test of that run against this one.")


class AnalysisRunRequest(StrictModel):
    """A view to be computed as a run."""

    view: str = Field(max_length=60, examples=["not-found"])
    options: dict[str, Any] = Field({}, description="The view's options, with rows, a key from POST /rows.")
    checkpoint: str = Field("", max_length=500, description="Empty: the one that the page opens with.")
    precision: str = Field("auto", max_length=10)
    name: str = Field("", max_length=MAX_NAME)


def request_model(checkpoint: str) -> Any:
    """The model of a new run. *checkpoint*: the default."""
    fields: dict[str, Any] = {name: field for name, field in option_fields(Options).items() if name != "most"}
    fields |= {
        "checkpoint": (Annotated[str, Field(max_length=500)], checkpoint),
        "precision": (Annotated[str, Field(max_length=10)], "auto"),
        "name": (Annotated[str, Field(max_length=MAX_NAME)], ""),
    }
    return create_model("SuiteRunRequest", __base__=StrictModel, **fields)


def routes(service: RunService, answerer: Answerer, admission: Admission, checkpoint: str) -> APIRouter:
    router = APIRouter(prefix="/api/v1/suites", route_class=Route, tags=["Runs"])
    new_run = request_model(checkpoint)

    @router.post(
        "",
        operation_id="start-suite",
        summary="Score a suite as a run",
        status_code=202,
        responses={202: {"model": RunModel}},
    )
    async def start(request: Request, body: new_run) -> Response:  # type: ignore[valid-type]
        """Score all rows of a suite, 100,000 at most, in the background. *rows*: a key from POST /rows."""

        def compute(send_line: SendLine) -> Reply:
            return start_suite(service, answerer.for_owner(owner(request)), body)

        return admission.respond(request, compute, slow=True)

    @router.post(
        "/view",
        operation_id="start-analysis",
        summary="Compute a view of uploaded rows as a run",
        status_code=202,
        responses={202: {"model": RunModel}},
    )
    async def start_view(request: Request, body: AnalysisRunRequest) -> Response:
        """Compute a view that reads rows and has a table of cases, such as *not-found*, in the background. The run goes
        on without the page and can be stopped. The option *rows* is a key from POST /rows."""

        def compute(send_line: SendLine) -> Reply:
            return start_analysis(service, answerer.for_owner(owner(request)), body, checkpoint)

        return admission.respond(request, compute, slow=True)

    table = of_type("text/csv")

    @router.get("/{id}/cases", operation_id="get-suite-cases", summary="Download the cases of a suite", **table)
    def cases(request: Request, id: Id) -> Response:
        """The scored cases as CSV, once the run is finished."""
        return csv_file(service, request, id, "cases.csv")

    @router.get("/{id}/summary", operation_id="get-suite-summary", summary="Download the score of a suite", **table)
    def summary(request: Request, id: Id) -> Response:
        """The score as CSV, overall and by category, once the run is finished. Runs of earlier versions have none."""
        return csv_file(service, request, id, "summary.csv")

    @router.get(
        "/{id}/table",
        operation_id="list-suite-cases",
        summary="List the cases of a suite",
        responses={200: {"model": CasesModel}},
    )
    async def table_of(
        request: Request,
        id: Id,
        which: suite_run.Which = "all",
        category: Annotated[str, Query(max_length=1000)] = "",
        order: suite_run.Order = "file",
        start: Annotated[int, Query(ge=0)] = 0,
        count: Annotated[int, Query(ge=0, le=MAX_LISTED)] = 25,
        beside: Annotated[str, Query(max_length=32, description="The ID of another suite of the same rows.")] = "",
    ) -> Response:
        """A part of the scored cases, filtered and sorted, once the run is finished. With *beside*, the answers of
        another run are added, and the paired test of the two; which=differ lists the cases on which they differ."""
        try:
            run = service.jobs.run(id, owner(request))
            other = service.jobs.run(beside, owner(request)) if beside else None
            page = await run_in_threadpool(suite_run.page, run, which, category, order, start, count, other)
            others = suite_run.comparable_runs(run, service.runs(owner(request)))
            page["comparable"] = [{"id": each.id, "name": each.name} for each in others]
        except ExplorerError as error:
            return to_response(problem(404, "Not found", str(error)))
        return Response(orjson.dumps(page), media_type="application/json")

    return router


def start_suite(service: RunService, answerer: Answerer, request: Any) -> Reply:
    """Start the run of a suite. *request*: see `request_model`."""
    service.quota.check(answerer.owner)
    checkpoint = answerer.registry.get(request.checkpoint, request.precision)
    rows: Sequence[NumberedRow]
    if request.rows:
        rows, named = answerer.rows.load(request.rows).rows, "uploaded rows"
    else:
        rows = own_or_built_in(request.suite, request.pairs, request.pairs_mean)
        named = name_of(request.suite, request.pairs)
    name = request.name or f"Suite, {named}, {request.checkpoint}"
    run = suite_run.begin(service.jobs, answerer.owner, checkpoint, rows, request.scoring, name[:MAX_NAME])
    return Reply(orjson.dumps(run_json(run)), status=202, headers={"location": f"/api/v1/runs/{run.id}"})


def start_analysis(service: RunService, answerer: Answerer, request: AnalysisRunRequest, default: str) -> Reply:
    """Start the run of a view. *default*: its checkpoint, if the request names none."""
    service.quota.check(answerer.owner)
    if request.view not in VIEWS:
        raise ExplorerError(f"There is no view {request.view!r:.60}.")
    view = VIEWS[request.view]
    options = asdict(build(view.analysis.Options, request.options))
    wanted = request.checkpoint or default
    checkpoint = answerer.registry.get(wanted, request.precision)
    key = str(options.get("rows", ""))
    if not key:
        raise ExplorerError("There are no uploaded rows. Upload some first; what is built in is computed at once.")
    rows = answerer.rows.load(key).rows
    name = request.name or f"{view.title}, {wanted}"
    run = analysis.begin(service.jobs, answerer.owner, checkpoint, view, options, rows, name[:MAX_NAME])
    return Reply(orjson.dumps(run_json(run)), status=202, headers={"location": f"/api/v1/runs/{run.id}"})


def csv_file(service: RunService, request: Request, id: str, name: str) -> Response:
    """The file *name* of a finished suite."""
    try:
        folder = service.jobs.run(id, owner(request)).folder
    except ExplorerError as error:
        return to_response(problem(404, "Not found", str(error)))
    if not (folder / "suite" / name).is_file():
        reason = "The run has not finished, so it has no cases yet. Wait for it."
        if suite_run.stored_result(folder):
            reason = f"An earlier version scored the run without {name}. Score the suite again."
        return to_response(problem(404, "Not found", reason))
    return FileResponse(folder / "suite" / name, media_type="text/csv; charset=utf-8", filename=name)
