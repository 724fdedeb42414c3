"""A suite as a run: scored in a process of its own, with the progress, Stop and Resume of every run.

RUN/spec.json        kind "suite": the checkpoint, the scoring, the number of rows
RUN/data/rows.jsonl  the rows, a [line, cells] each
RUN/suite/           the SuiteFolder, with cases.csv at the end
RUN/result.json      at the end: the figure and the sentence
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.analysis.suite_cases import Row
from bertexplorer.analysis.suite_scores import Scoring
from bertexplorer.errors import ExplorerError
from bertexplorer.store.suite_folder import MOST, SuiteFolder, replace

if TYPE_CHECKING:
    from bertexplorer.figures import Figure
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.store.jobs import Jobs
    from bertexplorer.store.runs import Run
    from bertexplorer.training.events import Event

KIND = "suite"


def begin(jobs: Jobs, owner: str, checkpoint: Checkpoint, rows: Sequence[Row], scoring: Scoring, name: str) -> Run:
    """Queue a run. Raises ExplorerError for too many rows, and for those that are no suite for this checkpoint."""
    if len(rows) > MOST:
        raise ExplorerError(f"{len(rows):,} rows were given; the limit is {MOST:,}. Give fewer.")
    spec = {
        "format": 1,
        "kind": KIND,
        "task": KIND,
        "name": name,
        "checkpoint": checkpoint.name,
        "folder": str(checkpoint.folder),
        "precision": checkpoint.precision,
        "scoring": scoring,
        "rows": len(rows),
    }

    def fill(folder: Path) -> None:
        (folder / "data").mkdir()
        lines = "".join(json.dumps(list(row), ensure_ascii=False, default=str) + "\n" for row in rows)
        (folder / "data" / "rows.jsonl").write_text(lines, "utf-8")

    return jobs.accept(owner, name, spec, fill=fill)


def score(folder: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Score the run in *folder*, or go on with it. Yields each event after it is logged."""
    from bertexplorer.training.run_process import work

    return work(folder, lambda ending: SuiteRun(folder, ending), stop)


class SuiteRun:
    """The run in *folder* while it is scored."""

    def __init__(self, folder: Path, stop: Callable[[], bool]) -> None:
        from bertexplorer.model.load import load

        self.folder, self.stop, self.done = folder, stop, 0
        try:
            spec = json.loads((folder / "spec.json").read_text("utf-8"))
            lines = (folder / "data" / "rows.jsonl").read_text("utf-8").splitlines()
            rows = [(line, cells) for line, cells in map(json.loads, lines)]
            place, name, precision, scoring = (spec[key] for key in ("folder", "checkpoint", "precision", "scoring"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ExplorerError(f"{folder} holds no suite ({error}). Start it again.") from error
        checkpoint = load(Path(place), name=name, precision=precision, frozen=True)
        self.suite = SuiteFolder(folder / "suite", checkpoint, rows, scoring)

    def where(self) -> Event:
        """Cases scored so far."""
        return {"stretch": 0, "step": self.done}

    def events(self) -> Iterator[Event]:
        from bertexplorer.figures import suite

        yield {"event": "resumed" if (self.folder / "suite").is_dir() else "begun"}
        total = 0
        for progress in self.suite.run(self.stop):
            self.done, total = progress.done, progress.total
            yield {"event": "scored", "share": self.done / total, "seconds_left": progress.seconds_left}
        if self.done < total:
            yield {"event": "stopped"}
            return
        found = self.suite.result()
        shown = {"figure": json.loads(suite.draw(found).to_json()), "said": suite.say(found)}
        replace(self.folder / "result.json", json.dumps(shown))
        yield {"event": "finished", "value": found.total.right}


def result(folder: Path) -> tuple[Figure | None, str]:
    """(the figure, the sentence) of a finished run; (None, "") before."""
    from bertexplorer.figures import Figure

    try:
        held: dict[str, Any] = json.loads((folder / "result.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None, ""
    return Figure(held["figure"], _validate=False), str(held["said"])
