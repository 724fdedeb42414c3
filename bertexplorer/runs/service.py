"""Run service: start, watch and read runs."""

from __future__ import annotations

import json
import secrets
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from bertexplorer.errors import ExplorerError
from bertexplorer.options import build
from bertexplorer.runs import run_folder
from bertexplorer.runs.jobs import Jobs
from bertexplorer.runs.prepare import PreparedRuns, RunPreview, RunRequest, check_reports
from bertexplorer.runs.run_folder import MAX_NAME, Run
from bertexplorer.runs.supervisor import JobSupervisor, Launcher
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.store.uploads import Quota
from bertexplorer.training.checkpointing import list_commits
from bertexplorer.training.finetuning.spec import Tuning, task_of

MAX_SEEDS = 10
Action = Literal["stop", "resume", "delete", "restore"]
PRETRAINING = "pretraining"  # the kind of the runs on the page of experiments
FIRST_ROWS, SHORT = 50, 2_000  # rows to choose an example from, and its longest line, so that it fits a link
REPEAT_S = 10.0  # the same request again within this time is a repeated click


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
        self.prepared = PreparedRuns(self.jobs.folder)
        self.lock = threading.Lock()
        self.starting: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # one for each owner
        self.pressed: dict[str, tuple[float, RunRequest | None, str]] = {}  # what each owner started last, and when

    def close(self) -> None:
        """End the supervisor and release the folder. Runs continue."""
        self.supervisor.close()
        self.jobs.close()

    def preview(self, request: RunRequest, owner: str = "") -> RunPreview:
        """What the run would learn from; it is read once and kept for `start`. Raises ExplorerError if the rows cannot
        be read or the settings are invalid."""
        registry = self.registry.for_owner(owner)
        if registry.find(request.checkpoint) is None:
            raise ExplorerError(f"{request.checkpoint} is not on this disk. Open it on the page “Explore” first.")
        if prepared := self.prepared.read(request, owner):
            return prepared
        self.quota.check(owner)
        checkpoint = registry.get(request.checkpoint)
        return self.prepared.prepare(request, checkpoint, owner, as_operator=self.settings.local)

    def start(self, request: RunRequest, owner: str, key: str = "") -> Run:
        """Queue the run, or one per seed, and return the first. The same *key* returns the same run, however often the
        button is clicked."""
        if not 1 <= request.seeds <= MAX_SEEDS:
            raise ExplorerError(f"{request.seeds} seeds were requested; wanted 1 to {MAX_SEEDS}.")
        with self.lock:
            lock = self.starting[owner]
        with lock:  # repeated clicks count once, and nobody waits for another owner's file
            pressed, before, id = self.pressed.get(owner, (0.0, None, ""))
            if before and is_repeated(request, before) and time.monotonic() - pressed < REPEAT_S:
                return self.jobs.run(id, owner)
            run = self.begin(request, owner, key)
            self.pressed[owner] = (time.monotonic(), request, run.id)
        return run

    def begin(self, request: RunRequest, owner: str, key: str) -> Run:
        """Queue the run, or one per seed, and return the first. Raises ExplorerError if the request cannot be met."""
        # 1. May it start?
        self.quota.check(owner)
        self.jobs.check_disk()
        preview = self.preview(request, owner)
        if preview.stops:
            raise ExplorerError(" ".join(preview.stops))
        if preview.unusable and not request.skip:
            raise ExplorerError(f"Rows that cannot be used: {preview.unusable:,}. Fix them, or choose to skip them.")
        # 2. What all its runs share: the data that the preview has read, the settings, a title.
        prepared_folder = self.prepared.place(request, owner)
        shared_spec = self.prepared.spec(request, owner)
        first_seed = shared_spec["tuning"]["seed"]
        title = request.name or f"{task_of(request.task).title}, {request.checkpoint}"
        key = key or secrets.token_hex(16)

        def copy_data(folder: Path) -> None:
            shutil.copytree(prepared_folder / "data", folder / "data")

        def move_data(folder: Path) -> None:
            shutil.move(prepared_folder / "data", folder / "data")

        # 3. A run for each seed.
        runs = []
        for number in range(request.seeds):
            seed = first_seed + number
            name = title
            identity = {"key": key}
            if request.seeds > 1:
                name = f"{title[: MAX_NAME - 12]}, seed {seed}"  # cut, so that the seed has room
                identity = {"key": f"{key}-{number}", "group": key}
            spec = {**shared_spec, "name": name, "tuning": {**shared_spec["tuning"], "seed": seed}}
            is_last = number == request.seeds - 1
            fill = move_data if is_last else copy_data  # the last run takes the data, those before it get copies
            runs.append(self.jobs.accept(owner, name, spec, fill=fill, seconds=preview.seconds, **identity))
        shutil.rmtree(prepared_folder, ignore_errors=True)
        return runs[0]

    def act(self, action: Action, id: str, owner: str) -> Run:
        """Stop, resume, delete or restore a run. Raises ExplorerError if its state does not allow it."""
        if action == "stop":
            return self.supervisor.stop(id, owner)
        if action == "resume":
            self.quota.check(owner)
            return self.jobs.resume(id, owner)
        if action == "restore":
            return self.jobs.restore(id, owner)
        self.jobs.delete(id, owner)
        return self.jobs.run(id, owner)

    def again(self, id: str, owner: str, values: Mapping[str, Any], key: str = "") -> Run:
        """Queue a run again from the beginning, as a new run, with other *values* of Tuning, if there are any. *key*:
        as for `start`. Raises ExplorerError for invalid values, and if the run has none to change."""
        self.quota.check(owner)
        run = self.jobs.run(id, owner)
        spec = run.spec or {}
        if values and "tuning" not in spec:
            raise ExplorerError(f"{run.name} has no settings of fine-tuning to change. Run it again without settings.")
        changed = asdict(build(Tuning, {**spec["tuning"], **values})) if values else None
        tuning = changed or spec.get("tuning", {})
        check_reports(tuning.get("report_to", ""), self.settings.local)
        return self.jobs.retry(id, owner, key=key, tuning=changed)

    def rename(self, id: str, owner: str, name: str) -> Run:
        """The run *id* under another *name*. Raises ExplorerError as `Jobs.rename` does."""
        run = self.jobs.run(id, owner)
        return run if run.name == name else self.jobs.rename(id, owner, name, run.version)

    def runs(self, owner: str, *, deleted: bool = False) -> list[Run]:
        """The fine-tuning runs of *owner*, the newest first."""
        return [run for run in self.jobs.runs(owner, deleted=deleted) if (run.spec or {}).get("kind") != PRETRAINING]

    def detail(self, id: str, owner: str | None) -> RunDetail:
        """The run *id* of *owner*, or of anyone (None). Raises ExplorerError if there is none."""
        run = self.jobs.run(id, owner)
        best, about = read_best(run, "task.json")
        return RunDetail(
            run=run,
            events=run_folder.history(run.folder),
            about=json.loads(about) if best else None,
            best=best,
            example=example_of(best),
        )

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


def is_repeated(request: RunRequest, before: RunRequest) -> bool:
    """Whether *request* asks for the same run as *before*. The page empties the name after a start."""
    names = (before.name, "")
    return request.key == before.key and request.seeds == before.seeds and request.name in names


def example_of(best: Path | None) -> dict[str, Any]:
    """The first short row among the first predictions of a checkpoint; {} if there is none."""
    try:
        if best is None:
            return {}
        with (best / "predictions.jsonl").open(encoding="utf-8") as lines:
            first = list(islice(lines, FIRST_ROWS))
    except FileNotFoundError:  # a better checkpoint has replaced it
        return {}
    for line in first:
        if len(line) < SHORT:
            return dict(json.loads(line))
    return {}


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
