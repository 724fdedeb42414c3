"""Experiments: the papers' ablations of pretraining, small enough to repeat. A started experiment is a trial: several
runs in one figure."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.api.admission import Admission, Reply, SendLine, json_reply, problem, to_response
from bertexplorer.api.models import Drawing, StrictModel
from bertexplorer.api.problems import Route
from bertexplorer.api.run_models import FileId, RunModel, run_json, status
from bertexplorer.api.runs import owner
from bertexplorer.errors import ExplorerError
from bertexplorer.runs import pretraining
from bertexplorer.runs.experiments import MAX_MINUTES, Arm, ExperimentService, Trial
from bertexplorer.runs.pretraining import WORDS, PretrainingCurve
from bertexplorer.runs.service import Action
from bertexplorer.store import uploads
from bertexplorer.training.pretraining.experiments import EXPERIMENTS, Experiment, reading_said, verdicts

NOTE = (
    "Runs of a few minutes on a small text say little about full-size BERT. They show how such a comparison is made; "
    "run it again, for longer and on a text of your own, before you believe it."
)
EXAMPLE = {"experiment": "tasks", "minutes": 1.0}
MEASURED = {  # name of a measurement -> the key of its events
    "probe": "probe",
    "word taken out": "probe_words",
    "does B follow": "probe_follows",
    "hidden words": "pairs_accuracy",
    "next sentence": "nsp_accuracy",
    "on [CLS] and [SEP]": "special_share",
}
Group = Annotated[str, Path(description="The id of a trial", pattern=r"^[0-9a-f]{1,64}$")]


class ExperimentModel(BaseModel):
    """An experiment that can be started."""

    name: str
    title: str
    question: str
    arms: list[str] = Field(description="Its runs.")
    measure: str = Field(description="What is compared.")
    note: str
    published: list[dict[str, Any]] = Field(description="What the papers found, on other data and larger models.")
    source: str
    minutes: float = Field(description="For each run, unless you choose others.")


class NewTrialModel(StrictModel):
    """An experiment to start."""

    experiment: Annotated[str, Field(max_length=100)]
    minutes: Annotated[float, Field(gt=0, le=MAX_MINUTES, description="For each run.")]
    file: Annotated[FileId, Field(description="A text from POST /api/v1/files; empty: fairy tales.")] = ""


class TrialModel(BaseModel):
    """A started experiment in a line."""

    id: str
    name: str
    state: str
    status: str
    progress: float
    created: float


class ArmModel(BaseModel):
    """A run of a started experiment."""

    name: str
    run: RunModel
    measured: dict[str, float | None] = Field(description="What was measured last, and after how many tokens.")


class TrialReportModel(BaseModel):
    """A started experiment and what it has found so far."""

    trial: TrialModel
    can: list[str]
    arms: list[ArmModel]
    verdicts: list[str] = Field(
        description="Whether the finished runs agree with the papers, and what else to know of the comparison."
    )
    chart: Drawing | None = Field(description="The curves: panels of marks.")
    said: str
    note: str


def experiment_json(experiment: Experiment) -> dict[str, Any]:
    """The fields of ExperimentModel."""
    own = {name: getattr(experiment, name) for name in ("name", "title", "question", "note", "source", "minutes")}
    arms, published = [arm.name for arm in experiment.arms], list(map(dict, experiment.published))
    return {**own, "arms": arms, "measure": WORDS[experiment.measure], "published": published}


def trial_json(trial: Trial) -> dict[str, Any]:
    """The fields of TrialModel."""
    run = trial.run
    own = {name: getattr(run, name) for name in ("id", "name", "state", "progress", "created")}
    return {**own, "status": status(run)}


def report(trial: Trial) -> dict[str, Any]:
    """The fields of TrialReportModel."""
    curves = [PretrainingCurve(arm.name, arm.events) for arm in trial.arms]
    measure, unit = trial.experiment.measure, trial.experiment.unit
    drawable = any(curve.points(measure, unit) for curve in curves)
    possible = {"stop": trial.live, "resume": trial.resumable, "delete": not trial.live}
    return {
        "trial": trial_json(trial),
        "can": [action for action, can in possible.items() if can],
        "arms": [arm_json(arm) for arm in trial.arms],
        "verdicts": [
            *verdicts(trial.experiment, trial.final_measures()),
            *reading_said(trial.experiment, trial.tokens_read()),
        ],
        "chart": pretraining.draw(curves, measure, unit).parts() if drawable else None,
        "said": pretraining.say(curves, measure, unit),
        "note": NOTE,
    }


def arm_json(arm: Arm) -> dict[str, Any]:
    """A run of an experiment, with its last measurements."""
    measured = {name: arm.last(key) for name, key in MEASURED.items()}
    tokens = {"tokens": arm.last("tokens") or 0}
    shown = {} if measured["hidden words"] is None else measured | tokens
    return {"name": arm.name, "run": run_json(arm.run), "measured": shown}


def routes(service: ExperimentService, admission: Admission) -> APIRouter:
    """GET /api/v1/experiments, and the routes of /api/v1/trials."""
    router = APIRouter(prefix="/api/v1", route_class=Route, tags=["Pretraining"])
    of_trial: dict[int | str, dict[str, Any]] = {200: {"model": TrialReportModel}}

    @router.get(
        "/experiments",
        operation_id="list-experiments",
        summary="List experiments",
        responses={200: {"model": list[ExperimentModel]}},
    )
    def experiments() -> Response:
        """The experiments that can be started."""
        return to_response(json_reply([experiment_json(experiment) for experiment in EXPERIMENTS]))

    @router.get(
        "/trials", operation_id="list-trials", summary="List trials", responses={200: {"model": list[TrialModel]}}
    )
    def trials(request: Request, deleted: bool = False) -> Response:
        """Your started experiments, newest first. *deleted*: those that can be restored instead."""
        listed = [trial_json(trial) for trial in service.trials(owner(request), deleted=deleted)]
        reading = None if deleted else service.reading_now(owner(request))
        if reading:
            own = {name: getattr(reading, name) for name in ("id", "name", "state", "progress", "created")}
            listed.insert(0, {**own, "status": status(reading)})
        return to_response(json_reply(listed))

    @router.post(
        "/trials",
        operation_id="start-trial",
        summary="Start an experiment",
        status_code=202,
        responses={202: {"model": TrialReportModel}},
    )
    async def start(request: Request, body: Annotated[NewTrialModel, Body(examples=[EXAMPLE])]) -> Response:
        """Queue all runs of an experiment. Your cookie is their owner."""

        def compute(send_line: SendLine) -> Reply:
            folder = service.training.settings.uploads_dir
            text = str(uploads.find(folder, body.file, owner(request))) if body.file else ""
            with service.reading(body.experiment, owner(request)):
                group = service.start(body.experiment, body.minutes, text, owner(request))
            found = report(service.find(group, owner(request)))
            return Reply(orjson.dumps(found), status=202)

        return admission.respond(request, compute, slow=True)

    @router.get("/trials/{id}", operation_id="report-trial", summary="Report of a trial", responses=of_trial)
    def get(request: Request, id: Group) -> Response:
        """What a started experiment has found so far."""
        return found(lambda: service.find(id, owner(request)))

    @router.post("/trials/{id}/{action}", operation_id="change-trial", summary="Change a trial", responses=of_trial)
    def act(request: Request, id: Group, action: Action) -> Response:
        """Stop the runs of an experiment, resume them, delete them, or restore deleted ones within a week."""
        return found(lambda: service.act(action, id, owner(request)))

    def found(find: Any) -> Response:
        try:
            content = orjson.dumps(report(find()))
        except ExplorerError as error:
            return to_response(problem(404, "Not found", str(error)))
        return to_response(Reply(content))

    return router
