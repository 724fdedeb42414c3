"""A scored suite, read back from its folder, and compared case by case with another of the same rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertexplorer.analysis.suite_paired import PairedTest, paired_test
from bertexplorer.errors import ExplorerError

SAME = ("rows", "scoring")  # of spec.json: two suites that agree in these can be compared


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
    spec = suite_spec(inner)
    rows = table(inner, "cases.csv")
    return ScoredSuite(inner, spec, {int(row["line"]): row for row in rows if not row["problem"]})


def suite_spec(folder: Path) -> dict[str, Any]:
    """The spec.json of a `SuiteFolder`; {} if there is none."""
    try:
        return dict(json.loads((folder / "spec.json").read_text("utf-8")))
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
