"""A suite as a run: scored in a separate process, with the progress, Stop and Resume of every run.

RUN/spec.json        kind "suite": the checkpoint, the scoring, the number of rows
RUN/data/rows.jsonl  the rows, each as [line, cells]
RUN/suite/           the SuiteFolder, with cases.csv at the end
RUN/table.jsonl      at the end: the cases as the page shows them, one per line
RUN/result.json      at the end: the figure and the sentence
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from bertexplorer.core.ask import DEFAULTS
from bertexplorer.core.state import State, to_link
from bertexplorer.errors import ExplorerError
from bertexplorer.runs import suite_folder
from bertexplorer.runs.suite_folder import SuiteFolder, write_atomically
from bertexplorer.views.rows import NumberedRow
from bertexplorer.views.suite.scores import Scoring

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.runs.jobs import Jobs
    from bertexplorer.runs.run_folder import Run
    from bertexplorer.training.events import Event

KIND = "suite"
TABLE = "table.jsonl"
Which = Literal["all", "wrong", "right", "differ"]
Order = Literal["file", "closest", "lowest"]
KEYS: dict[Order, Callable[[dict[str, Any]], float]] = {
    "file": lambda row: row["line"],
    "closest": lambda row: abs(row["score"]),
    "lowest": lambda row: row["score"],
}


def begin(
    jobs: Jobs, owner: str, checkpoint: Checkpoint, rows: Sequence[NumberedRow], scoring: Scoring, name: str
) -> Run:
    """Queue a run of *owner*, called *name*. Raises ExplorerError for too many rows."""
    suite_folder.check_size(rows)
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

    return jobs.accept(owner, name, spec, fill=lambda folder: write_rows(folder, rows))


def write_rows(folder: Path, rows: Sequence[NumberedRow]) -> None:
    """Write *folder*/data/rows.jsonl."""
    (folder / "data").mkdir()
    lines = "".join(json.dumps(list(row), ensure_ascii=False, default=str) + "\n" for row in rows)
    (folder / "data" / "rows.jsonl").write_text(lines, "utf-8")


def read_run(folder: Path) -> tuple[dict[str, Any], list[NumberedRow]]:
    """(the spec of a run, its rows). Raises ExplorerError if they cannot be read."""
    try:
        spec = dict(json.loads((folder / "spec.json").read_text("utf-8")))
        lines = (folder / "data" / "rows.jsonl").read_text("utf-8").splitlines()
        return spec, [(line, cells) for line, cells in map(json.loads, lines)]
    except (OSError, ValueError, TypeError) as error:
        raise ExplorerError(f"{folder} is not the folder of a suite ({error}). Start the suite again.") from error


def score(folder: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Score the suite in *folder* from where it stopped. Yields each event after it is logged."""
    from bertexplorer.training.run_process import log_events

    return log_events(folder, partial(QueuedSuite, folder), stop)


class QueuedSuite:
    """Scores the suite in *folder*."""

    def __init__(self, folder: Path, stop: Callable[[], bool]) -> None:
        from bertexplorer.model.load import load

        self.folder = folder
        self.stop = stop
        self.done = 0
        spec, rows = read_run(folder)
        try:
            source, name, precision, scoring = (spec[key] for key in ("folder", "checkpoint", "precision", "scoring"))
        except KeyError as error:
            raise ExplorerError(f"{folder} is not the folder of a suite ({error}). Start the suite again.") from error
        checkpoint = load(Path(source), name=name, precision=precision, frozen=True)
        self.suite = SuiteFolder(folder / "suite", checkpoint, rows, scoring)

    def position(self) -> Event:
        """Cases scored so far."""
        return {"stretch": 0, "step": self.done}

    def events(self) -> Iterator[Event]:
        from bertexplorer.views.suite import show as suite, table as suite_table

        yield {"event": "resumed" if (self.folder / "suite").is_dir() else "begun"}
        total = 0
        for progress in self.suite.run(self.stop):
            self.done, total = progress.done, progress.total
            yield {"event": "scored", "share": self.done / total, "seconds_left": progress.seconds_left}
        if self.done < total:
            yield {"event": "stopped"}
            return
        result = self.suite.result()
        lines = (json.dumps(suite_table.row(case), ensure_ascii=False) + "\n" for case in result.outcomes)
        write_atomically(self.folder / TABLE, "".join(lines))
        shown = {"figure": json.loads(suite.draw(result).to_json()), "said": suite.say(result)}
        write_atomically(self.folder / "result.json", json.dumps(shown | {"score": suite_table.SCORE[result.kind]}))
        yield {"event": "finished", "value": result.total.right}


def stored_result(folder: Path) -> dict[str, Any]:
    """The content of result.json; {} before the run has finished."""
    return suite_folder.read_json(folder / "result.json")


def result(folder: Path) -> tuple[dict[str, Any] | None, str]:
    """(the figure as it was stored, the sentence) of a finished run; (None, "") before. Runs of an earlier version
    stored plotly's JSON, others marks."""
    shown = stored_result(folder)
    if not shown:
        return None, ""
    return shown["figure"], str(shown["said"])


def page(
    run: Run, which: Which, category: str, order: Order, start: int, count: int, beside: Run | None = None
) -> dict[str, Any]:
    """*count* of the matching cases from *start* on, each with the address that opens it; category "" matches all.
    *beside*: another suite of the same rows, whose answers are added. Runs of an earlier version stored only the most
    wrong cases. Raises ExplorerError before a run has finished, and if the other one has other rows."""
    shown = stored_result(run.folder)
    checkpoint = str((run.spec or {}).get("checkpoint", ""))
    if not shown:
        raise ExplorerError("The run has not finished, so it has no cases yet. Wait for it.")
    theirs: dict[int, dict[str, Any]] = {}
    compared: dict[str, Any] = {}
    if beside:
        theirs, compared = other_answers(run, beside)

    with table(run.folder, shown) as lines:
        # 1. Where the matching cases are in the file
        categories: dict[str, int] = {}  # category -> cases
        offsets: list[tuple[float, int]] = []  # key of the order, byte
        offset = 0
        for line in lines:
            row = json.loads(line)
            categories[row["category"]] = categories.get(row["category"], 0) + 1
            if matches(row, which, theirs) and category in ("", row["category"]):
                offsets.append((KEYS[order](row), offset))
            offset += len(line)

        # 2. Those that are asked for
        rows: list[dict[str, Any]] = []
        for _, offset in sorted(offsets)[start : start + count]:
            lines.seek(offset)
            row = json.loads(lines.readline())
            others = [theirs.get(row["line"])] if beside else []
            rows.append({**row, "others": others, "link": link(row["state"], checkpoint)})

    headings = {"title": shown.get("title", "Wrong cases" if "wrong" in shown else "Cases")}
    if "columns" in shown:
        headings["columns"] = shown["columns"]
    counts = {"total": sum(categories.values()), "found": len(offsets), "categories": list(categories)}
    return {**headings, **counts, "score": shown.get("score", ""), **compared, "rows": rows}


def matches(row: dict[str, Any], which: Which, theirs: Mapping[int, dict[str, Any]]) -> bool:
    """Whether a case is one of *which*. *theirs*: the answers of another run by line."""
    if which == "differ":
        return row["line"] in theirs and theirs[row["line"]]["right"] != row["right"]
    return which == "all" or row["right"] == (which == "right")


def other_answers(run: Run, beside: Run) -> tuple[dict[int, dict[str, Any]], dict[str, Any]]:
    """(the answers of *beside* by line, its name and the paired test in a sentence). Raises ExplorerError."""
    from bertexplorer.views.suite.show import say_test

    if not stored_result(beside.folder):
        raise ExplorerError(f"{beside.name} is not a finished suite. Choose one of the same rows.")
    ours = suite_folder.read_suite(run.folder)
    theirs = suite_folder.read_suite(beside.folder)
    if not suite_folder.comparable(ours.spec, theirs.spec):
        raise ExplorerError(f"{beside.name} scored other rows, or by another method. Choose a suite of the same rows.")
    test, _ = suite_folder.compare_suites(ours, theirs)
    answers = {}
    for line, case in theirs.cases.items():
        score = round(float(case["score"]), 3)
        answers[line] = {"answer": case["answer"], "right": case["right"] == "True", "score": score}
    return answers, {"sides": [beside.name], "said": say_test(test, "cases")}


def comparable_runs(run: Run, runs: Sequence[Run]) -> list[Run]:
    """Those of *runs* that are other finished suites of the same rows."""
    spec = suite_folder.suite_spec(run.folder / "suite")
    comparable = []
    for other in runs:
        is_other_suite = other.id != run.id and other.task == KIND
        if is_other_suite and stored_result(other.folder):
            other_spec = suite_folder.suite_spec(other.folder / "suite")
            if suite_folder.comparable(spec, other_spec):
                comparable.append(other)
    return comparable


def table(folder: Path, shown: dict[str, Any]) -> BinaryIO:
    """The cases as JSON lines."""
    if "wrong" in shown:
        return BytesIO("".join(json.dumps(row) + "\n" for row in shown["wrong"]).encode())
    return (folder / TABLE).open("rb")


def link(state: dict[str, Any], checkpoint: str) -> str:
    """The address of Explore on the *state* of a case."""
    defaults = DEFAULTS[state["view"]]
    options = {**defaults, **state.get("options", {})}
    explored = dataclasses.replace(State("", checkpoint=checkpoint), **{**state, "options": options})
    return f"./{to_link(explored, defaults)}"
