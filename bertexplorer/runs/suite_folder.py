"""A suite in a folder. Outcomes are appended as they are computed, so a suite of any size can be stopped and resumed;
a finished one is read back and compared case by case with another of the same rows.

spec.json       what is measured: a folder belongs to one checkpoint, one file and one scoring method
outcomes.jsonl  a line for each case, in the order of the rows
cases.csv       the cases as the view exports them, written at the end
summary.csv     the score overall and by category, written at the end
"""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer import locks
from bertexplorer.csv_safety import as_csv
from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.rows import RowProblem
from bertexplorer.views.rows import NumberedRow, split_readable
from bertexplorer.views.suite.cases import Case, cases
from bertexplorer.views.suite.compute import Suite, rows as export_rows, summary, summary_rows
from bertexplorer.views.suite.paired import PairedTest, paired_test
from bertexplorer.views.suite.scores import CHUNK, CaseOutcome, Scorer, Scoring

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_ROWS = 100_000
SAME = ("rows", "scoring")  # of spec.json: two suites that agree in these can be compared


@dataclass(frozen=True)
class Progress:
    done: int  # cases, including those of earlier runs
    total: int
    seconds_left: float | None  # None before the first cases of this run are done


class SuiteFolder:
    """The folder of one suite."""

    def __init__(self, folder: Path, checkpoint: Checkpoint, rows: Sequence[NumberedRow], scoring: Scoring) -> None:
        """Raises ExplorerError for too many rows."""
        check_size(rows)
        self.folder = folder
        self.checkpoint = checkpoint
        self.scoring = scoring
        self.kind, self.cases, self.unusable = cases(rows)
        self.scorer = Scorer(checkpoint, self.kind, scoring)
        content = json.dumps([list(row) for row in rows], ensure_ascii=False, default=str)
        self.spec = {
            "checkpoint": checkpoint.name,
            "revision": checkpoint.revision,
            "precision": checkpoint.precision,
            "scoring": scoring,
            "rows": sha256(content.encode()).hexdigest(),
        }
        self.file = folder / "outcomes.jsonl"

    def run(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[Progress]:
        """Score the remaining cases until *stopped* returns True. The batches are those of an uninterrupted run, so the
        numbers are the same. Raises ExplorerError if the folder contains another suite, or another process uses it."""
        with self.acquire_lock():
            # 1. What earlier runs have done
            done = already_done = self.truncate_to_batches()
            started = time.monotonic()
            yield Progress(done, len(self.cases), None)

            # 2. Batch by batch
            while done < len(self.cases) and not stopped():
                chunk = self.cases[done : done + CHUNK]
                self.append([to_json(outcome) for outcome in self.scorer.outcomes(chunk)])
                done += len(chunk)
                seconds_per_case = (time.monotonic() - started) / (done - already_done)
                yield Progress(done, len(self.cases), seconds_per_case * (len(self.cases) - done))

            # 3. The tables
            if done == len(self.cases):
                result = self.result()
                write_atomically(self.folder / "cases.csv", as_csv(export_rows(result)))
                write_atomically(self.folder / "summary.csv", as_csv(summary_rows(result)))

    def acquire_lock(self) -> Any:
        """Lock the folder until the returned file is closed, and write spec.json. Raises ExplorerError if it contains
        another suite, or another process uses it."""
        path = self.folder / "spec.json"
        existing = self.spec
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = locks.acquire(self.folder / "lock")
            if path.is_file():
                existing = dict(json.loads(path.read_text("utf-8")))
        except (OSError, TypeError, ValueError) as error:
            raise ExplorerError(f"{self.folder} cannot be used: {error}. Give another folder.") from error
        if lock is None:
            raise ExplorerError(f"Another process is working in {self.folder}. Wait for it, or give another folder.")
        different = [name for name in self.spec if existing.get(name) != self.spec[name]]
        if different:
            lock.close()
            raise ExplorerError(
                f"{self.folder} contains a suite with other {', '.join(different)}. Give another folder."
            )
        write_atomically(path, json.dumps(self.spec, indent=1))
        return lock

    def truncate_to_batches(self) -> int:
        """Return how many cases were scored in complete batches, and remove the lines that a crash left after them."""
        if not self.file.is_file():
            return 0
        lines = self.file.read_bytes().split(b"\n")[:-1]
        done = len(lines)
        if done != len(self.cases):
            done = done // CHUNK * CHUNK
        os.truncate(self.file, sum(len(line) + 1 for line in lines[:done]))
        return done

    def append(self, outcomes: Sequence[dict[str, Any]]) -> None:
        """Write *outcomes* through to disk. Raises ExplorerError if it is full."""
        lines = [json.dumps(outcome, ensure_ascii=False) + "\n" for outcome in outcomes]
        try:
            with self.file.open("ab") as file:
                file.write("".join(lines).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ExplorerError(f"{self.file} cannot be written: {error.strerror}. Make room, and resume.") from error

    def result(self) -> Suite:
        """The suite with the cases that have been scored. Raises ExplorerError if there are none."""
        outcomes: list[CaseOutcome] = []
        unusable = list(self.unusable)
        with self.file.open(encoding="utf-8") as lines:
            for case, line in zip(self.cases, lines, strict=False):
                outcome = from_json(case, json.loads(line))
                if isinstance(outcome, CaseOutcome):
                    outcomes.append(outcome)
                else:
                    unusable.append(outcome)
        chance = self.scorer.guess([outcome.case for outcome in outcomes])
        left = len(self.cases) - len(outcomes) - (len(unusable) - len(self.unusable))
        return summary(self.folder.name, self.kind, self.scoring, chance, outcomes, unusable, left)


def check_size(rows: Sequence[NumberedRow]) -> None:
    """Raises ExplorerError for too many rows."""
    readable, _ = split_readable(rows)
    count = len(readable)
    if count > MAX_ROWS:
        raise ExplorerError(f"{count:,} rows were given; the limit is {MAX_ROWS:,}. Give fewer.")


def to_json(outcome: CaseOutcome | RowProblem) -> dict[str, Any]:
    """An outcome without its case."""
    if isinstance(outcome, RowProblem):
        return {"problem": outcome.what}
    return {name: value for name, value in asdict(outcome).items() if name != "case"}


def from_json(case: Case, fields: dict[str, Any]) -> CaseOutcome | RowProblem:
    """The outcome of *case* from what `to_json` made of it."""
    if "problem" in fields:
        return RowProblem(case.line, fields["problem"])
    return CaseOutcome(case, **fields)


def write_atomically(file: Path, content: str) -> None:
    """Replace the content of *file* in one step."""
    partial = file.with_name(f".{file.name}.part")
    partial.write_text(content, "utf-8", newline="")
    os.replace(partial, file)


@dataclass(frozen=True)
class ScoredSuite:
    """A finished suite. *spec*: what was measured. *cases*: the scored rows of cases.csv, by line."""

    folder: Path
    spec: Mapping[str, Any]
    cases: Mapping[int, Mapping[str, str]]

    @property
    def right(self) -> dict[int, bool]:
        """Whether the checkpoint is right, by line."""
        return {line: case["right"] == "True" for line, case in self.cases.items()}


def read_suite(folder: Path) -> ScoredSuite:
    """The suite in *folder*, that of a `SuiteFolder` or of a run. Raises ExplorerError unless it is finished."""
    inner = folder / "suite" if (folder / "suite").is_dir() else folder
    rows = table(inner, "cases.csv")
    return ScoredSuite(inner, suite_spec(inner), {int(row["line"]): row for row in rows if not row["problem"]})


def suite_spec(folder: Path) -> dict[str, Any]:
    """The spec.json of a `SuiteFolder`; {} if there is none."""
    return read_json(folder / "spec.json")


def read_json(file: Path) -> dict[str, Any]:
    """The object in *file*; {} if there is none."""
    try:
        return dict(json.loads(file.read_text("utf-8")))
    except (OSError, TypeError, ValueError):
        return {}


def table(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of a table of a finished suite. Raises ExplorerError if it is not there."""
    try:
        with (folder / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise ExplorerError(f"{folder} has no {name}. Give the folder of a finished suite.") from error


def comparable(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two suites, by their specs, scored the same rows in the same way."""
    return bool(first) and all(first.get(name) == second.get(name) for name in SAME)


def compare_suites(first: ScoredSuite, second: ScoredSuite) -> tuple[PairedTest, list[int]]:
    """(*second* against *first*, the lines of the cases on which they differ). Raises ExplorerError unless both scored
    the same rows in the same way."""
    if not comparable(first.spec, second.spec):
        raise ExplorerError(
            f"{first.folder} and {second.folder} scored other rows, or by another method. Give two suites of the same "
            "rows, scored in the same way."
        )
    ours, theirs = first.right, second.right
    test = paired_test(ours, theirs)
    if test is None:
        raise ExplorerError("The two suites have no scored case in common. Give two that could score the same rows.")
    return test, [line for line in ours if line in theirs and ours[line] != theirs[line]]
