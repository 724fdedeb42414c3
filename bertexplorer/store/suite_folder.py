"""A suite in a folder: what was scored is appended as it comes, so that a suite of any size can be stopped and resumed.

spec.json       what is measured: a folder belongs to one checkpoint, one file and one way of scoring
outcomes.jsonl  a line for each case, in the order of the rows
cases.csv       at the end: the cases as the view exports them
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer import locks
from bertexplorer.analysis.export import as_csv
from bertexplorer.analysis.suite import Suite, rows, summary
from bertexplorer.analysis.suite_cases import Case, Row, RowProblem, cases, split_readable
from bertexplorer.analysis.suite_scores import CHUNK, Outcome, Scorer, Scoring
from bertexplorer.errors import ExplorerError

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MOST = 100_000  # rows


@dataclass(frozen=True)
class Progress:
    done: int  # cases, those of earlier runs included
    total: int
    seconds_left: float | None  # None before the first cases of this run are done


class SuiteFolder:
    """The folder of one suite. Raises ExplorerError if it holds another suite, or another process works in it."""

    def __init__(self, folder: Path, checkpoint: Checkpoint, given: Sequence[Row], scoring: Scoring) -> None:
        if (count := len(split_readable(given)[0])) > MOST:
            raise ExplorerError(f"{count:,} rows were given; the limit is {MOST:,}. Give fewer.")
        self.folder, self.checkpoint, self.scoring = folder, checkpoint, scoring
        self.kind, self.cases, self.unusable = cases(given)
        self.scorer = Scorer(checkpoint, self.kind, scoring)
        content = json.dumps([list(row) for row in given], ensure_ascii=False, default=str)
        self.spec = {
            "checkpoint": checkpoint.name,
            "revision": checkpoint.revision,
            "precision": checkpoint.precision,
            "scoring": scoring,
            "rows": sha256(content.encode()).hexdigest(),
        }
        self.file = folder / "outcomes.jsonl"

    def run(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[Progress]:
        """Score what is not scored yet, until *stopped* says so. Cases are scored in the batches of an uninterrupted
        run, so that the numbers are the same too."""
        lock = self.claim()
        with lock:
            done = self.whole_lines()
            started, before = time.monotonic(), done
            yield Progress(done, len(self.cases), None)
            while done < len(self.cases) and not stopped():
                chunk = self.cases[done : done + CHUNK]
                self.append([stored(one) for one in self.scorer.outcomes(chunk)])
                done += len(chunk)
                rate = (time.monotonic() - started) / (done - before)
                yield Progress(done, len(self.cases), rate * (len(self.cases) - done))
            if done == len(self.cases):
                replace(self.folder / "cases.csv", as_csv(rows(self.result())))

    def claim(self) -> Any:
        """The folder's lock, held until it is closed."""
        spec, held = self.folder / "spec.json", self.spec
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = locks.hold(self.folder / "lock")
            if spec.is_file():
                held = dict(json.loads(spec.read_text("utf-8")))
        except (OSError, TypeError, ValueError) as error:
            raise ExplorerError(f"{self.folder} cannot be used: {error}. Give another folder.") from error
        if lock is None:
            raise ExplorerError(f"Another process works in {self.folder}. Wait for it, or give another folder.")
        if differ := [name for name in self.spec if held.get(name) != self.spec[name]]:
            lock.close()
            raise ExplorerError(f"{self.folder} holds a suite with other {', '.join(differ)}. Give another folder.")
        replace(spec, json.dumps(self.spec, indent=1))
        return lock

    def whole_lines(self) -> int:
        """How many cases were scored in whole batches; what a crash left after them is cut off."""
        lines = self.file.read_bytes().split(b"\n")[:-1] if self.file.is_file() else []
        done = len(lines) if len(lines) == len(self.cases) else len(lines) // CHUNK * CHUNK
        if self.file.is_file():
            os.truncate(self.file, sum(len(line) + 1 for line in lines[:done]))
        return done

    def append(self, found: Sequence[dict[str, Any]]) -> None:
        try:
            with self.file.open("ab") as out:
                out.write("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found).encode())
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise ExplorerError(f"{self.file} cannot be written: {error.strerror}. Make room, and resume.") from error

    def result(self) -> Suite:
        """The suite as far as it is scored. Raises ExplorerError if nothing is."""
        outcomes: list[Outcome] = []
        unusable = list(self.unusable)
        with self.file.open(encoding="utf-8") as lines:
            for case, line in zip(self.cases, lines, strict=False):
                one = loaded(case, json.loads(line))
                (outcomes if isinstance(one, Outcome) else unusable).append(one)  # type: ignore[arg-type]
        chance = self.scorer.guess(self.cases)
        left = len(self.cases) - len(outcomes) - (len(unusable) - len(self.unusable))
        return summary(self.folder.name, self.kind, self.scoring, chance, outcomes, unusable, left)


def stored(one: Outcome | RowProblem) -> dict[str, Any]:
    """An outcome as JSON, without its case."""
    if isinstance(one, RowProblem):
        return {"problem": one.what}
    return {name: value for name, value in asdict(one).items() if name != "case"}


def loaded(case: Case, held: dict[str, Any]) -> Outcome | RowProblem:
    return RowProblem(case.line, held["problem"]) if "problem" in held else Outcome(case, **held)


def replace(file: Path, content: str) -> None:
    """Write *file* so that it is either whole or as before."""
    part = file.with_name(f".{file.name}.part")
    part.write_text(content, "utf-8", newline="")
    os.replace(part, file)
