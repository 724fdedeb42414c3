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
from bertexplorer.api.models import Asked, fields, one_of
from bertexplorer.api.problems import Route
from bertexplorer.errors import ExplorerError
from bertexplorer.store import runs
from bertexplorer.store.runs import ACTIVE_STATES, MAX_NAME, Run
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.training.run_service import MOST_SEEDS, RunRequest, RunService

POLL_S, PING_S = 0.5, 15.0  # between two looks at a run's log, and between two signs of life to a follower
MOST_STREAMS = 100  # runs that may be followed at once
AGAIN_S = 10  # after which a client may try again
MOST_ROWS = 50_000
EXAMPLE = {"task": "classification", "name": "my first run", "settings": {"epochs": 1.0}}
SPEC = ("checkpoint", "options", "tuning", "data", "experiment", "arm")  # of spec.json what is shown: no paths
STREAM = "text/event-stream"
Rows = Annotated[list[dict[str, Any]] | None, Field(max_length=MOST_ROWS)]
Id = Annotated[str, Path(description="The id of a run", pattern=r"^[\w.-]{1,100}$")]


class RunOf(BaseModel):
    """The current state of a run."""

    id: str
    name: str
    kind: str = Field(description="finetuning or pretraining")
    task: str
    state: str = Field(
        description="queued, starting, running, stopping, stopped, finished, failed, interrupted or deleted"
    )
    message: str = Field(description="Its state, in words for a person.")
    progress: float = Field(description="From 0 to 1.")
    step: int
    seconds_left: float | None
    created: float = Field(description="Unix seconds.")
    group: str = Field(description="Shared by the seeds of one request.")
    best: str = Field(description="The name of its best checkpoint, for the field checkpoint of an analysis; or empty.")
    spec: dict[str, Any] = Field(description="What it learns from and how.")


class Wished(Asked):
    """The fields of a new run that all tasks share."""

    name: Annotated[str, Field(max_length=MAX_NAME)] = ""
    dev: Annotated[Rows, Field(description="Rows for validation. Null: a part of the others.")] = None
    mapping: Annotated[dict[str, str], Field(description="Our columns -> those of the rows, where they differ.")] = {}
    skip: Annotated[bool, Field(description="Leave out rows that cannot be used; else they stop the run.")] = True
    seeds: Annotated[int, Field(ge=1, le=MOST_SEEDS, description="Runs that differ in their seed alone.")] = 1
    key: Annotated[str, Field(max_length=100, description="The same key gives the same run again.")] = ""


def described(run: Run) -> dict[str, Any]:
    """A run as RunOf describes it, without its path on the disk."""
    spec = {name: value for name, value in (run.spec or {}).items() if name in SPEC}
    best = [saved.name for saved in runs.list_checkpoints(run) if saved.name == f"run:{run.id}"]
    held = {name: getattr(run, name) for name in RunOf.model_fields if name not in ("kind", "best", "spec")}
    return {**held, "kind": (run.spec or {}).get("kind", ""), "best": "".join(best), "spec": spec}


def wishes(checkpoint: str) -> Any:
    """The model of a new run: one for each task, discriminated by the task. *checkpoint*: the default."""
    made: Any = None
    for name, task in BY_NAME.items():
        title = "".join(part.title() for part in name.split("-"))
        settings = create_model(
            f"{title}Settings", __base__=Asked, **fields(Tuning, task.DEFAULTS), **fields(task.Options)
        )
        columns = ", ".join(column.name for column in task.COLUMNS)
        help = f"Objects with {columns}; null: built-in rows. A request may have 1 MB; upload more on the Train page."
        own: dict[str, Any] = {
            "task": (one_of((name,)), ...),
            "checkpoint": (Annotated[str, Field(max_length=500)], checkpoint),
            "rows": (Annotated[Rows, Field(description=help)], None),
            "settings": (settings, Field(default_factory=settings)),
        }
        model: Any = create_model(f"{title}Run", __base__=Wished, **own)
        made = model if made is None else made | model
    return Annotated[made, Field(discriminator="task")]


def routes(service: RunService, admission: Admission, checkpoint: str) -> APIRouter:
    """Start, list, look, follow, stop."""
    router, streams = APIRouter(prefix="/api/v1/runs", route_class=Route, tags=["Runs"]), Streams(service)
    wished = wishes(checkpoint)

    @router.get("", operation_id="list-runs", summary="List runs", responses={200: {"model": list[RunOf]}})
    def listed(request: Request) -> Response:
        """Your runs, the newest first."""
        return to_response(json_reply([described(run) for run in service.jobs.runs(owner(request))]))

    @router.post(
        "", operation_id="start-run", summary="Start a run", status_code=202, responses={202: {"model": RunOf}}
    )
    async def start(request: Request, asked: Annotated[wished, Body(examples=[EXAMPLE])]) -> Response:  # type: ignore[valid-type]
        """Fine-tune a checkpoint on built-in rows or on yours. The run waits in line; your cookie is its owner."""

        def compute(send_line: SendLine) -> Reply:
            run = begun(service, asked, owner(request))
            return Reply(orjson.dumps(described(run)), status=202, headers={"location": f"/api/v1/runs/{run.id}"})

        return admission.respond(request, compute, slow=True)

    @router.get("/{id}", operation_id="get-run", summary="Look at a run", responses={200: {"model": RunOf}})
    def look(request: Request, id: Id) -> Response:
        """One run."""
        return to_response(found(service, id, owner(request), described))

    @router.get(
        "/{id}/events", operation_id="follow-run", summary="Follow a run", responses={200: {"content": {STREAM: {}}}}
    )
    async def follow(request: Request, id: Id) -> Response:
        """What a run has written and goes on to write, as server-sent events, until it ends. The last one, "end",
        holds the run. Last-Event-ID goes on after that event."""
        missing = await asyncio.to_thread(found, service, id, owner(request), lambda run: None)
        return to_response(missing) if missing.status != 200 else streams.follow(request, id)

    @router.delete("/{id}", operation_id="stop-run", summary="Stop a run", responses={200: {"model": RunOf}})
    def stop(request: Request, id: Id) -> Response:
        """End a run after its next commit. One that has ended stays as it is."""
        return to_response(
            found(service, id, owner(request), lambda run: described(service.supervisor.stop(run.id, run.owner)))
        )

    return router


def owner(request: Request) -> str:
    return str(request.scope["state"]["owner"])


def found(service: RunService, id: str, owner: str, answer: Any) -> Reply:
    """What *answer* says of a run, or that the owner has none of that id."""
    try:
        run = service.jobs.run(id, owner)
    except ExplorerError as error:
        return problem(404, "Not there", str(error))
    return json_reply(answer(run))


def begun(service: RunService, asked: Any, owner: str) -> Run:
    """Queue the requested run. Raises ExplorerError as RunService.start does."""
    if asked.mapping and asked.rows is None:
        raise ExplorerError("mapping: got columns; wanted rows to go with them. Leave it out for the built-in rows.")
    with tempfile.TemporaryDirectory(dir=service.jobs.folder) as place:
        files = {}
        for name, rows in (("rows", asked.rows), ("dev", asked.dev)):
            if rows is not None:
                files[name] = Folder(place) / f"{name}.json"
                files[name].write_text(json.dumps(rows), "utf-8")
        wish = RunRequest(
            asked.task,
            asked.checkpoint,
            str(files.get("rows", "")),
            str(files.get("dev", "")),
            name=asked.name,
            mapping=asked.mapping,
            values=asked.settings.model_dump(exclude_unset=True),
            skip=asked.skip,
            seeds=asked.seeds,
        )
        return service.start(wish, owner, key=asked.key)


class Streams:
    """The logs of runs that are being followed; *count*: how many."""

    def __init__(self, service: RunService) -> None:
        self.service, self.count = service, 0

    def follow(self, request: Request, id: str) -> Response:
        """The log of one of the caller's runs, from Last-Event-ID on."""
        if self.count >= MOST_STREAMS:
            words = f"Busy: {self.count} runs are followed already. Try again in {AGAIN_S} s."
            return to_response(problem(503, "Busy", words, retry_after=AGAIN_S))
        since = request.headers.get("last-event-id", "0")
        begin = int(since) if since.isdecimal() and len(since) < 19 else 0
        return StreamingResponse(self.lines(request, id, begin), media_type=STREAM)

    async def lines(self, request: Request, id: str, since: int) -> AsyncIterator[bytes]:
        self.count += 1
        try:
            idle = 0.0
            while not await request.is_disconnected():
                run, new, since = await asyncio.to_thread(self.look, id, owner(request), since)
                for event in new:
                    yield line(str(event["event"]), event, since if event is new[-1] else None)
                if run.state not in (*ACTIVE_STATES, "queued"):
                    yield line("end", await asyncio.to_thread(described, run), None)
                    return
                idle = 0.0 if new else idle + POLL_S
                if idle >= PING_S:
                    idle = 0.0
                    yield b": still there\n\n"
                await asyncio.sleep(POLL_S)
        except ExplorerError as error:  # it was deleted meanwhile
            yield line("gone", {"detail": str(error)}, None)
        finally:
            self.count -= 1

    def look(self, id: str, owner: str, since: int) -> tuple[Run, list[dict[str, Any]], int]:
        """(the run, its events from byte *since* on, where the next look begins). The state is read first: what is
        written after it is seen by the next look, or the run has ended and writes no more."""
        run = self.service.jobs.run(id, owner)
        return run, *runs.read_events(run.folder, since)


def line(kind: str, data: dict[str, Any], id: int | None) -> bytes:
    """A server-sent event. *id*: the byte of the log after it."""
    mark = f"id: {id}\n" if id is not None else ""
    return f"{mark}event: {' '.join(kind.split())}\ndata: {json.dumps(data, allow_nan=False)}\n\n".encode()
