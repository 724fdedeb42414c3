"""Models of runs: requests and answers as pydantic models, and runs as JSON."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from bertexplorer.api.models import Drawing, StrictModel, field_type, one_of, option_fields
from bertexplorer.api.page import setting_schema
from bertexplorer.api.page_models import SettingModel
from bertexplorer.options import option_specs
from bertexplorer.runs.run_folder import MAX_NAME, Run, duration
from bertexplorer.runs.service import MAX_SEEDS
from bertexplorer.store import trained
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.task import Column
from bertexplorer.training.tasks import BY_NAME

MAX_ROWS = 50_000
PUBLIC_SPEC = ("checkpoint", "options", "tuning", "data", "experiment", "arm")  # fields of spec.json without paths
Rows = Annotated[list[dict[str, Any]] | None, Field(max_length=MAX_ROWS)]
Key = Annotated[str, Field(max_length=100, description="The same key gives the same run again.")]
FileId = Annotated[str, Field(max_length=40)]
Name = Annotated[str, Field(max_length=MAX_NAME)]


class RunModel(BaseModel):
    """The current state of a run."""

    id: str
    name: str
    kind: str = Field(description="finetuning, pretraining or suite")
    task: str
    state: str = Field(
        description="queued, starting, running, stopping, stopped, finished, failed, interrupted or deleted"
    )
    message: str = Field(description="More about its state, for people.")
    status: str = Field(description="Its state, progress and message in one line.")
    progress: float = Field(description="From 0 to 1.")
    step: int
    seconds_left: float | None
    created: float = Field(description="Unix seconds.")
    group: str = Field(description="Shared by the seeds of one request.")
    best: str = Field(description="The name of its best checkpoint, for the field checkpoint of an analysis; or empty.")
    spec: dict[str, Any] = Field(description="What it learns from and how.")


class TaskModel(BaseModel):
    """A task that a checkpoint can be fine-tuned for."""

    name: str
    title: str
    about: str
    columns: list[dict[str, Any]] = Field(description="What its rows have: name, label, info, whether optional.")
    features: bool = Field(description="Whether it can learn from further columns (the field beside of a run).")
    defaults: dict[str, Any] = Field(description="Defaults of the settings of all tasks that differ for this one.")
    settings: list[SettingModel] = Field(description="Its own settings.")


class TasksModel(BaseModel):
    tasks: list[TaskModel]
    settings: list[SettingModel] = Field(description="The settings of all tasks.")


class ReportModel(BaseModel):
    """What a run has learned so far. A chart has panels of marks; that of an old suite may be plotly's."""

    run: RunModel
    can: list[str] = Field(description="What can be done with it: stop, resume, again, delete, try, influence …")
    pace: str = Field(description="Step, learning rate, speed, memory, precision and device.")
    warnings: list[str]
    links: list[dict[str, str]] = Field(description="title and href of its views in Explore.")
    chart: Drawing | None = Field(description="The curves.")
    said: str = Field(description="The curves in a sentence.")
    advice: dict[str, Any] | None = Field(None, description="What to change if it learned nothing in a few steps.")
    seeds: dict[str, Any] | None = Field(None, description="The other seeds of the same request.")
    comparable: list[dict[str, str]] = Field([], description="id and name of the runs of the same task.")
    compared: dict[str, Any] | None = Field(None, description="With beside: what differs, and whether by chance.")
    best: dict[str, Any] | None = Field(None, description="The best checkpoint: its step, metrics and tables.")
    confusion: Drawing | None = Field(None, description="The confusion matrix of its labels.")
    labels: list[str] = Field([], description="The labels of the confusion matrix, in its order.")
    rows: dict[str, Any] | None = Field(None, description="Wrongly answered validation rows, once it has ended.")
    texts: list[dict[str, str]] = Field([], description="The columns of a new row to try: name and label.")
    shared: dict[str, str] | None = Field(None, description="The link with which others watch it: key, address, note.")
    cases: bool = Field(False, description="Suite only: whether GET /api/v1/suites/{id}/table has its cases.")


class NewRunModel(StrictModel):
    """The fields of a new run that all tasks share."""

    name: Name = ""
    dev: Annotated[Rows, Field(description="Rows for validation. Null: a part of the others.")] = None
    file: Annotated[FileId, Field(description="Instead of rows: a file from POST /api/v1/files.")] = ""
    dev_file: Annotated[FileId, Field(description="Instead of dev: a file from POST /api/v1/files.")] = ""
    hub: Annotated[str, Field(max_length=300, description="Instead of rows: NAME:CONFIGURATION of a data set.")] = ""
    mapping: Annotated[dict[str, str], Field(description="Our columns -> those of the rows, where they differ.")] = {}
    beside: Annotated[list[str], Field(max_length=100, description="Further columns to learn from.")] = []
    skip: Annotated[bool, Field(description="Leave out rows that cannot be used; else they stop the run.")] = True
    seeds: Annotated[int, Field(ge=1, le=MAX_SEEDS, description="Runs that differ in their seed alone.")] = 1
    key: Key = ""
    timed: Annotated[bool, Field(description="Preview only: time three steps, which takes some seconds.")] = False


class RowModel(StrictModel):
    row: Annotated[dict[str, str], Field(description="The columns of the task, as GET /runs/{id}/report lists them.")]


class RenameModel(StrictModel):
    name: Name


CHANGES: dict[str, Any] = {setting.name: (field_type(setting) | None, None) for setting in option_specs(Tuning)}
Changes: Any = create_model("Changes", __base__=StrictModel, **CHANGES)


class AgainModel(StrictModel):
    key: Key = ""
    settings: Annotated[Changes, Field(description="Settings of all tasks that change.")] = Field(
        default_factory=Changes
    )


class ExportModel(StrictModel):
    kind: Annotated[
        Literal["zip", "onnx"],
        Field(description="zip: the folder that transformers loads; onnx: the encoder and its head for onnxruntime."),
    ] = "zip"
    with_rows: Annotated[bool, Field(description="zip only: with the validation rows.")] = False


class HubModel(StrictModel):
    repository: Annotated[str, Field(max_length=200, description="OWNER/NAME on the hub; it becomes private.")]
    token: Annotated[str, Field(max_length=200, description="A Hugging Face access token. It is not stored.")]
    with_rows: bool = False


def run_json(run: Run) -> dict[str, Any]:
    """The fields of RunModel."""
    spec = {name: value for name, value in (run.spec or {}).items() if name in PUBLIC_SPEC}
    best = [saved.name for saved in trained.list_checkpoints(run.folder) if saved.name == f"run:{run.id}"]
    made = {"kind": (run.spec or {}).get("kind", ""), "best": "".join(best), "spec": spec, "status": status(run)}
    return {**{name: getattr(run, name) for name in RunModel.model_fields if name not in made}, **made}


def status(run: Run) -> str:
    """The state of a run, its progress and its message in one line."""
    words: str = run.state
    if run.state == "running" and run.progress >= 1:
        words = "running, all steps are done; testing and saving"
    elif run.state == "running":
        words = f"running {int(100 * run.progress)} %"
        if run.seconds_left:
            words += f", {duration(run.seconds_left)} left"
    if run.message and run.message != run.state:
        words += f": {run.message}"
    return words


def task_json(name: str) -> dict[str, Any]:
    """The fields of TaskModel."""
    task = BY_NAME[name]
    return {
        "name": name,
        "title": task.title,
        "about": task.about,
        "columns": [column_json(column) for column in task.columns],
        "features": task.features,
        "defaults": task.defaults,
        "settings": [setting_schema(setting) for setting in option_specs(task.options)],
    }


def column_json(column: Column) -> dict[str, Any]:
    return {name: getattr(column, name) for name in ("name", "label", "info", "optional")}


def request_model(checkpoint: str) -> Any:
    """The model of a new run: a union with a model for each task. *checkpoint*: the default."""
    union: Any = None
    for name, task in BY_NAME.items():
        title = "".join(part.title() for part in name.split("-"))
        settings = create_model(
            f"{title}Settings",
            __base__=StrictModel,
            **option_fields(Tuning, dict(task.defaults)),
            **option_fields(task.options),
        )
        columns = ", ".join(column.name for column in task.columns)
        help = f"Objects with {columns}; null: the field file, or built-in rows. A request may have 1 MB."
        task_fields: dict[str, Any] = {
            "task": (one_of((name,)), ...),
            "checkpoint": (Annotated[str, Field(max_length=500)], checkpoint),
            "rows": (Annotated[Rows, Field(description=help)], None),
            "settings": (settings, Field(default_factory=settings)),
        }
        model: Any = create_model(f"{title}Run", __base__=NewRunModel, **task_fields)
        union = model if union is None else union | model
    return Annotated[union, Field(discriminator="task")]
