"""A view of rows as a run: what it writes is what the view says, also after it was stopped."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import bertexplorer as bx
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.runs import analysis, suite
from bertexplorer.views import VIEWS
from bertexplorer.views.not_found import compute as not_found
from tests.conftest import Tiny

ROWS = [
    (n, {"query": f"who likes {word}", "passage": f"The {word} is liked by number {n}."})
    for n, word in enumerate(("cat", "dog", "city", "bank", "doctor", "nurse"), 1)
]
OPTIONS = {"top": 1, "rows": "0" * 24}


@pytest.fixture
def folder(tiny: Tiny, tmp_path: Path) -> Path:
    """The folder of a queued run."""
    checkpoint = load(tiny("bert"), name="tiny", precision="fp32")
    made: dict[str, Any] = {}

    class Queue:
        def accept(self, owner: str, name: str, spec: dict[str, Any], *, fill: Any) -> None:
            made.update(spec)
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "spec.json").write_text(json.dumps(spec))
            fill(tmp_path / "run")

    analysis.begin(Queue(), "ann", checkpoint, VIEWS["not-found"], OPTIONS, ROWS, "mine")  # type: ignore[arg-type]
    assert made["options"] == {"top": 1} and made["view"] == "not-found"
    return tmp_path / "run"


def test_the_run_says_what_the_view_says(folder: Path, tiny: Tiny) -> None:
    events = list(analysis.compute(folder))
    assert [event["event"] for event in events if event["event"] != "scored"] == ["begun", "finished"]
    wanted = bx.load(tiny("bert"), precision="fp32").not_found(rows=[cells for _, cells in ROWS], top=1)
    figure, said = suite.result(folder)
    drawn = VIEWS["not-found"].figure.draw(wanted.value)
    assert said == wanted.said and figure == json.loads(drawn.to_json())  # type: ignore[union-attr]
    with (folder / "suite" / "cases.csv").open(newline="") as file:
        assert [row["rank"] for row in csv.DictReader(file)] == [str(row["rank"]) for row in wanted.rows]
    with (folder / "suite" / "summary.csv").open(newline="") as file:
        assert [row["metric"] for row in csv.DictReader(file)] == ["found in 1", "MRR@10", "nDCG@10"]


def test_a_run_that_was_stopped_begins_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "EVERY_S", 0.01)
    explain = not_found.explain

    def slow(*given: Any) -> Any:
        while not (folder / "stop").exists():
            progress.check()
        progress.check()
        return explain(*given)

    with monkeypatch.context() as patch:
        patch.setattr(not_found, "explain", slow)
        seen = []
        for event in analysis.compute(folder):
            seen.append(event["event"])
            (folder / "stop").touch()
        assert seen[0] == "begun" and seen[-1] == "stopped" and not suite.result(folder)[1]
    (folder / "stop").unlink(missing_ok=True)
    events = [event["event"] for event in analysis.compute(folder)]
    assert events[0] == "resumed" and events[-1] == "finished" and suite.result(folder)[1]


def test_its_cases_are_listed_with_the_headings_of_the_view(folder: Path) -> None:
    list(analysis.compute(folder))

    class Done:
        spec = {"checkpoint": "tiny"}

    Done.folder = folder  # type: ignore[attr-defined]
    page = suite.page(Done(), "all", "", "file", 0, 10)  # type: ignore[arg-type]
    assert page["title"] == "Misses" and page["columns"][0] == "Query and passage"
    assert page["total"] == len(page["rows"]) > 0
    assert all(row["link"].startswith("./?view=sentence-similarity") for row in page["rows"])


def test_a_view_without_rows_has_no_run(tiny: Tiny) -> None:
    with pytest.raises(ExplorerError, match="wanted one of .*not-found"):
        analysis.begin(None, "", load(tiny("bert")), VIEWS["layers"], {}, [], "x")  # type: ignore[arg-type]
    assert not analysis.can_run(VIEWS["suite"]) and analysis.can_run(VIEWS["threshold"])


def test_a_folder_of_another_version_is_refused(folder: Path) -> None:
    spec = json.loads((folder / "spec.json").read_text())
    (folder / "spec.json").write_text(json.dumps(spec | {"options": {"unknown": 1}}))
    with pytest.raises(ExplorerError, match="asks for what this version lacks"):
        list(analysis.compute(folder))
