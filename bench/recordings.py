"""The runs replayed by lessons, trained again: python -m bench.recordings [NAME …]. About half an hour in all.

Each is trained with one thread on the built-in rows, reduced to the data of its figure, and written to
assets/lessons/runs/. The numbers of a lesson depend on these files; check the lessons after recording.
"""

import json
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bertexplorer as bx
from bertexplorer.learn.recording import FOLDER
from bertexplorer.training.tasks import BY_NAME

DATA = FOLDER.parents[1] / "data"
MAX_STEPS = 60  # kept points of the loss curve
RATE = 1e-4  # slow enough that a lesson can show what is learnt first


@dataclass(frozen=True)
class Arm:
    """One run of a recording."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    task: str = ""  # of the recording, if left out


@dataclass(frozen=True)
class Wanted:
    title: str
    task: str
    file: str
    arms: Sequence[Arm]
    metric: str = ""  # the task's headline, if left out


WANTED: dict[str, Wanted] = {
    "classification": Wanted("Positive or negative", "classification", "classification.csv", [Arm("mini")]),
    "tagging": Wanted(
        "Names, with and without a CRF",
        "tagging",
        "tagging.conll",
        [
            Arm("each tag alone", {"head": "softmax", "rate": 2e-4}),
            Arm("all together (CRF)", {"head": "crf", "rate": 2e-4}),
        ],
    ),
    "question-answering": Wanted(
        "Where is the answer?",
        "question-answering",
        "question-answering.json",
        [Arm("mini", {"epochs": 8, "rate": 3e-4})],
    ),
    "retrieval": Wanted("Find the passage", "retrieval", "retrieval.jsonl", [Arm("mini", {"epochs": 3})]),
    "reranking": Wanted("Put four passages in order", "reranking", "reranking.jsonl", [Arm("mini", {"epochs": 20})]),
    "summary": Wanted("Pick the sentences of a summary", "summary", "summary.jsonl", [Arm("mini")]),
    "sequence": Wanted("From one to many", "sequence", "sequence.tsv", [Arm("mini", {"epochs": 8})]),
    "frozen": Wanted(
        "The head alone, or all weights",
        "classification",
        "classification.csv",
        [
            Arm("all weights"),
            Arm("the head alone", {"method": "frozen", "rate": 1e-3}),
            Arm("LoRA", {"method": "lora", "rate": 5e-4}),
        ],
    ),
    "seeds": Wanted(
        "The head alone, with five seeds",
        "classification",
        "classification.csv",
        [Arm(f"seed {seed}", {"seed": seed, "method": "frozen", "rate": 1e-3}) for seed in range(5)],
    ),
    "next-word": Wanted("What comes next?", "next-word", "next-word.txt", [Arm("mini", {"epochs": 4})]),
}


def settings(arm: Arm) -> dict[str, Any]:
    return {"rate": RATE} | arm.settings


def train(wanted: Wanted, arm: Arm, folder: Path) -> dict[str, Any]:
    """One run in the format of the recording."""
    started = time.perf_counter()
    run = bx.train(
        "mini", task=wanted.task, data=DATA / wanted.file, out=folder, threads=1, on_event=quiet, **settings(arm)
    )
    return recorded(arm.name, run.events, time.perf_counter() - started)


def distil(folder: Path) -> list[dict[str, Any]]:
    """A teacher, stopped before it is right everywhere, and the student that learns from it."""
    data, started = DATA / "classification.csv", time.perf_counter()
    shared: dict[str, Any] = {"data": data, "threads": 1, "rate": RATE, "on_event": quiet}
    teacher = bx.train("mini", task="classification", out=folder / "teacher", epochs=2, **shared)
    student = bx.train(teacher.load(), task="distillation", out=folder / "s", **shared)
    return [recorded("three of six layers", student.events, time.perf_counter() - started)]


def quiet(event: Any) -> None:
    """Nothing is printed."""


def recorded(name: str, events: Sequence[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """The events that the figure needs, with a few of the steps and their numbers."""
    ready = next(event for event in events if event["event"] == "ready")
    steps = [event for event in events if event["event"] == "steps"]
    thinned = steps[:: max(1, len(steps) // MAX_STEPS)]
    slim = [thin(event) for event in events if event["event"] in ("ready", "evaluated") or event in thinned]
    numbers = {"seconds": round(seconds), "learning": ready["learning"] / 1e6, "rows": ready["rows"]}
    return {"name": name, "numbers": numbers, "events": slim}


def thin(event: dict[str, Any]) -> dict[str, Any]:
    """An event with the fields that lessons and figures read, with four digits."""
    names = ("event", "step", "epoch", "metrics", "loss", "floors", "time")
    return {name: rounded(event[name]) for name in names if name in event and name != "time"}


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def write(
    name: str, title: str, task: str, metric: str, runs: list[dict[str, Any]], card: dict[str, str], command: str
) -> None:
    about = BY_NAME[task]
    metric = metric or about.metric
    held = {
        "title": title,
        "card": {
            **card,
            "Trained on": f"{time.strftime('%Y-%m-%d')}, {platform.processor() or platform.machine()}, 1 thread",
        },
        "command": command,
        "metric": metric,
        "words": about.metrics[metric],
        "higher": about.higher,
        "runs": runs,
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(held, ensure_ascii=False), "utf-8")
    print(name, f"{(FOLDER / f'{name}.json').stat().st_size:,} bytes", flush=True)


def record(name: str) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        if name == "distillation":
            runs = distil(folder)
            card = {"Checkpoint": "mini, then a student with half its layers", "Rows": "classification.csv"}
            command = "bertexplorer train --task distillation --checkpoint RUN --data assets/data/classification.csv"
            command += f" --rate {RATE} --out runs/student"
            write(name, "A student with half the layers", "distillation", "", runs, card, command)
            return
        wanted = WANTED[name]
        runs = [train(wanted, arm, folder / str(i)) for i, arm in enumerate(wanted.arms)]
        flags = " ".join(
            f"--{k.replace('_', '-')} {v}" if k in ("epochs", "method", "seed", "rate") else f"--set {k}={v}"
            for k, v in settings(wanted.arms[-1]).items()
        )
        command = f"bertexplorer train --task {wanted.task} --data assets/data/{wanted.file} {flags} --out runs/mine"
        card = {"Checkpoint": "mini", "Task": BY_NAME[wanted.task].title, "Rows": wanted.file}
        write(name, wanted.title, wanted.task, wanted.metric, runs, card, " ".join(command.split()))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    for one in sys.argv[1:] or [*WANTED, "distillation"]:
        record(one)
