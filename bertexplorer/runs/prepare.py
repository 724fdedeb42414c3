"""Prepared runs: the rows of a run that somebody looks at before it starts, read once.

FOLDER/.prepared/OWNER/KEY/   the rows (data/) and settings (spec.json) of a run, and its preview (preview.json)

A preview writes the folder, and a start moves its rows into that of the run. KEY is a hash of the request, so the start
of what was previewed finds it. The newest MAX_PREPARED of an owner stay, for a day.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import file_digest, sha256
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from bertexplorer.errors import ExplorerError, need
from bertexplorer.settings import ASSETS
from bertexplorer.store.parsing import read_table
from bertexplorer.training import learners
from bertexplorer.training.data import hub
from bertexplorer.training.data.checks import Finding
from bertexplorer.training.data.rows import Row, Table
from bertexplorer.training.features import FEATURE_PREFIX
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.preflight import Preflight, plan
from bertexplorer.training.finetuning.spec import Spec, number_of_steps, task_of
from bertexplorer.training.trackers import parse_trackers

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

BUILT_IN = ASSETS / "data"
FOLDER = ".prepared"  # in the folder of the runs
MAX_PREPARED, DAY_S = 3, 86_400.0
# of a preview
SHOWN_ROWS = 5
SHOWN_PROBLEMS = 5
SHOWN_LABELS = 100
SHOWN_CHARACTERS = 1000  # of a cell
GONE = "The rows were changed meanwhile. Preview them again."
TRIAL_S, POLL_S = 180.0, 0.5  # time limit of a trial, and between two looks at it


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

    @cached_property
    def key(self) -> str:
        """Equal for requests that learn the same from the same rows."""
        files = {name: content_of(file) for name, file in (("file", self.file), ("dev", self.dev)) if file}
        same = {**asdict(replace(self, name="", skip=True, seeds=1)), **files}
        return sha256(json.dumps(same, sort_keys=True, default=str).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class RunPreview:
    """What a run would learn from, before it starts; all of it is JSON."""

    summary: str  # how the file was read
    unit: str  # what *line* counts: lines of a file, items of a list
    columns: list[str]  # of the file
    mapping: dict[str, str]  # column of the task -> column of the file
    reasons: dict[str, str]  # column of the task -> why its column was guessed
    rows: list[dict[str, Any]]  # the first rows as they were read, each with its line
    train: int  # rows
    dev: int
    labels: dict[str, int]  # label -> training rows; the first SHOWN_LABELS
    label_count: int  # labels in all
    problems: list[dict[str, Any]]  # the first rows that cannot be used: line and what is wrong
    unusable: int  # rows that cannot be used
    notes: list[str]  # remarks on the rows
    stops: list[str]  # why the run cannot start
    epochs: float
    steps: int
    enough_epochs: float  # more than *epochs* if those are too few to learn much
    seconds: float = 0.0  # estimated duration; 0: not measured
    memory_mb: float = 0.0


class PreparedRuns:
    """The prepared runs below *runs*, the folder of the runs. Thread-safe."""

    def __init__(self, runs: Path) -> None:
        self.folder = runs / FOLDER
        self.lock = threading.Lock()
        self.data: tuple[str, Any] = ("", None)  # the data set that was last fetched from the hub
        self.delete_old()

    def place(self, request: RunRequest, owner: str) -> Path:
        """The folder of the prepared run, which need not exist."""
        return self.of_owner(owner) / request.key

    def of_owner(self, owner: str) -> Path:
        """The folder of the prepared runs of *owner*."""
        return self.folder / (owner or "everyone")

    def read(self, request: RunRequest, owner: str) -> RunPreview | None:
        """The preview of *request* if it is prepared."""
        try:
            return RunPreview(**json.loads((self.place(request, owner) / "preview.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):  # none, or one of another version
            return None

    def spec(self, request: RunRequest, owner: str) -> dict[str, Any]:
        """The settings of the prepared run, as in spec.json. Raises ExplorerError if it is no longer there."""
        try:
            spec: dict[str, Any] = json.loads((self.place(request, owner) / "spec.json").read_text("utf-8"))
        except OSError as error:  # three other previews of the same owner have just taken its place
            raise ExplorerError(GONE) from error
        return spec

    def prepare(self, request: RunRequest, checkpoint: Checkpoint, owner: str, *, as_operator: bool) -> RunPreview:
        """Read the rows of *request* and write its folder. Raises ExplorerError if the rows cannot be read, or the
        settings are invalid."""
        need("train", "Fine-tuning")
        spec, table, preflight = self.plan(request, checkpoint, as_operator)
        check_reports(spec.tuning.report_to, as_operator)
        preview = preview_of(spec, table, preflight)
        partial = self.of_owner(owner) / f"partial-{secrets.token_hex(8)}"
        try:
            specs.write_rows(partial, preflight.train, preflight.dev)
            (partial / "spec.json").write_text(json.dumps(specs.spec_json(spec), indent=1), "utf-8")
            (partial / "preview.json").write_text(json.dumps(asdict(preview)), "utf-8")
            with self.lock:
                shutil.rmtree(self.place(request, owner), ignore_errors=True)
                partial.rename(self.place(request, owner))
        except OSError as error:
            raise ExplorerError(
                f"The rows cannot be kept ({error.strerror or error}). Make room on the disk."
            ) from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        self.delete_old()
        return preview

    def plan(self, request: RunRequest, checkpoint: Checkpoint, as_operator: bool) -> tuple[Spec, Table, Preflight]:
        """The settings of the run, its rows as they were read, and what is found in them."""
        if request.hub:
            table = self.hub_table(request.hub, as_operator)
        else:
            table = rows_of(request.task, request.file)
        dev = rows_of(request.task, request.dev) if request.dev else None
        mapping = {name: column for name, column in request.mapping.items() if column}
        if mapping:
            mapping |= {FEATURE_PREFIX + column: column for column in request.beside}
        spec, preflight = plan(
            request.task,
            (request.checkpoint, checkpoint.folder),
            table,
            dev,
            values=request.values,
            mapping=mapping or None,
            file=request.hub or Path(request.file).name or "built-in rows",
            name=request.name,
            tokenizer=checkpoint.tokenizer,
        )
        if not preflight.stops:
            try:
                learners.learner_class(spec.definition).check(checkpoint, preflight.examples, spec.task_options)
            except ExplorerError as error:
                preflight.findings.insert(0, Finding(str(error), stops=True))
        return spec, table, preflight

    def hub_table(self, name: str, as_operator: bool) -> Table:
        """A data set of the hub; the last one is cached."""
        if self.data[0] != name:
            self.data = name, hub.fetch_dataset(name, as_operator=as_operator)
        return self.data[1]

    def time(
        self, request: RunRequest, owner: str, report: Callable[[str], object], check: Callable[[], object]
    ) -> RunPreview:
        """The preview of the prepared *request* with its estimated duration and memory, from three real steps in a
        separate process. *report* receives what it does; *check* is called often, and raises to end it."""
        folder = self.place(request, owner)
        last = run_trial([sys.executable, "-m", "bertexplorer", "train", str(folder), "--trial"], report, check)
        measured = json.loads(last)
        preview = self.read(request, owner)
        if preview is None:
            raise ExplorerError(GONE)
        preview = replace(preview, seconds=measured["seconds"], memory_mb=measured["memory_mb"])
        with suppress(OSError):  # the run has been started meanwhile
            (folder / "preview.json").write_text(json.dumps(asdict(preview)), "utf-8")
        return preview

    def delete_old(self) -> None:
        """Delete folders older than a day, and all but the newest of each owner."""
        for own in self.folder.iterdir() if self.folder.is_dir() else ():
            with suppress(OSError):  # another thread deletes them too
                newest = sorted(own.iterdir(), key=lambda path: -path.stat().st_mtime)
                for number, path in enumerate(newest):
                    if number >= MAX_PREPARED or time.time() - path.stat().st_mtime > DAY_S:
                        shutil.rmtree(path, ignore_errors=True)


def content_of(file: str) -> list[str]:
    """The name of *file* and a hash of its content. Raises ExplorerError if it cannot be read."""
    path = Path(file)
    try:
        with path.open("rb") as content:
            return [path.name, file_digest(content, "sha256").hexdigest()]
    except OSError as error:
        raise ExplorerError(f"{path.name} cannot be read: {error.strerror}. Upload it again.") from error


def rows_of(task: str, file: str) -> Table:
    """The table of an uploaded *file*, or of the task's built-in rows."""
    if file:
        return read_table(Path(file))
    built_in = sorted(BUILT_IN.glob(f"{task_of(task).built_in_rows}.*"))
    if not built_in:
        raise ExplorerError("There are no built-in rows for this task. Upload a file.")
    return read_table(built_in[0])


def check_reports(report_to: str, as_operator: bool) -> None:
    """Raises ExplorerError for an unknown tracker, and for any on a server that others can reach."""
    if parse_trackers(report_to) and not as_operator:
        raise ExplorerError("This server reports runs nowhere else. Leave “Report to” empty, or run it yourself.")


def preview_of(spec: Spec, table: Table, preflight: Preflight) -> RunPreview:
    """What people see of a planned run."""
    return RunPreview(
        summary=preflight.summary,
        unit=table.unit,
        columns=list(table.columns),
        mapping=preflight.mapping,
        reasons=preflight.reasons,
        rows=[shown_row(row) for row in preflight.train[:SHOWN_ROWS]],
        train=len(preflight.train),
        dev=len(preflight.dev),
        labels=dict(islice(preflight.labels.items(), SHOWN_LABELS)),
        label_count=len(preflight.labels),
        problems=[{"line": problem.line, "what": problem.what} for problem in preflight.problems[:SHOWN_PROBLEMS]],
        unusable=len(preflight.problems),
        notes=[finding.render() for finding in preflight.findings if not finding.stops],
        stops=preflight.stops,
        epochs=spec.tuning.epochs,
        steps=number_of_steps(spec.tuning, len(preflight.train)),
        enough_epochs=specs.enough_epochs(spec.tuning, len(preflight.train)),
    )


def shown_row(row: Row) -> dict[str, Any]:
    """A row as it was read, its line first; a long text is cut."""
    cells: dict[str, Any] = {"line": row.line}
    for name, value in row.cells.items():
        is_long = isinstance(value, str) and len(value) > SHOWN_CHARACTERS
        cells[name] = f"{value[:SHOWN_CHARACTERS]}…" if is_long else value
    return cells


def run_trial(command: Sequence[str], report: Callable[[str], object], check: Callable[[], object]) -> str:
    """The last line that a trial prints; *report* receives the others as they arrive. *check* is called twice a second.
    The process is killed if either raises. Raises ExplorerError if it fails or takes too long."""
    with tempfile.TemporaryFile("w+") as errors:
        trial = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert trial.stdout is not None
        lines: Queue[str] = Queue()
        reader = threading.Thread(target=read_lines, args=(trial.stdout, lines), daemon=True)
        reader.start()
        last = ""
        began = time.monotonic()
        in_time = True
        try:
            while in_time and (reader.is_alive() or not lines.empty()):
                check()
                with suppress(Empty):
                    last = lines.get(timeout=POLL_S)
                    if not last.startswith("{"):
                        report(last)
                in_time = time.monotonic() - began < TRIAL_S
        finally:
            if not in_time or reader.is_alive():
                trial.kill()
            trial.wait()
        errors.seek(0)
        wrong = (errors.read().strip().splitlines() or ["no message"])[-1]
    if not in_time:
        raise ExplorerError(
            f"Three steps took longer than {TRIAL_S:.0f} s. Choose a smaller checkpoint or shorter texts."
        )
    if trial.returncode:
        raise ExplorerError(f"The first steps failed: {wrong.removeprefix('bertexplorer: ')}")
    return last


def read_lines(output: Iterable[str], lines: Queue[str]) -> None:
    """Put the lines of *output* into the queue *lines* until it ends."""
    for line in output:
        lines.put(line.strip())
