"""A suite as a run: its numbers are those of the view; stopped and resumed, it ends with the same table."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.analysis import suite
from bertexplorer.analysis.suite_cases import UNREAD
from bertexplorer.cli import main
from bertexplorer.errors import ExplorerError
from bertexplorer.figures import suite as drawn
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.store import runs, suite_folder
from bertexplorer.store.jobs import Jobs
from bertexplorer.ui.training import suite_run

VERBS = ("sat", "sit")  # every second row is the other way round, so that some are wrong
PAIRS = ((n, VERBS[n % 2], VERBS[1 - n % 2]) for n in range(2, 42))
ROWS = [(n, {"good": f"the cat {one} on mat {n} .", "bad": f"the cat {other} on mat {n} ."}) for n, one, other in PAIRS]
SCORING: Any = "the whole sentence"


@pytest.fixture(scope="module")
def checkpoint(tiny: Callable[..., Path]) -> Checkpoint:
    return load(tiny("bert"), name="tiny one", precision="fp32")


@pytest.fixture
def begun(checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> runs.Run:
    monkeypatch.setattr(suite_folder, "CHUNK", 16)
    jobs = Jobs(tmp_path / "runs")
    run = suite_run.begin(jobs, "a" * 32, checkpoint, ROWS, SCORING, "mine")
    jobs.close()
    return run


def test_it_is_queued_then_scored_as_in_the_view(begun: runs.Run, checkpoint: Checkpoint) -> None:
    assert (begun.state, begun.name, begun.task) == ("queued", "mine", "suite")
    events = list(suite_run.score(begun.folder))
    assert [event["event"] for event in events] == ["begun", *["scored"] * 4, "finished"]
    assert [event.get("share") for event in events[1:-1]] == [0.0, 0.4, 0.8, 1.0] and events[-1]["step"] == 40
    assert runs.read(begun.folder).state == "finished"
    wanted = suite.run(checkpoint, rows=ROWS, options=suite.Options(most=1000))
    figure, said = suite_run.result(begun.folder)
    assert figure is not None and said == drawn.say(wanted)
    wrong = sorted((one for one in wanted.outcomes if not one.right), key=lambda one: one.score)
    shown = suite_run.wrong(runs.read(begun.folder))
    places = [shown.index(f">{one.case.texts[0]} / {one.case.texts[1]}<") for one in wrong]
    assert wrong and places == sorted(places) and f"Wrong cases: {len(wrong)}<" in shown
    assert shown.count("view=pseudo-likelihood") == len(wrong) and "checkpoint=tiny+one" in shown
    assert figure.to_dict() == json.loads(drawn.draw(wanted).to_json())
    with (begun.folder / "suite" / "cases.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [float(row["score"]) for row in rows] == pytest.approx([one.score for one in wanted.outcomes])


def test_stopped_and_resumed_by_the_command_it_ends_with_the_same_table(
    begun: runs.Run, checkpoint: Checkpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    looks = iter([False, True])
    events = list(suite_run.score(begun.folder, lambda: next(looks)))
    assert events[-1]["event"] == "stopped" and events[-1]["step"] == 16
    assert suite_run.result(begun.folder) == (None, "")
    assert main(["train", str(begun.folder)]) == 0
    assert "resumed" in (said := capsys.readouterr().out) and "finished" in said
    list(suite_folder.SuiteFolder(tmp_path / "whole", checkpoint, ROWS, SCORING).run())
    tables = [(place / "cases.csv").read_bytes() for place in (begun.folder / "suite", tmp_path / "whole")]
    assert tables[0] == tables[1]


def test_what_is_no_suite_fails_with_a_sentence(begun: runs.Run, checkpoint: Checkpoint, tmp_path: Path) -> None:
    (begun.folder / "data" / "rows.jsonl").write_text('[2, {"colour": "red"}]\n')
    with pytest.raises(ExplorerError):
        list(suite_run.score(begun.folder))
    assert runs.read(begun.folder).state == "failed"
    (begun.folder / "data" / "rows.jsonl").write_text("[2")
    with pytest.raises(ExplorerError, match="holds no suite"):
        list(suite_run.score(begun.folder))
    with pytest.raises(ExplorerError, match="100,001 rows were given; the limit is 100,000"):
        suite_run.begin(Jobs(tmp_path / "others"), "a", checkpoint, [ROWS[0]] * 100_001, SCORING, "many")


def test_rows_that_could_not_be_read_do_not_count_toward_the_limit(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite_run, "MOST", 40)
    monkeypatch.setattr(suite_folder, "MOST", 40)
    jobs = Jobs(tmp_path / "runs")
    run = suite_run.begin(jobs, "a" * 32, checkpoint, [*ROWS, (42, {UNREAD: "is one too many"})], SCORING, "mine")
    jobs.close()
    assert [*suite_run.score(run.folder)][-1]["event"] == "finished"
    assert "line 42 is one too many" in suite_run.result(run.folder)[1]
    with pytest.raises(ExplorerError, match="41 rows were given; the limit is 40"):
        suite_run.begin(jobs, "a" * 32, checkpoint, [*ROWS, (42, ROWS[0][1])], SCORING, "mine")
