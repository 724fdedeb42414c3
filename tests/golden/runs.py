"""A run of one epoch of every task, as its folder and its log show it.

What a processor decides (weights, metrics after the first step) is left out. The data, the columns, the losses before
anything is learned, and which events and files there are stay."""

import io
import json
import signal
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bertexplorer.cli import main
from bertexplorer.training.tasks import BY_NAME
from tests import tiny
from tests.conftest import ROOT
from tests.golden.normalise import normalised

DATA = ROOT / "assets" / "data"
Document = dict[str, Any]


def of_runs() -> Document:
    """What a run of one epoch on the built-in data leaves behind, by task."""
    out: Document = {}
    with TemporaryDirectory() as folder:
        start = tiny.write(Path(folder) / "little", "bert")
        for task in sorted(BY_NAME):
            data = next(DATA.glob(f"{BY_NAME[task].built_in_rows}.*"))
            if task == "distillation":  # from a teacher that knows the labels
                start = sorted((Path(folder) / "classification" / "best").iterdir())[-1]
            out[task] = of_run(task, data, start, Path(folder) / task)
            start = Path(folder) / "little"
    return out


def of_run(task: str, data: Path, start: Path, out: Path) -> Document:
    call = ["train", "--checkpoint", str(start), "--task", task, "--data", str(data), "--out", str(out)]
    call += ["--epochs", "1", "--threads", "1", "--precision", "fp32"]
    handlers = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGINT)}
    complained = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(complained):
        code = main(call)
    for name, handler in handlers.items():
        signal.signal(name, handler)
    if code:
        return {"error": complained.getvalue().splitlines()[-3:]}
    events = [json.loads(line) for line in (out / "events.jsonl").read_text("utf-8").splitlines()]
    spec = json.loads((out / "spec.json").read_text("utf-8"))
    first = next(event for event in events if event["event"] == "evaluated")
    files = sorted({path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()})
    content: Document = normalised(
        {
            "spec": {key: value for key, value in spec.items() if key not in ("folder", "checkpoint", "name")},
            "files": files,
            "events": sorted({event["event"]: sorted(event) for event in events}.items()),
            "before the first step": {name: value for name, value in first["metrics"].items() if name != "speed"},
        }
    )
    return content
