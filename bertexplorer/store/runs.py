"""Runs as their folders show them: settings, progress, and whether a process works on them. Nothing is written."""

import json
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bertexplorer import locks
from bertexplorer.training.checkpointing import list_commits
from bertexplorer.training.events import Event

LAST = ("finished", "stopped", "failed")  # final events of a run
ACTIVE = ("starting", "running", "stopping")
TAIL = 16_384  # bytes to read at the end of a growing file
MAX_NAME = 80
LISTED = 50  # runs in a picker
SAVED = re.compile(r"run:([0-9a-f]{32})(?:@(\d{1,12}))?")


@dataclass(frozen=True)
class Job:
    """The requested state of a run: a row of the job database."""

    id: str
    name: str = ""
    owner: str = ""
    created: float = 0.0  # unix seconds
    wanted: str = ""  # queued, going, stop, ended, stopped, deleted; "": a run that was never queued
    version: int = 1  # version of the name
    group: str = ""  # shared by the seeds of one run
    seconds: float = 0.0  # estimated duration; 0: unknown
    attempts: int = 0  # how often it was started
    since: int = 0  # bytes of events.jsonl from before it was last queued
    cause: str = ""  # why its process ended, if the run itself could not say


@dataclass(frozen=True)
class Run(Job):
    """A job and the state of its folder.

    *state*: queued, starting, running, stopping, stopped, finished, failed, interrupted (its process is gone without
    a final event) or deleted."""

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


@dataclass(frozen=True)
class Saved:
    """A checkpoint of a training for the picker: run:ID is the best one, run:ID@STEP is a snapshot from a step."""

    name: str
    label: str
    folder: Path  # Path() if it is not on this disk
    megabytes: float = 0.0  # to download before it can be used; 0 if it is on this disk


def alive(folder: Path) -> bool:
    """Whether a process trains the run, or has just been started to do so.

    RUN/process, which only the server locks, is checked first, so that no supervisor finds its RUN/lock taken by this
    check."""
    return locks.held(folder / "process") or locks.held(folder / "lock")


def events(folder: Path, since: int = 0) -> tuple[list[Event], int]:
    """The events written from byte *since* on, and the byte where the next call must begin.

    A last line that is still being written is left for the next call; a torn one is skipped. Append the new events to
    the earlier ones with `joined`."""
    try:
        with (folder / "events.jsonl").open("rb") as opened:
            opened.seek(since)
            block = opened.read()
    except FileNotFoundError:
        return [], since
    whole = block[: block.rfind(b"\n") + 1]
    return [event for line in whole.splitlines() if (event := parsed(line))], since + len(whole)


def joined(before: Sequence[Event], new: Sequence[Event]) -> list[Event]:
    """The events as if the run had never been interrupted: if a step was computed twice, the second time counts."""
    found = list(before)
    for event in new:
        if event["event"] == "resumed":
            found = [e for e in found if e["step"] <= event["step"]]
        found.append(event)
    return found


def history(folder: Path) -> list[Event]:
    """All events of a run, as if it had never been interrupted."""
    return joined([], events(folder)[0])


def parsed(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(event, dict) and isinstance(event.get("event"), str) and isinstance(event.get("step"), int)
    return event if whole else None


def read(folder: Path, job: Job | None = None) -> Run:
    """The current state of the run in *folder*."""
    job = job or Job(folder.name)
    live = alive(folder)  # checked first: a process writes its final event before it releases its lock
    found = recent(folder, 0)
    fresh = recent(folder, job.since) if job.since else found
    progress, left = pace(found)
    state = state_of(folder, job, live, fresh)
    return Run(
        **asdict(job),
        folder=folder,
        spec=spec(folder),
        state=state,
        progress=1.0 if state == "finished" else progress,
        step=found[-1]["step"] if found else 0,
        seconds_left=left if state == "running" else None,
        message=trouble(folder) if state in ACTIVE else message(job, state, fresh),
    )


def recent(folder: Path, since: int) -> list[Event]:
    """The events at the end of the file that are not older than byte *since*."""
    path = folder / "events.jsonl"
    size = path.stat().st_size if path.is_file() else 0
    begin = max(since, size - TAIL)
    found = events(folder, begin)[0]  # half a line at the start is skipped
    return joined([], found if found or begin <= since else events(folder, since)[0])


def state_of(folder: Path, job: Job, live: bool, found: Sequence[Event]) -> str:
    if job.wanted == "deleted":
        return "deleted"
    word = found[-1]["event"] if found else ""
    if live:
        if job.wanted == "stop" or (folder / "stop").exists():
            return "stopping"
        return "running" if word and word not in LAST else "starting"
    if job.wanted == "queued":
        return "queued"
    if word in LAST:
        return word
    if job.wanted in ("stop", "stopped"):
        return "stopped"
    return "interrupted" if job.wanted or word else "queued"


def pace(found: Sequence[Event]) -> tuple[float, float | None]:
    """(share done, seconds left at the recent pace), from the events that have a share."""
    begun = max((i for i, e in enumerate(found) if e["event"] in ("begun", "resumed")), default=0)
    shares = [(e["time"], e["share"]) for e in found if number(e.get("share")) and number(e.get("time"))]
    fresh = [(e["time"], e["share"]) for e in found[begun:] if number(e.get("share")) and number(e.get("time"))]
    share = min(1.0, max(0.0, shares[-1][1])) if shares else 0.0
    if len(fresh) < 2 or (won := fresh[-1][1] - fresh[0][1]) <= 0 or (spent := fresh[-1][0] - fresh[0][0]) <= 0:
        return share, None
    return share, spent / won * (1 - share)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def message(job: Job, state: str, found: Sequence[Event]) -> str:
    if state == "failed":
        return scrub(str(found[-1].get("error", "")), 500) or "The run failed without an error message."
    if state == "interrupted":
        return (job.cause or "Its process ended without a message.") + " Resume continues from its last commit."
    return job.cause if state in ("stopped", "queued") else ""


def trouble(folder: Path) -> str:
    """What keeps the files of a run on a cluster from going there and back, "" if nothing does."""
    with suppress(OSError):
        return scrub((folder / "trouble").read_text("utf-8", "replace"), 500)
    return ""


def spec(folder: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / "spec.json").read_text("utf-8"))
        return found if isinstance(found, dict) else None
    return None


def last_words(folder: Path) -> str:
    """The end of the process's output: at most three lines, without the lines of a traceback."""
    try:
        with (folder / "output.txt").open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - TAIL))
            lines = opened.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return ""
    said = [line for line in lines if line.strip() and line[0] not in " \t" and not line.startswith("Traceback (")]
    return scrub(" / ".join(line[-300:] for line in said[-3:]), 600)


def scrub(text: str, most: int = MAX_NAME) -> str:
    """*text* as one line of at most *most* characters, all printable."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[: 10 * most]).split())[:most]


def left(run: Run) -> float:
    """Remaining seconds of a run, 0 if unknown."""
    return run.seconds_left if run.seconds_left is not None else run.seconds * (1 - run.progress)


def ordinal(n: int) -> str:
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"


def duration(seconds: float) -> str:
    """*seconds* in words, such as about 4 min."""
    if seconds < 60:
        return "less than a minute"
    return f"about {seconds / 60:.0f} min" if seconds < 5_400 else f"about {seconds / 3600:.0f} h"


def titled(run: Run) -> str:
    """The name of a run: the one it was renamed to, or its first one."""
    with suppress(OSError):
        return (run.folder / "name").read_text("utf-8")[:40]
    return (run.name or str((run.spec or {}).get("name", "")) or f"run {run.id[:8]}")[:40]


def pretrained(folder: Path) -> list[Path]:
    """The checkpoint of a pretraining run's last commit, if there is one."""
    found = [commit / "model" for commit in list_commits(folder / "commits")[-1:]]
    return [model for model in found if (model / "config.json").is_file()]


def trained(root: Path, whose: Collection[str] | None = None) -> list[tuple[str, str]]:
    """(name of the run, name of its best checkpoint) for all runs that saved one, newest first. *whose*: only runs
    with these ids."""
    named = [p for p in root.glob("[0-9a-f]*") if re.fullmatch(r"[0-9a-f]{32}", p.name)]
    named = [p for p in named if whose is None or p.name in whose]
    found = [p for p in named if list_commits(p / "best") or pretrained(p)]
    found.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    return [(titled(Run(p.name, folder=p, spec=spec(p))), f"run:{p.name}") for p in found[:LISTED]]


def checkpoints(run: Run) -> list[Saved]:
    """The checkpoints to look into: the run's start (run:ID@0), its snapshots by step, and the best one."""
    name = titled(run)
    start = Path(str((run.spec or {}).get("folder", "")))
    before = [Saved(f"run:{run.id}@0", f"{name}, before", start)] if (start / "config.json").is_file() else []
    along = {
        int(p.name[5:]): p for p in list_commits(run.folder / "snapshots") if re.fullmatch(r"step-\d{1,12}", p.name)
    }
    later = [Saved(f"run:{run.id}@{n}", f"{name}, step {n:,}", along[n]) for n in sorted(along)]
    best = [Saved(f"run:{run.id}", f"{name}, best", best) for best in list_commits(run.folder / "best")[-1:]]
    best = best or [Saved(f"run:{run.id}", f"{name}, last", last) for last in pretrained(run.folder)]
    return before + later + best


def series(root: Path, name: str) -> list[Saved]:
    """The checkpoints of the run that *name* belongs to, in the order of training; none for any other name."""
    asked = SAVED.fullmatch(name)
    return checkpoints(Run(asked[1], folder=root / asked[1], spec=spec(root / asked[1]))) if asked else []


def find(root: Path, name: str) -> Path | None:
    """The folder of the checkpoint run:ID or run:ID@STEP among the runs in *root*. None for any other name, or if
    there is no such checkpoint."""
    return next((saved.folder for saved in series(root, name) if saved.name == name), None)
