"""Run service: preview, start, watch and read runs. Independent of gradio."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError, need
from bertexplorer.settings import ASSETS, Settings
from bertexplorer.store import runs
from bertexplorer.store.jobs import Jobs
from bertexplorer.store.parsing import read_table
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.store.runs import MAX_NAME, Run
from bertexplorer.store.supervisor import JobSupervisor, Launcher
from bertexplorer.store.uploads import Quota
from bertexplorer.training import learners
from bertexplorer.training.checkpointing import list_commits
from bertexplorer.training.data import hub
from bertexplorer.training.data.checks import Finding
from bertexplorer.training.data.rows import Table
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.preflight import Preflight, plan
from bertexplorer.training.finetuning.spec import Spec, task_of
from bertexplorer.training.tasks.classification import PREFIX

BUILT_IN = ASSETS / "data"
MAX_SEEDS = 10
PRETRAINING = "pretraining"  # the kind of the runs on the page of experiments
FIRST_ROWS, SHORT = 50, 2_000  # rows to choose an example from, and its longest line, so that it fits a link
MAX_TIMINGS = 100  # estimates to remember
REPEAT_S = 10.0  # the same request again within this time is a repeated click
TRIAL_S = 180.0  # time limit of a trial


@dataclass(frozen=True)
class RunRequest:
    """The settings of a new run. *file* "": the built-in rows of the task, or those of *hub*."""

    task: str
    checkpoint: str
    file: str = ""
    dev: str = ""
    hub: str = ""  # name of a data set
    name: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)  # empty: guessed
    values: Mapping[str, Any] = field(default_factory=dict)  # settings of the task and of Tuning
    skip: bool = True  # skip rows that cannot be used; else they stop the run
    beside: tuple[str, ...] = ()  # further columns of the file to learn from
    seeds: int = 1  # runs that differ in nothing else


@dataclass(frozen=True)
class RunPreview:
    """What a run would train on, before it starts."""

    spec: Spec
    table: Table
    found: Preflight
    seconds: float = 0.0  # estimated duration; 0: not measured
    memory_mb: float = 0.0
    steps: int = 0


@dataclass(frozen=True)
class RunDetail:
    """One run with its events and its best checkpoint."""

    run: Run
    events: list[dict[str, Any]]
    about: dict[str, Any] | None  # task.json of the best checkpoint
    best: Path | None
    example: dict[str, Any] = field(default_factory=dict)  # a validation row with its answer


class RunService:
    """The runs of this server. *owner*: the browser that they belong to."""

    def __init__(self, registry: CheckpointRegistry, settings: Settings, launcher: Launcher | None = None) -> None:
        self.settings = settings
        self.jobs = Jobs(settings.data_dir / "runs", shared=settings.local)
        registry.owned_runs = self.jobs.ids
        self.registry = registry.for_owner("")
        self.quota = Quota(settings, self.jobs)
        self.supervisor = JobSupervisor(self.jobs, launcher=launcher)
        self.starting = threading.Lock()
        self.timings: dict[str, float] = {}  # seconds that runs were estimated to take
        self.data: tuple[str, Any] = ("", None)  # the data set that was last fetched from the hub
        self.pressed: dict[str, tuple[float, RunRequest | None, str]] = {}  # what each owner started last, and when

    def close(self) -> None:
        self.supervisor.close()
        self.jobs.close()

    def preview(self, request: RunRequest, owner: str = "") -> RunPreview:
        """A preview of the run. Raises ExplorerError if the rows cannot be read or the settings are invalid."""
        need("train", "Fine-tuning")
        registry = self.registry.for_owner(owner)
        if registry.find(request.checkpoint) is None:
            raise ExplorerError(f"{request.checkpoint} is not on this disk. Open it on the page “Explore” first.")
        table = self.hub_table(request.hub) if request.hub else self.table(request.task, request.file)
        dev = self.table(request.task, request.dev) if request.dev else None
        mapping = {name: column for name, column in request.mapping.items() if column} or None
        if mapping and request.beside:
            mapping |= {PREFIX + column: column for column in request.beside}
        checkpoint = registry.get(request.checkpoint)
        spec, found = plan(
            request.task,
            (request.checkpoint, checkpoint.folder),
            table,
            dev,
            values=request.values,
            mapping=mapping,
            file=request.hub or Path(request.file).name or "built-in rows",
            name=request.name,
            tokenizer=checkpoint.tokenizer,
        )
        if not found.stops:
            try:
                examples = spec.module.examples(found.train, spec.task_options)[0]
                learners.learner_class(spec.module).check(checkpoint, examples, spec.task_options)
            except ExplorerError as error:
                found.findings.insert(0, Finding(str(error), stops=True))
        return RunPreview(spec, table, found)

    def hub_table(self, name: str) -> Table:
        """A data set of the hub; the last one is cached."""
        if self.data[0] != name:
            self.data = name, hub.fetch_dataset(name, as_operator=self.settings.local)
        return self.data[1]

    def table(self, task: str, file: str) -> Table:
        """The table of an uploaded *file*, or of the task's built-in rows."""
        if file:
            path = Path(file)
        else:
            built_in = sorted(BUILT_IN.glob(f"{task_of(task).ROWS}.*"))
            if not built_in:
                raise ExplorerError("There are no built-in rows for this task. Upload a file.")
            path = built_in[0]
        return read_table(path)

    def timed(self, preview: RunPreview) -> Iterator[str | RunPreview]:
        """Time three real steps in a separate process. Yields progress messages, and finally *preview* with the
        estimates."""
        last = ""
        with tempfile.TemporaryDirectory(dir=self.jobs.folder) as parent:
            folder = Path(parent) / "trial"
            specs.write_run_folder(folder, preview.spec, preview.found.train, preview.found.dev)
            for last in output_lines([sys.executable, "-m", "bertexplorer", "train", str(folder), "--trial"]):
                if not last.startswith("{"):
                    yield last
        timing = json.loads(last)
        self.timings = {**dict(list(self.timings.items())[-MAX_TIMINGS:]), timing_key(preview.spec): timing["seconds"]}
        yield RunPreview(
            preview.spec, preview.table, preview.found, timing["seconds"], timing["memory_mb"], int(timing["steps"])
        )

    def start(self, request: RunRequest, owner: str, key: str = "", seconds: float = 0.0) -> Run:
        """Queue the run, or one per seed, and return the first. The same *key* returns the same run, however often the
        button is clicked."""
        if not 1 <= request.seeds <= MAX_SEEDS:
            raise ExplorerError(f"{request.seeds} seeds were requested; wanted 1 to {MAX_SEEDS}.")
        with self.starting:  # repeated clicks count once
            pressed, before, id = self.pressed.get(owner, (0.0, None, ""))
            same = before and request in (before, replace(before, name=""))  # the page empties the name after a start
            if same and time.monotonic() - pressed < REPEAT_S:
                return self.jobs.run(id, owner)
            run = self.begin(request, owner, key, seconds)
            self.pressed[owner] = (time.monotonic(), request, run.id)
        return run

    def begin(self, request: RunRequest, owner: str, key: str, seconds: float) -> Run:
        self.quota.check(owner)
        preview = self.preview(request, owner)
        if preview.found.stops:
            raise ExplorerError(" ".join(preview.found.stops))
        if preview.found.problems and not request.skip:
            raise ExplorerError(
                f"Rows that cannot be used: {len(preview.found.problems):,}. Fix them, or choose to skip them."
            )

        def fill(folder: Path) -> None:
            specs.write_rows(folder, preview.found.train, preview.found.dev)

        seconds = seconds or self.timings.get(timing_key(preview.spec), 0.0)
        title = request.name or f"{preview.spec.module.TITLE}, {request.checkpoint}"
        key = key or secrets.token_hex(16)
        started = []
        for number in range(request.seeds):
            tuning = replace(preview.spec.tuning, seed=preview.spec.tuning.seed + number)
            several = {"group": key, "key": f"{key}-{number}"} if request.seeds > 1 else {"key": key}
            name = f"{title[: MAX_NAME - 12]}, seed {tuning.seed}" if request.seeds > 1 else title
            spec = replace(preview.spec, tuning=tuning, name=name)
            started.append(self.jobs.accept(owner, name, specs.spec_json(spec), fill=fill, seconds=seconds, **several))
        return started[0]

    def runs(self, owner: str, *, deleted: bool = False) -> list[Run]:
        """The fine-tuning runs of *owner*, the newest first."""
        return [run for run in self.jobs.runs(owner, deleted=deleted) if (run.spec or {}).get("kind") != PRETRAINING]

    def detail(self, id: str, owner: str) -> RunDetail:
        run = self.jobs.run(id, owner)
        best, about = read_best(run, "task.json")
        return RunDetail(run, runs.history(run.folder), json.loads(about) if best else None, best, example_of(best))

    def predictions(self, detail: RunDetail) -> list[dict[str, Any]]:
        """The validation rows with the answers of the best checkpoint."""
        _, lines = read_best(detail.run, "predictions.jsonl")
        return [json.loads(line) for line in lines.splitlines()]

    def answer(self, detail: RunDetail, row: Mapping[str, str]) -> dict[str, Any]:
        """The playground: the answer of the best checkpoint to a new row."""
        from bertexplorer.training.finetuning.artifacts import open_learner

        if detail.best is None:
            raise ExplorerError("This run has no checkpoint yet. Wait for its first evaluation.")
        return open_learner(detail.best).predict([dict(row)])[0]


def example_of(best: Path | None) -> dict[str, Any]:
    """The first short row among the first predictions of a checkpoint; {} if there is none."""
    try:
        if best is None:
            return {}
        with (best / "predictions.jsonl").open(encoding="utf-8") as lines:
            first = list(islice(lines, FIRST_ROWS))
    except FileNotFoundError:  # a better checkpoint has replaced it
        return {}
    rows = [json.loads(line) for line in first]
    return next((row for line, row in zip(first, rows, strict=True) if len(line) < SHORT), {})


def read_best(run: Run, name: str) -> tuple[Path | None, str]:
    """(the best checkpoint of a run, the text of its file *name*); (None, "") if there is none. A better checkpoint may
    replace it while it is read, so this retries."""
    for _ in range(5):
        commits = list_commits(run.folder / "best")
        if not commits:
            break
        with suppress(FileNotFoundError):
            return commits[-1], (commits[-1] / name).read_text("utf-8")
    return None, ""


def output_lines(command: Sequence[str]) -> Iterator[str]:
    """The lines that a trial prints, as they arrive. The process is killed if the caller stops listening. Raises
    ExplorerError if it fails or takes too long."""
    with tempfile.TemporaryFile("w+") as errors:
        trial = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        timed_out = threading.Event()

        def time_out() -> None:
            timed_out.set()
            trial.kill()

        timer = threading.Timer(TRIAL_S, time_out)
        timer.start()
        try:
            assert trial.stdout is not None
            yield from filter(None, map(str.strip, trial.stdout))
            exit_code = trial.wait()
        finally:
            timer.cancel()
            trial.kill()
            trial.communicate()
        errors.seek(0)
        last = (errors.read().strip().splitlines() or ["no message"])[-1]
    if timed_out.is_set():
        raise ExplorerError(
            f"Three steps took longer than {TRIAL_S:.0f} s. Choose a smaller checkpoint or shorter texts."
        )
    if exit_code:
        raise ExplorerError(f"The first steps failed: {last.removeprefix('bertexplorer: ')}")


def timing_key(spec: Spec) -> str:
    """A key that is equal for runs that take the same time: all settings but the name."""
    return json.dumps(asdict(replace(spec, name="")), sort_keys=True, default=str)
