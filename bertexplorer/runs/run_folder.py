"""Runs as their folders show them: settings, progress, and whether they have a process. Read-only."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bertexplorer import locks
from bertexplorer.store.trained import read_spec
from bertexplorer.training.events import Event

FINAL_EVENTS = ("finished", "stopped", "failed")  # of a run
ACTIVE_STATES = ("starting", "running", "stopping")
LIVE_STATES = (*ACTIVE_STATES, "queued")
RESUMABLE_STATES = ("stopped", "failed", "interrupted")
TAIL_BYTES = 16_384  # to read at the end of a growing file
MAX_NAME = 80


@dataclass(frozen=True)
class Job:
    """The requested state of a run: a row of the job database."""

    id: str
    name: str = ""
    owner: str = ""
    created: float = 0.0  # unix seconds
    wanted: str = ""  # queued, going, stop, ended, stopped, deleted; "" if it was never queued
    version: int = 1  # version of the name
    group: str = ""  # shared by the seeds of one run
    seconds: float = 0.0  # estimated duration; 0: unknown
    attempts: int = 0  # how often it was started
    since: int = 0  # size of events.jsonl when it was last queued
    cause: str = ""  # why its process ended, if the run itself has not recorded that


@dataclass(frozen=True)
class Run(Job):
    """A job and the state of its folder.

    *state*: queued, starting, running, stopping, stopped, finished, failed, interrupted (its process ended without a
    final event) or deleted."""

    folder: Path = Path()
    spec: dict[str, Any] | None = None  # None: spec.json cannot be read
    state: str = ""
    progress: float = 0.0  # 0 to 1
    step: int = 0
    seconds_left: float | None = None
    message: str = ""  # for people

    @property
    def task(self) -> str:
        return str((self.spec or {}).get("task", ""))


def is_alive(folder: Path) -> bool:
    """Whether a process trains the run, or has just been started to do so.

    RUN/process and RUN/launch, which only the server locks, are checked first: checking RUN/lock takes it for a moment,
    in which a training process would find it locked."""
    return any(locks.is_locked(folder / name) for name in ("process", "launch", "lock"))


def read_events(folder: Path, since: int = 0) -> tuple[list[Event], int]:
    """The events from byte *since* on, and the byte from which the next call should read.

    A last line that is still being written is left for the next call; an invalid line is skipped."""
    try:
        with (folder / "events.jsonl").open("rb") as file:
            file.seek(since)
            block = file.read()
    except FileNotFoundError:
        return [], since
    complete = block[: block.rfind(b"\n") + 1]
    events = [parse_event(line) for line in complete.splitlines()]
    return [event for event in events if event], since + len(complete)


def merge_events(events: Iterable[Event]) -> list[Event]:
    """*events* as if the run had never been interrupted: if a step was computed twice, the second time counts."""
    merged: list[Event] = []
    for event in events:
        if event["event"] == "resumed":
            merged = [earlier for earlier in merged if earlier["step"] <= event["step"]]
        merged.append(event)
    return merged


def history(folder: Path) -> list[Event]:
    """All events of a run, as if it had never been interrupted."""
    return merge_events(read_events(folder)[0])


def parse_event(line: bytes) -> Event | None:
    """The event on *line* of events.jsonl; None if it is invalid."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    valid = isinstance(event, dict) and isinstance(event.get("event"), str) and isinstance(event.get("step"), int)
    return event if valid else None


def read(folder: Path, job: Job | None = None) -> Run:
    """The current state of the run in *folder*."""
    job = job or Job(folder.name)
    live = is_alive(folder)  # checked first: a process writes its final event before it releases its lock
    events = recent_events(folder, 0)
    new_events = recent_events(folder, job.since) if job.since else events
    progress, seconds_left = estimate_progress(events)
    state = state_of(folder, job, live, new_events)
    if state in ACTIVE_STATES:
        message = activity(folder, state, new_events)
    else:
        message = message_of(job, state, new_events)
    return Run(
        **asdict(job),
        folder=folder,
        spec=read_spec(folder),
        state=state,
        progress=1.0 if state == "finished" else progress,
        step=events[-1]["step"] if events else 0,
        seconds_left=seconds_left if state == "running" else None,
        message=message,
    )


def recent_events(folder: Path, since: int) -> list[Event]:
    """The last events, as far as they were written from byte *since* on."""
    path = folder / "events.jsonl"
    size = path.stat().st_size if path.is_file() else 0
    begin = max(since, size - TAIL_BYTES)
    events, _ = read_events(folder, begin)  # an incomplete line at the start is skipped
    if not events and begin > since:  # the last line alone is longer
        events, _ = read_events(folder, since)
    return merge_events(events)


def state_of(folder: Path, job: Job, live: bool, events: Sequence[Event]) -> str:
    """The state of a run (see Run). *live*: whether it has a process; *events*: those since it was last queued."""
    if job.wanted == "deleted":
        return "deleted"
    last = events[-1]["event"] if events else ""
    if live:
        if job.wanted == "stop" or (folder / "stop").exists():
            return "stopping"
        is_ending = last in FINAL_EVENTS and job.wanted != ""  # its process, the one that was last queued
        is_under_way = last and last not in FINAL_EVENTS
        return "running" if is_ending or is_under_way else "starting"
    if job.wanted == "queued":
        return "queued"
    if last in FINAL_EVENTS:
        return last
    if job.wanted in ("stop", "stopped"):
        return "stopped"
    return "interrupted" if job.wanted or last else "queued"


def estimate_progress(events: Sequence[Event]) -> tuple[float, float | None]:
    """(share done, seconds left at the recent pace), from the events that have a share."""
    share = 0.0
    recent: list[tuple[float, float]] = []  # time and share since the run was last begun or resumed
    for event in events:
        if event["event"] in ("begun", "resumed"):
            recent = []
        if is_number(event.get("share")) and is_number(event.get("time")):
            share = min(1.0, max(0.0, event["share"]))
            recent.append((event["time"], event["share"]))
    if len(recent) < 2:
        return share, None
    (first_time, first_share), (last_time, last_share) = recent[0], recent[-1]
    seconds, gain = last_time - first_time, last_share - first_share
    if gain <= 0 or seconds <= 0:
        return share, None
    return share, seconds / gain * (1 - share)


def is_number(value: Any) -> bool:
    """Whether it is one, and not NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def message_of(job: Job, state: str, events: Sequence[Event]) -> str:
    """Why a run without a process is in its *state*, for people."""
    if state == "failed":
        return one_line(str(events[-1].get("error", "")), 500) or "The run failed without an error message."
    if state == "interrupted":
        cause = job.cause or "Its process ended without a message."
        return f"{cause} Resume continues from its last commit."
    if state in ("stopped", "queued"):
        return job.cause
    return ""


def activity(folder: Path, state: str, events: Sequence[Event]) -> str:
    """What a run with a process does before its first step, or why its folder on a cluster cannot be synchronized."""
    if state == "running" and events and events[-1]["event"] == "reading":
        count = events[-1].get("documents", 0)
        reading = f"reading the text, {count:,} documents" if count else "reading the text"
        return sync_error(folder) or str(events[-1].get("text", reading))
    return sync_error(folder)


def sync_error(folder: Path) -> str:
    """Why the folder of a run on a cluster cannot be synchronized, "" if it can."""
    with suppress(OSError):
        return one_line((folder / "trouble").read_text("utf-8", "replace"), 500)
    return ""


def last_output(folder: Path) -> str:
    """The end of the process's output: at most three lines, without the lines of a traceback."""
    try:
        with (folder / "output.txt").open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return ""
    messages = []
    for line in lines:
        of_traceback = line.startswith((" ", "\t", "Traceback ("))
        if line.strip() and not of_traceback:
            messages.append(line)
    return one_line(" / ".join(line[-300:] for line in messages[-3:]), 600)


def one_line(text: str, max_length: int = MAX_NAME) -> str:
    """*text* as one line of at most *max_length* characters, all printable."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text[: 10 * max_length])
    return " ".join(printable.split())[:max_length]


def remaining_seconds(run: Run) -> float:
    """Of a run that is not finished, by its pace, else by the estimate of its duration; 0 if unknown."""
    if run.seconds_left is not None:
        return run.seconds_left
    return run.seconds * (1 - run.progress)


def ordinal(n: int) -> str:
    """Such as 2nd or 11th."""
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    if n % 100 in (11, 12, 13):
        suffix = "th"
    return f"{n:,}{suffix}"


def duration(seconds: float) -> str:
    """*seconds* for people, such as about 4 min."""
    if seconds < 60:
        return "less than a minute"
    if seconds < 5_400:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.0f} h"
