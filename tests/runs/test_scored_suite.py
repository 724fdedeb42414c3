"""Two suites in folders, compared case by case."""

import csv
from pathlib import Path

import pytest
from scipy.stats import binomtest

import bertexplorer as bx
from bertexplorer.errors import ExplorerError
from bertexplorer.runs.suite_folder import SuiteFolder
from bertexplorer.views.suite.cases import built_in

ROWS = [
    (line, {"good": "the same", "bad": "the same"} if line == 4 else row) for line, row in built_in("agreement")[:30]
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A suite scored by two checkpoints, and another suite."""
    root = tmp_path_factory.mktemp("suites")
    checkpoints = [bx.load(name).checkpoint for name in ("tiny", "tiny@0")]
    given = [(root / "one", checkpoints[0], ROWS), (root / "two", checkpoints[1], ROWS)]
    for folder, checkpoint, rows in [*given, (root / "other", checkpoints[0], ROWS[:9])]:
        list(SuiteFolder(folder, checkpoint, rows, "the whole sentence").run())
    return [root / name for name in ("one", "two", "other")]


def test_the_test_and_the_differences_equal_those_of_the_tables(folders: list[Path]) -> None:
    tables = []
    for folder in folders[:2]:
        with (folder / "cases.csv").open(newline="") as file:
            tables.append({row["line"]: row for row in csv.DictReader(file) if not row["problem"]})
    right = [{line: row["right"] == "True" for line, row in each.items()} for each in tables]
    only = [sum(a[line] > b[line] for line in a) for a, b in (right, right[::-1])]
    run = bx.SuiteRun(folders[0])
    result = run.compare(bx.SuiteRun(folders[1]))
    assert (result["test"]["only_other"], result["test"]["only_this"]) == (only[0], only[1])
    assert result["test"]["p"] == pytest.approx(binomtest(only[0], sum(only)).pvalue) and sum(only) > 0
    assert result["test"]["cases"] == 29 and result["test"]["side"] == "tiny@0"
    assert "On the same 29 cases the difference is" in result["said"]
    assert [row["line"] for row in result["differences"]] == [x for x in right[0] if right[0][x] != right[1][x]]
    assert all(row["other_right"] != row["right"] for row in result["differences"])
    assert run.compare(folders[1]) == result
    assert run.summary[0]["cases"] == "29" and len(run.rows) == 30


def test_suites_of_other_rows_are_not_compared(folders: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="scored other rows, or by another method"):
        bx.SuiteRun(folders[0]).compare(folders[2])
    with pytest.raises(ExplorerError, match="has no cases.csv. Give the folder of a finished suite"):
        bx.SuiteRun(folders[0]).compare(tmp_path)
