"""Runs: start, list, follow and stop fine-tuning; each run belongs to its owner."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path as Folder
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, Field, create_model
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bertexplorer.api.admission import Admission, Reply, SendLine, json_reply, problem, to_response
from bertexplorer.api.models import StrictModel, of_type, one_of, option_fields
from bertexplorer.api.problems import Route
from bertexplorer.errors import ExplorerError
from bertexplorer.runs.service import MAX_SEEDS, RunRequest, RunService
from bertexplorer.store import runs
from bertexplorer.store.runs import LIVE_STATES, MAX_NAME, Run
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME

POLL_S, PING_S = 0.5, 15.0  # between two reads of a run's log, and between two signs of life to the client
MAX_STREAMS = 100
RETRY_AFTER_S = 10
MAX_ROWS = 50_000
EXAMPLE = {"task": "classification", "name": "my first run", "settings": {"epochs": 1.0}}
PUBLIC_SPEC = ("checkpoint", "options", "tuning", "data", "experiment", "arm")  # fields of spec.json without paths
STREAM = "text/event-stream"
Rows = Annotated[list[dict[str, Any]] | None, Field(max_length=MAX_ROWS)]
Id = Annotated[str, Path(description="The id of a run", pattern=r"^[\w.-]{1,100}$")]


class RunModel(BaseModel):
    """The current state of a run."""

    id: str
    name: str
    kind: str = Field(description="finetuning or pretraining")
    task: str
    state: str = Field(
        description="queued, starting, running, stopping, stopped, finished, failed, interrupted or deleted"
    )
    message: str = Field(description="Its state, for people.")
    progress: float = Field(description="From 0 to 1.")
    step: int
    seconds_left: float | None
    created: float = Field(description="Unix seconds.")
    group: str = Field(description="Shared by the seeds of one request.")
    best: str = Field(description="The name of its best checkpoint, for the field checkpoint of an analysis; or empty.")
    spec: dict[str, Any] = Field(description="What it learns from and how.")


class NewRunModel(StrictModel):
    """The fields of a new run that all tasks share."""

    name: Annotated[str, Field(max_length=MAX_NAME)] = ""
    dev: Annotated[Rows, Field(description="Rows for validation. Null: a part of the others.")] = None
    mapping: Annotated[dict[str, str], Field(description="Our columns -> those of the rows, where they differ.")] = {}
    skip: Annotated[bool, Field(description="Leave out rows that cannot be used; else they stop the run.")] = True
    seeds: Annotated[int, Field(ge=1, le=MAX_SEEDS, description="Runs that differ in their seed alone.")] = 1
    key: Annotated[str, Field(max_length=100, description="The same key gives the same run again.")] = ""


def run_json(run: Run) -> dict[str, Any]:
    """The fields of RunModel."""
    spec = {name: value for name, value in (run.spec or {}).items() if name in PUBLIC_SPEC}
    best = [saved.name for saved in runs.list_checkpoints(run) if saved.name == f"run:{run.id}"]
    fields = {name: getattr(run, name) for name in RunModel.model_fields if name not in ("kind", "best", "spec")}
    return {**fields, "kind": (run.spec or {}).get("kind", ""), "best": "".join(best), "spec": spec}


def request_model(checkpoint: str) -> Any:
    """The model of a new run: a union with a model for each task. *checkpoint*: the default."""
    union: Any = None
    for name, task in BY_NAME.items():
        title = "".join(part.title() for part in name.split("-"))
        settings = create_model(
            f"{title}Settings",
            __base__=StrictModel,
            **option_fields(Tuning, task.DEFAULTS),
            **option_fields(task.Options),
        )
        columns = ", ".join(column.name for column in task.COLUMNS)
        help = f"Objects with {columns}; null: built-in rows. A request may have 1 MB; upload more on the Train page."
        task_fields: dict[str, Any] = {
            "task": (one_of((name,)), ...),
            "checkpoint": (Annotated[str, Field(max_length=500)], checkpoint),
            "rows": (Annotated[Rows, Field(description=help)], None),
            "settings": (settings, Field(default_factory=settings)),
        }
        model: Any = create_model(f"{title}Run", __base__=NewRunModel, **task_fields)
        union = model if union is None else union | model
    return Annotated[union, Field(discriminator="task")]


def routes(service: RunService, admission: Admission, checkpoint: str) -> APIRouter:
    """Start, list, get, follow and stop runs."""
    router, streams = APIRouter(prefix="/api/v1/runs", route_class=Route, tags=["Runs"]), Streams(service)
    new_run = request_model(checkpoint)

    @router.get("", operation_id="list-runs", summary="List runs", responses={200: {"model": list[RunModel]}})
    def list_runs(request: Request) -> Response:
        """Your runs, newest first."""
        return to_response(json_reply([run_json(run) for run in service.jobs.runs(owner(request))]))

    @router.post(
        "", operation_id="start-run", summary="Start a run", status_code=202, responses={202: {"model": RunModel}}
    )
    async def start(request: Request, body: Annotated[new_run, Body(examples=[EXAMPLE])]) -> Response:  # type: ignore[valid-type]
        """Fine-tune a checkpoint on built-in rows or on yours. The run waits in a queue. Your cookie is its owner."""

        def compute(send_line: SendLine) -> Reply:
            run = start_run(service, body, owner(request))
            return Reply(orjson.dumps(run_json(run)), status=202, headers={"location": f"/api/v1/runs/{run.id}"})

        return admission.respond(request, compute, slow=True)

    @router.get("/{id}", operation_id="get-run", summary="Get a run", responses={200: {"model": RunModel}})
    def get(request: Request, id: Id) -> Response:
        """One run."""
        return to_response(find_run(service, id, owner(request), run_json))

    @router.get("/{id}/events", operation_id="follow-run", summary="Follow a run", **of_type(STREAM))
    async def follow(request: Request, id: Id) -> Response:
        """The log of a run as server-sent events, until the run ends. The last event, "end", contains the run.
        Last-Event-ID continues after that event."""
        reply = await asyncio.to_thread(find_run, service, id, owner(request), lambda run: None)
        return to_response(reply) if reply.status != 200 else streams.follow(request, id)

    @router.delete("/{id}", operation_id="stop-run", summary="Stop a run", responses={200: {"model": RunModel}})
    def stop(request: Request, id: Id) -> Response:
        """End a run after its next commit. Does nothing if it has ended."""
        return to_response(
            find_run(service, id, owner(request), lambda run: run_json(service.supervisor.stop(run.id, run.owner)))
        )

    return router


def owner(request: Request) -> str:
    return str(request.scope["state"]["owner"])


def find_run(service: RunService, id: str, owner: str, answer: Any) -> Reply:
    """The reply that *answer* makes for a run; 404 if the owner has no run with this id."""
    try:
        run = service.jobs.run(id, owner)
    except ExplorerError as error:
        return problem(404, "Not there", str(error))
    return json_reply(answer(run))


def start_run(service: RunService, fields: Any, owner: str) -> Run:
    """Queue the run that the request body describes. Raises ExplorerError as RunService.start does."""
    if fields.mapping and fields.rows is None:
        raise ExplorerError("mapping: got columns; wanted rows to go with them. Leave it out for the built-in rows.")
    with tempfile.TemporaryDirectory(dir=service.jobs.folder) as folder:
        files = {}
        for name, rows in (("rows", fields.rows), ("dev", fields.dev)):
            if rows is not None:
                files[name] = Folder(folder) / f"{name}.json"
                files[name].write_text(json.dumps(rows), "utf-8")
        run_request = RunRequest(
            fields.task,
            fields.checkpoint,
            str(files.get("rows", "")),
            str(files.get("dev", "")),
            name=fields.name,
            mapping=fields.mapping,
            values=fields.settings.model_dump(exclude_unset=True),
            skip=fields.skip,
            seeds=fields.seeds,
        )
        return service.start(run_request, owner, key=fields.key)


class Streams:
    """The logs of runs that clients follow. *count*: how many."""

    def __init__(self, service: RunService) -> None:
        self.service, self.count = service, 0

    def follow(self, request: Request, id: str) -> Response:
        """The log of one of the caller's runs, from Last-Event-ID on."""
        if self.count >= MAX_STREAMS:
            detail = f"Busy: {self.count} clients follow runs already. Try again in {RETRY_AFTER_S} s."
            return to_response(problem(503, "Busy", detail, retry_after=RETRY_AFTER_S))
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
                idle = 0.0 if new else idle + POLL_S
                if idle >= PING_S:
                    idle = 0.0
                    yield b": still there\n\n"
                await asyncio.sleep(POLL_S)
        except ExplorerError as error:  # the run was deleted
            yield server_sent_event("gone", {"detail": str(error)}, None)
        finally:
            self.count -= 1

    def read(self, id: str, owner: str, since: int) -> tuple[Run, list[dict[str, Any]], int]:
        """(the run, its events from byte *since* on, where the next read begins). The state is read first: events that
        are written later belong to the next read, unless the run has ended and writes no more."""
        run = self.service.jobs.run(id, owner)
        return run, *runs.read_events(run.folder, since)


def server_sent_event(kind: str, data: dict[str, Any], id: int | None) -> bytes:
    """*id*: the byte of the log after the event. NaN and infinity, which JSON lacks, become null."""
    finite = json.loads(json.dumps(data), parse_constant=lambda _: None)
    id_line = f"id: {id}\n" if id is not None else ""
    return f"{id_line}event: {' '.join(kind.split())}\ndata: {json.dumps(finite, allow_nan=False)}\n\n".encode()
