"""Experiment service: start and watch pretraining experiments."""

import hashlib
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.runs import run_folder
from bertexplorer.runs.run_folder import LIVE_STATES, RESUMABLE_STATES, Run
from bertexplorer.runs.service import PRETRAINING, REPEAT_S, Action, RunService
from bertexplorer.settings import ASSETS
from bertexplorer.store import sandbox
from bertexplorer.training.pretraining import experiments, sentences
from bertexplorer.training.pretraining.experiments import BY_NAME, Experiment

MAX_MINUTES, MAX_MB = 60.0, 25  # limits of the page
MAX_UNPACKED_MB = 100  # limits for reading a text
MAX_S = 60.0
MAX_MEMORY_MB = 1500
MIN_DOCUMENTS, HELD_OUT = 20, 0.1  # of a text, and the largest share of them that is held out
FAIRY_TALES = ASSETS / "pretraining" / "fairytales.txt.xz"


@dataclass(frozen=True)
class Arm:
    """One run of an experiment with its events."""

    name: str
    run: Run

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        return run_folder.history(self.run.folder)

    def last(self, key: str) -> Any:
        """The value of *key* in the last event that has it; None if none has."""
        return next((event[key] for event in reversed(self.events) if key in event), None)


@dataclass(frozen=True)
class Trial:
    """An experiment that was started."""

    group: str
    experiment: Experiment
    arms: tuple[Arm, ...]

    @property
    def live(self) -> bool:
        """Whether one of its runs waits or goes on."""
        return any(arm.run.state in LIVE_STATES for arm in self.arms)

    @property
    def resumable(self) -> bool:
        """Whether it has ended early."""
        return not self.live and any(arm.run.state in RESUMABLE_STATES for arm in self.arms)

    @property
    def run(self) -> Run:
        """The experiment as one entry in the list of runs. Its state is that of a live run if there is one, else of
        an unfinished one."""
        runs = [arm.run for arm in self.arms]
        unfinished = [run.state for run in runs if run.state != "finished"]
        message = f"{len(runs)} runs"
        if unfinished:
            message = f"{len(runs) - len(unfinished)} of {len(runs)} runs finished"
        return Run(
            self.group,
            self.experiment.title,
            created=min(run.created for run in runs),
            state=min(unfinished, key=lambda state: state not in LIVE_STATES, default="finished"),
            progress=sum(run.progress for run in runs) / len(runs),
            message=message,
        )

    def final_measures(self) -> dict[str, float]:
        """arm -> its final measure, for the finished arms."""
        measures = {}
        for arm in self.arms:
            if arm.run.state == "finished":
                value = experiments.reached_value(arm.events, self.experiment.measure)
                if value is not None:
                    measures[arm.name] = value
        return measures

    def tokens_read(self) -> dict[str, float]:
        """arm -> how many tokens it read, for the finished arms."""
        return {arm.name: arm.last("tokens") or 0 for arm in self.arms if arm.run.state == "finished"}


class ExperimentService:
    """Shares the jobs and the supervisor of the training page: all runs wait in one queue."""

    def __init__(self, training: RunService) -> None:
        self.training = training
        self.jobs = training.jobs
        self.supervisor = training.supervisor
        self.corpora = training.settings.data_dir / "corpora"
        self.lock = threading.Lock()
        self.locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # one for each owner
        self.read: dict[str, Run] = {}  # owner -> the experiment whose text is being read
        self.last: dict[str, tuple[float, tuple[str, float, str], str]] = {}  # owner -> time, request and group

    def text(self, file: str, owner: str) -> Path:
        """The training text: an uploaded *file*, saved for *owner*, or the fairy tales. Raises ExplorerError."""
        if not file:
            return FAIRY_TALES
        path = Path(file)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ExplorerError(f"{path.name} cannot be read: {error.strerror}. Upload it again.") from error
        if len(content) > MAX_MB * 1_000_000:
            raise ExplorerError(
                f"{path.name} has {len(content) / 1e6:,.0f} MB; the limit on this page is {MAX_MB} MB. For more, use "
                "the command line: python -m bertexplorer pretrain."
            )
        ending = ".txt.xz" if path.name.endswith(".xz") else ".txt"
        text = self.corpora / owner / f"text-{hashlib.sha256(content).hexdigest()[:16]}{ending}"
        text.parent.mkdir(parents=True, exist_ok=True)
        if not text.is_file():
            partial = text.with_suffix(".partial")
            partial.write_bytes(content)
            partial.replace(text)
        return text

    def delete_unused_texts(self, owner: str) -> None:
        """Delete the texts of *owner* that no run uses any more."""
        if not owner:
            return
        used = set()
        for run in [*self.jobs.runs(owner), *self.jobs.runs(owner, deleted=True)]:
            for stage in (run.spec or {}).get("stretches", ()):
                used |= {Path(text).name for text in stage.get("text", ())}
        for text in (self.corpora / owner).glob("text-*"):
            if text.name not in used:
                text.unlink(missing_ok=True)

    def start(self, name: str, minutes: float, file: str, owner: str) -> str:
        """Queue every arm of an experiment for *minutes* each. Returns the group of its runs: the same group if the
        button is clicked again at once. Raises ExplorerError."""
        if self.training.settings.runs_url:
            raise ExplorerError(
                "This server keeps its runs on object storage, over which only the runs of the Train page travel. Use "
                "the command line: python -m bertexplorer pretrain."
            )
        if name not in BY_NAME:
            raise ExplorerError("No experiment is chosen. Pick one.")
        if not 0 < minutes <= MAX_MINUTES:
            raise ExplorerError(f"{minutes} minutes per run were requested; wanted up to {MAX_MINUTES:.0f}.")
        with self.lock:
            lock = self.locks[owner]
        with lock:  # one for each owner, so that nobody waits for another owner's file
            started, request, group = self.last.get(owner, (0.0, ("", 0.0, ""), ""))
            if request == (name, minutes, file) and time.monotonic() - started < REPEAT_S:
                return group
            self.delete_unused_texts(owner)
            self.training.quota.check(owner)
            group = self.begin(BY_NAME[name], minutes, self.text(file, owner), owner)
            self.last[owner] = time.monotonic(), (name, minutes, file), group
        return group

    def begin(self, experiment: Experiment, minutes: float, text: Path, owner: str) -> str:
        """Queue a run for each arm. Returns their group. Raises ExplorerError if the *text* cannot be used."""
        from bertexplorer.training.pretraining import spec as specs  # imports torch; the page must not wait for it

        count = count_documents(text)
        group = secrets.token_hex(16)
        for number, arm in enumerate(experiment.arms):
            values = experiments.arm_settings(experiment, arm, minutes)
            values["heldout_documents"] = min(values["heldout_documents"], int(HELD_OUT * count))
            spec = specs.make_spec({"text": (str(text),), "cache": str(self.corpora)}, values)
            plain = {
                "format": specs.FORMAT,
                "kind": PRETRAINING,
                "task": PRETRAINING,
                "experiment": experiment.name,
                "arm": arm.name,
                "stretches": [asdict(spec)],
            }
            title = f"{experiment.title}: {arm.name}"
            seconds = 60 * minutes * arm.share
            self.jobs.accept(owner, title, plain, key=f"{group}-{number}", group=group, seconds=seconds)
        return group

    def trials(self, owner: str, *, deleted: bool = False) -> list[Trial]:
        """Every started experiment, the newest first. *deleted*: those that can be restored instead."""
        started: dict[tuple[str, str], list[Arm]] = {}
        for run in self.jobs.runs(owner, deleted=deleted):
            spec = run.spec or {}
            name = str(spec.get("experiment", ""))
            if run.group and name in BY_NAME:
                started.setdefault((run.group, name), []).append(Arm(str(spec.get("arm", "")), run))
        trials = []
        for (group, name), own in started.items():
            arms = [arm for wanted in BY_NAME[name].arms for arm in own if arm.name == wanted.name]
            if arms:
                trials.append(Trial(group, BY_NAME[name], tuple(arms)))
        return trials

    def reading_now(self, owner: str) -> Run | None:
        """The entry of the experiment whose text is still being read, before it has runs."""
        return self.read.get(owner)

    @contextmanager
    def reading(self, name: str, owner: str) -> Iterator[None]:
        """List the experiment *name* while its text is read, before there are runs."""
        if name in BY_NAME:
            title = BY_NAME[name].title
            self.read[owner] = Run("", title, created=time.time(), state="queued", message="its text is being read")
        try:
            yield
        finally:
            self.read.pop(owner, None)

    def act(self, action: Action, group: str, owner: str) -> Trial:
        """Stop, resume, delete or restore the runs of an experiment. Resumed runs go on from their last commit. Raises
        ExplorerError if it does not exist (any more), or its state does not allow it."""
        trial = self.find(group, owner, deleted=action == "restore")
        for arm in trial.arms:
            if action == "stop" and arm.run.state not in LIVE_STATES:
                continue
            if action == "resume" and arm.run.state not in RESUMABLE_STATES:
                continue
            self.training.act(action, arm.run.id, owner)
        return self.find(group, owner, deleted=action == "delete")

    def find(self, group: str, owner: str, *, deleted: bool = False) -> Trial:
        """The experiment *group*. Raises ExplorerError if it does not exist (any more)."""
        for trial in self.trials(owner, deleted=deleted):
            if trial.group == group:
                return trial
        raise ExplorerError("That experiment no longer exists. Choose another one from the list.")


def count_documents(text: Path) -> int:
    """Count the distinct documents in a separate process. Raises ExplorerError for too few, for a file that is not
    text, and for one that is too large when unpacked."""
    most = MAX_UNPACKED_MB * 1_000_000
    try:
        count = sandbox.call(sentences.count_distinct, str(text), most, seconds=MAX_S, megabytes=MAX_MEMORY_MB)
    except sandbox.SandboxError as broken:
        raise ExplorerError(f"{text.name} cannot be used: reading it {broken}. Use a smaller text.") from broken
    if count < MIN_DOCUMENTS:
        raise ExplorerError(
            f"The text has {count:,} different documents; wanted at least {MIN_DOCUMENTS}, so that some can be held "
            "out and a wrong next sentence can come from another one. Put a blank line between documents, or add text."
        )
    return count
