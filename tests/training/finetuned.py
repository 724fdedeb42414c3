"""A complete run of a task, from rows to its best checkpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, map_columns
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.artifacts import open_learner
from bertexplorer.training.finetuning.run import finetune
from bertexplorer.training.learner import Learner
from bertexplorer.training.task import AnyTask
from tests.conftest import ROOT


def built_in(name: str, columns: Sequence[str]) -> list[Row]:
    """The rows of a set that ships with the app."""
    path = ROOT / "assets" / "data" / name
    return map_columns(read(path.read_bytes(), path.name), {column: column for column in columns})


def trained(
    task: AnyTask,
    start: Path,
    folder: Path,
    rows: tuple[Sequence[Row], Sequence[Row]],
    **values: Any,
) -> tuple[list[dict[str, float]], Learner]:
    """(the metrics of every evaluation, step 0 first; the learner that was best_folder, read from its folder)."""
    specs.write_run_folder(folder, specs.make_spec(task.name, "tiny", str(start), values), *rows)
    events = list(finetune(folder))
    assert events[-1]["event"] == "finished"
    best = sorted((folder / "best").iterdir())[-1]
    return [event["metrics"] for event in events if event["event"] == "evaluated"], open_learner(best)


def best_folder(folder: Path) -> Path:
    return sorted((folder / "best").iterdir())[-1]
