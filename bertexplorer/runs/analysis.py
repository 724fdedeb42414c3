"""A view of uploaded rows as a run: it goes on without the page, and begins anew if its process ends early.

The folder is that of a suite (`runs/suite.py`), whose cases are the view's: spec.json names the view and its options,
and cases.csv and summary.csv have what the view exports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.csv_safety import as_csv
from bertexplorer.engine.progress import Stopped, Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.runs import suite
from bertexplorer.runs.suite_folder import read_json, write_atomically
from bertexplorer.views import VIEWS
from bertexplorer.views.protocols import Summarised, Tabular
from bertexplorer.views.rows import NumberedRow

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.runs.jobs import Jobs
    from bertexplorer.runs.run_folder import Run
    from bertexplorer.training.events import Event
    from bertexplorer.views.protocols import ViewResult
    from bertexplorer.views.view import View

EVERY_S = 0.5  # between two looks at the progress


def can_run(view: View) -> bool:
    """Whether *view* reads rows and has a table of cases. A suite has a run of its own."""
    is_table = isinstance(view.figure, Tabular) and isinstance(view.analysis, Summarised)
    return view.upload == "rows" and is_table and view.name != suite.KIND


def begin(
    jobs: Jobs,
    owner: str,
    checkpoint: Checkpoint,
    view: View,
    options: Mapping[str, Any],
    rows: Sequence[NumberedRow],
    name: str,
) -> Run:
    """Queue a run of *owner*, called *name*. Raises ExplorerError for a view that has none."""
    if not can_run(view):
        known = ", ".join(each.slug for each in VIEWS.values() if can_run(each))
        raise ExplorerError(f"{view.title} cannot be computed as a run; wanted one of {known}.")
    spec = {
        "format": 1,
        "kind": suite.KIND,
        "task": view.slug,
        "view": view.slug,
        "name": name,
        "checkpoint": checkpoint.name,
        "folder": str(checkpoint.folder),
        "precision": checkpoint.precision,
        "options": {key: value for key, value in options.items() if key != "rows"},
        "rows": len(rows),
    }
    return jobs.accept(owner, name, spec, fill=lambda folder: suite.write_rows(folder, rows))


def compute(folder: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Compute the view in *folder*, or score the suite if it is one. Yields each event after it is logged."""
    from bertexplorer.training.run_process import log_events

    if "view" not in read_json(folder / "spec.json"):
        return suite.score(folder, stop)
    return log_events(folder, partial(QueuedAnalysis, folder), stop)


class QueuedAnalysis:
    """Computes the view of the rows in *folder*."""

    def __init__(self, folder: Path, stop: Callable[[], bool]) -> None:
        from bertexplorer.model.load import load

        self.folder = folder
        self.stop = stop
        self.work = Work()
        spec, self.rows = suite.read_run(folder)
        try:
            self.view = VIEWS[spec["view"]]
            self.options = self.view.analysis.Options(**spec["options"])
        except (KeyError, TypeError) as error:
            raise ExplorerError(f"{folder} asks for what this version lacks ({error}). Start it again.") from error
        name, precision = spec["checkpoint"], spec["precision"]
        self.checkpoint = load(Path(spec["folder"]), name=name, precision=precision, frozen=True)

    def position(self) -> Event:
        """Tokens computed so far."""
        return {"stretch": 0, "step": self.work.done}

    def events(self) -> Iterator[Event]:
        yield {"event": "resumed" if (self.folder / "suite").is_dir() else "begun"}
        (self.folder / "suite").mkdir(exist_ok=True)
        with ThreadPoolExecutor(1) as thread:
            computing = thread.submit(self.compute)
            yield from self.progress(computing)
            try:
                result = computing.result()
            except Stopped:
                yield {"event": "stopped"}
                return
        self.write(result)
        yield {"event": "finished"}

    def compute(self) -> ViewResult:
        """The result of the view. Raises Stopped if the run is asked to end."""
        with working(self.work):
            return self.view.run(self.checkpoint, "", self.options, rows=self.rows)

    def progress(self, computing: Future[ViewResult]) -> Iterator[Event]:
        """How far it is, until it is done. Asks it to end if the run should stop."""
        while wait([computing], EVERY_S).not_done:
            self.work.stopped = self.work.stopped or self.stop()
            if self.work.total:
                share = self.work.done / self.work.total
                yield {"event": "scored", "share": share, "seconds_left": self.work.seconds_left}

    def write(self, result: ViewResult) -> None:
        """The tables, the figure and the sentence; the result last, as it says that the run has finished."""
        analysis, figure = self.view.analysis, self.view.figure
        assert isinstance(figure, Tabular) and isinstance(analysis, Summarised)
        write_atomically(self.folder / "suite" / "cases.csv", as_csv(analysis.rows(result)))
        write_atomically(self.folder / "suite" / "summary.csv", as_csv(analysis.summary_rows(result)))
        cases = figure.cases(result)
        rows = ({**row, "others": []} for row in cases["rows"])
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_atomically(self.folder / suite.TABLE, "".join(lines))
        drawn = figure.draw(result)
        assert not isinstance(drawn, str)  # a document has no table
        shown = {"figure": json.loads(drawn.to_json()), "said": figure.say(result)}
        headings = {key: cases[key] for key in ("title", "columns", "score") if key in cases}
        write_atomically(self.folder / "result.json", json.dumps(shown | headings))
