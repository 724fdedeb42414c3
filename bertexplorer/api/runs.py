"""Runs: fine-tune a checkpoint, from the first look at the rows to what the run has learned. Each run belongs to its
owner."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Generator
from functools import partial
from pathlib import Path as Folder
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Path, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bertexplorer.api.admission import Admission, Reply, SendLine, json_reply, problem, to_response
from bertexplorer.api.files import FileModel, file_json
from bertexplorer.api.models import of_type
from bertexplorer.api.page import setting_schema
from bertexplorer.api.problems import Route
from bertexplorer.api.public_address import shared_link
from bertexplorer.api.run_models import (
    AgainModel,
    ExportModel,
    HubModel,
    RenameModel,
    ReportModel,
    RowModel,
    RunModel,
    TasksModel,
    request_model,
    run_json,
    task_json,
)
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.options import option_specs
from bertexplorer.runs import export, run_folder, trace
from bertexplorer.runs.prepare import RunPreview, RunRequest
from bertexplorer.runs.report import report, rows_in_cell
from bertexplorer.runs.run_folder import LIVE_STATES, Run
from bertexplorer.runs.service import Action, RunDetail, RunService
from bertexplorer.runs.sharing import SharedRuns
from bertexplorer.store import uploads
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME

POLL_S, PING_S = 0.5, 15.0  # between two reads of a run's log, and between two signs of life to the client
MAX_STREAMS = 1000  # the server bounds those of each browser and address
OFTEN = 100  # streams beyond which each log is read less often
RETRY_AFTER_S = 10
EXAMPLE = {"task": "classification", "name": "my first run", "settings": {"epochs": 1.0}}
ROW = {"row": {"text": "a great film"}}
STREAM = "text/event-stream"
ONE: dict[int | str, dict[str, Any]] = {200: {"model": RunModel}}
ACCEPTED: dict[int | str, dict[str, Any]] = {202: {"model": RunModel}}
Id = Annotated[str, Path(description="The id of a run", pattern=r"^[\w.-]{1,100}$")]
Beside = Annotated[str, Query(max_length=400, description="IDs of runs to compare, separated by commas.")]
Label = Annotated[str, Query(max_length=1000)]


def routes(service: RunService, admission: Admission, checkpoint: str) -> APIRouter:
    """All routes of fine-tuning runs. *checkpoint*: the one that a run starts from by default."""
    router = APIRouter(prefix="/api/v1", route_class=Route, tags=["Runs"])
    add_setup(router, service, admission, checkpoint)
    add_life(router, service)
    add_results(router, service, admission)
    add_exports(router, service, admission)
    add_actions(router, service)  # last, as any word fits its address
    return router


def add_setup(router: APIRouter, service: RunService, admission: Admission, checkpoint: str) -> None:
    """Add the routes before a run."""
    NewRun: Any = Annotated[request_model(checkpoint), Body(examples=[EXAMPLE])]

    @router.get("/tasks", operation_id="list-tasks", summary="List tasks", responses={200: {"model": TasksModel}})
    def tasks() -> Response:
        """What a checkpoint can be fine-tuned for, with all settings."""
        offered = [s for s in option_specs(Tuning) if s.name != "report_to" or service.settings.local]
        settings = [setting_schema(setting) for setting in offered]
        return to_response(json_reply({"tasks": [task_json(name) for name in BY_NAME], "settings": settings}))

    @router.post(
        "/runs/preview", operation_id="preview-run", summary="Preview a run", responses={200: {"model": RunPreview}}
    )
    async def preview(request: Request, body: NewRun) -> Response:
        """What a run would learn from. The rows are read once: starting the same run does not read them again."""

        def compute(send_line: SendLine) -> Reply:
            with TemporaryDirectory(dir=service.jobs.folder) as folder:
                run_request = read_request(service, body, owner(request), Folder(folder))
                found = service.preview(run_request, owner(request))
                if body.timed and not found.stops:

                    def tell(words: str) -> None:
                        send_line({"notice": words})

                    found = service.prepared.time(run_request, owner(request), tell, progress.check)
            return json_reply(found)

        return admission.respond(request, compute, slow=True)

    @router.post("/runs", operation_id="start-run", summary="Start a run", status_code=202, responses=ACCEPTED)
    async def start(request: Request, body: NewRun) -> Response:
        """Fine-tune a checkpoint on built-in rows or on yours. The run waits in a queue. Your cookie is its owner."""

        def compute(send_line: SendLine) -> Reply:
            with TemporaryDirectory(dir=service.jobs.folder) as folder:
                run_request = read_request(service, body, owner(request), Folder(folder))
                return started(service.start(run_request, owner(request), key=body.key))

        return admission.respond(request, compute, slow=True)


def add_life(router: APIRouter, service: RunService) -> None:
    """Add the routes that list, follow, stop and resume runs."""
    streams = Streams(service)

    @router.get("/runs", operation_id="list-runs", summary="List runs", responses={200: {"model": list[RunModel]}})
    def list_runs(request: Request, deleted: bool = False) -> Response:
        """Your runs, newest first. *deleted*: those that can be restored instead."""
        return to_response(json_reply([run_json(run) for run in service.jobs.runs(owner(request), deleted=deleted)]))

    @router.get("/runs/{id}", operation_id="get-run", summary="Get a run", responses=ONE)
    def get(request: Request, id: Id) -> Response:
        """One run."""
        return to_response(find_run(service, id, owner(request), run_json))

    @router.get("/runs/{id}/events", operation_id="follow-run", summary="Follow a run", **of_type(STREAM))
    async def follow(request: Request, id: Id) -> Response:
        """The log of a run as server-sent events, until the run ends. The last event, "end", contains the run.
        Last-Event-ID continues after that event."""
        reply = await asyncio.to_thread(find_run, service, id, owner(request), lambda run: None)
        return to_response(reply) if reply.status != 200 else streams.follow(request, id)

    @router.delete("/runs/{id}", operation_id="stop-run", summary="Stop a run", responses=ONE)
    def stop(request: Request, id: Id) -> Response:
        """End a run after its next commit. Does nothing if it has ended."""
        return to_response(
            find_run(service, id, owner(request), lambda run: run_json(service.supervisor.stop(run.id, run.owner)))
        )

    @router.post("/runs/{id}/rename", operation_id="rename-run", summary="Rename a run", responses=ONE)
    def rename(request: Request, id: Id, body: RenameModel) -> Response:
        """Give a run another name."""
        return to_response(
            find_run(service, id, owner(request), lambda run: run_json(service.rename(id, owner(request), body.name)))
        )

    @router.post(
        "/runs/{id}/again",
        operation_id="repeat-run",
        summary="Run again",
        status_code=202,
        responses=ACCEPTED,
    )
    def again(request: Request, id: Id, body: AgainModel) -> Response:
        """Start a run again from the beginning, as a new run, with other settings if you like."""
        values = {name: value for name, value in body.model_dump()["settings"].items() if value is not None}
        found = find_run(service, id, owner(request), lambda run: None)
        if found.status != 200:
            return to_response(found)
        return to_response(started(service.again(id, owner(request), values, key=body.key)))


def add_results(router: APIRouter, service: RunService, admission: Admission) -> None:
    """Add the routes of what a run has learned."""
    of_report: dict[int | str, dict[str, Any]] = {200: {"model": ReportModel}}
    shared = SharedRuns(service.settings.data_dir / "shared")
    respond = partial(answered, service, admission)

    @router.get("/runs/{id}/report", operation_id="report-run", summary="Report of a run", responses=of_report)
    def report_of(request: Request, id: Id, beside: Beside = "") -> Response:
        """What a run has learned so far: curves, metrics, wrong answers, and what can be done next."""

        def answer(run: Run) -> dict[str, Any]:
            found = report(service, id, owner(request), [other for other in beside.split(",") if other])
            key = shared.key_of(run.id)
            link = shared_link(service.settings, request.url, key) if key else None
            return {**found, "run": run_json(run), "shared": link}

        return to_response(find_run(service, id, owner(request), answer))

    @router.get("/runs/{id}/rows", operation_id="list-cell", summary="Rows of a confusion")
    def rows(request: Request, id: Id, gold: Label, predicted: Label) -> Response:
        """The validation rows with the label *gold* that were answered with *predicted*."""
        return to_response(with_detail(service, request, id, lambda run: rows_in_cell(service, run, gold, predicted)))

    @router.post("/runs/{id}/try", operation_id="try-run", summary="Try a run")
    async def try_run(request: Request, id: Id, body: Annotated[RowModel, Body(examples=[ROW])]) -> Response:
        """The answer of a run's best checkpoint to a new row."""
        return respond(request, id, lambda detail, send_line: service.answer(detail, body.row), slow=False)

    @router.post("/runs/{id}/influence", operation_id="trace-run", summary="Which rows taught it this?")
    async def influence(request: Request, id: Id, body: Annotated[RowModel, Body(examples=[ROW])]) -> Response:
        """The training rows behind the answer to a new row."""
        return respond(
            request,
            id,
            lambda run, send_line: followed(trace.influence_tables(run, body.row), send_line),
        )

    @router.post("/runs/{id}/suspects", operation_id="suspect-rows", summary="Find wrong labels")
    async def suspects(request: Request, id: Id) -> Response:
        """The training rows whose labels look wrong."""
        return respond(request, id, lambda run, send_line: followed(trace.suspect_table(run), send_line))


def add_exports(router: APIRouter, service: RunService, admission: Admission) -> None:
    """Add the routes that take a run's best checkpoint elsewhere."""
    of_file: dict[int | str, dict[str, Any]] = {200: {"model": FileModel}}
    respond = partial(answered, service, admission)

    @router.post("/runs/{id}/export", operation_id="export-run", summary="Export a run", responses=of_file)
    async def export_run(request: Request, id: Id, body: ExportModel) -> Response:
        """The best checkpoint of a run as a file, which GET /api/v1/files/{file} sends."""
        write, folder = {"zip": export.write_zip, "onnx": export.write_onnx}[body.kind], service.settings.uploads_dir

        def answer(detail: RunDetail, send_line: SendLine) -> dict[str, str]:
            return file_json(write(detail, folder, owner(request), with_rows=body.with_rows))

        return respond(request, id, answer)

    @router.post("/runs/{id}/upload", operation_id="upload-run", summary="Upload a run to the hub")
    async def upload(request: Request, id: Id, body: HubModel) -> Response:
        """Upload the best checkpoint of a run to the hub, as a private repository."""

        def answer(detail: RunDetail, send_line: SendLine) -> dict[str, str]:
            return {"address": export.upload(detail, body.repository, body.token, with_rows=body.with_rows)}

        return respond(request, id, answer, queued=False)


def add_actions(router: APIRouter, service: RunService) -> None:
    """Add the route that changes the state of a run."""

    @router.post("/runs/{id}/{action}", operation_id="change-run", summary="Change a run", responses=ONE)
    def act(request: Request, id: Id, action: Action) -> Response:
        """Stop a run after its next commit, resume one that was stopped, delete one, or restore a deleted one within a
        week."""
        return to_response(
            find_run(service, id, owner(request), lambda run: run_json(service.act(action, run.id, owner(request))))
        )


def owner(request: Request) -> str:
    return str(request.scope["state"]["owner"])


def started(run: Run) -> Reply:
    """The reply to the start of *run*."""
    return Reply(orjson.dumps(run_json(run)), status=202, headers={"location": f"/api/v1/runs/{run.id}"})


def find_run(service: RunService, id: str, owner: str, answer: Any) -> Reply:
    """The reply that *answer* makes for a run; 404 if the owner has no run with this id."""
    try:
        run = service.jobs.run(id, owner)
    except ExplorerError as error:
        return problem(404, "Not found", str(error))
    return json_reply(answer(run))


def with_detail(service: RunService, request: Request, id: str, answer: Any) -> Reply:
    """The reply that *answer* makes for the details of a run; 404 if the caller has no run with this id."""
    return find_run(service, id, owner(request), lambda run: answer(service.detail(id, owner(request))))


def answered(
    service: RunService,
    admission: Admission,
    request: Request,
    id: str,
    answer: Callable[[RunDetail, SendLine], Any],
    *,
    slow: bool = True,
    queued: bool = True,
) -> Response:
    """The response with what *answer* makes of the details of a run, in a thread."""

    def compute(send_line: SendLine) -> Reply:
        return with_detail(service, request, id, lambda detail: answer(detail, send_line))

    return admission.respond(request, compute, slow=slow, queued=queued)


def followed(steps: Generator[float, None, dict[str, Any]], send_line: SendLine) -> dict[str, Any]:
    """What *steps* return; the shares that they yield are reported. Raises Stopped once nobody waits any more."""
    began = time.monotonic()
    try:
        while True:
            share = next(steps)
            progress.check()
            left = (time.monotonic() - began) * (1 - share) / share if share else 0.0
            send_line({"done": round(share, 3), "seconds": max(1, round(left))})
    except StopIteration as done:
        result: dict[str, Any] = done.value
        return result
    finally:
        steps.close()


def read_request(service: RunService, fields: Any, owner: str, folder: Folder) -> RunRequest:
    """The run that the request body describes; rows in it are written to *folder*. Raises ExplorerError for several
    sources of rows, for columns without rows, and for a file that the owner does not have."""
    files = {"file": fields.file, "dev": fields.dev_file}
    for name, rows in (("file", fields.rows), ("dev", fields.dev)):
        if files[name]:
            files[name] = str(uploads.find(service.settings.uploads_dir, files[name], owner))
        if rows is not None:
            if files[name]:
                raise ExplorerError(f"{name}: got a file and rows; wanted one of them.")
            path = folder / f"{'rows' if name == 'file' else 'dev'}.json"
            path.write_text(json.dumps(rows), "utf-8")
            files[name] = str(path)
    if files["file"] and fields.hub:
        raise ExplorerError("hub: got a data set and rows of your own; wanted one of them.")
    if fields.mapping and not (files["file"] or fields.hub):
        raise ExplorerError("mapping: got columns; wanted rows to go with them. Leave it out for the built-in rows.")
    return RunRequest(
        fields.task,
        fields.checkpoint,
        **files,
        hub=fields.hub.strip(),
        name=fields.name,
        mapping=fields.mapping,
        values=fields.settings.model_dump(exclude_unset=True),
        skip=fields.skip,
        beside=tuple(fields.beside),
        seeds=fields.seeds,
    )


class Streams:
    """The logs of runs that clients follow. *count*: how many."""

    def __init__(self, service: RunService) -> None:
        self.service, self.count = service, 0

    def follow(self, request: Request, id: str) -> Response:
        """The log of one of the caller's runs, from Last-Event-ID on."""
        if self.count >= MAX_STREAMS:
            detail = f"Busy: {self.count} clients follow runs already. Try again in {RETRY_AFTER_S} s."
            return to_response(problem(503, "The server is busy", detail, retry_after=RETRY_AFTER_S))
        since = request.headers.get("last-event-id", "0")
        position = int(since) if since.isdecimal() and len(since) < 19 else 0
        return StreamingResponse(self.events(request, id, position), media_type=STREAM)

    async def events(self, request: Request, id: str, since: int) -> AsyncIterator[bytes]:
        self.count += 1
        try:
            idle = 0.0
            while not await request.is_disconnected():
                run, new, since = await asyncio.to_thread(self.read, id, owner(request), since)
                for event in new:
                    yield server_sent_event(str(event["event"]), event, since if event is new[-1] else None)
                if run.state not in LIVE_STATES:
                    yield server_sent_event("end", await asyncio.to_thread(run_json, run), None)
                    return
                poll_s = POLL_S * max(1.0, self.count / OFTEN)
                idle = 0.0 if new else idle + poll_s
                if idle >= PING_S:
                    idle = 0.0
                    yield b": still there\n\n"
                await asyncio.sleep(poll_s)
        except ExplorerError as error:  # the run was deleted
            yield server_sent_event("gone", {"detail": str(error)}, None)
        finally:
            self.count -= 1

    def read(self, id: str, owner: str, since: int) -> tuple[Run, list[dict[str, Any]], int]:
        """(the run, its events from byte *since* on, where the next read begins). The state is read first: events that
        are written later belong to the next read, unless the run has ended and writes no more."""
        run = self.service.jobs.run(id, owner)
        return run, *run_folder.read_events(run.folder, since)


def server_sent_event(kind: str, data: dict[str, Any], id: int | None) -> bytes:
    """*id*: the byte of the log after the event. NaN and infinity, which JSON lacks, become null."""
    finite = json.loads(json.dumps(data), parse_constant=lambda _: None)
    id_line = f"id: {id}\n" if id is not None else ""
    return f"{id_line}event: {' '.join(kind.split())}\ndata: {json.dumps(finite, allow_nan=False)}\n\n".encode()
