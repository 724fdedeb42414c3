"""A suite as a run: its numbers equal those of the view, also after a stop and a resume."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.cli import main
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.runs import run_folder, suite as suite_run, suite_folder
from bertexplorer.runs.jobs import Jobs
from bertexplorer.views.rows import UNREAD
from bertexplorer.views.suite import compute as suite, show as drawn
from tests.conftest import Tiny

VERBS = ("sat", "sit")  # every second row is reversed, so that some are wrong
PAIRS = ((n, VERBS[n % 2], VERBS[1 - n % 2]) for n in range(2, 42))
ROWS = [(n, {"good": f"the cat {one} on mat {n} .", "bad": f"the cat {other} on mat {n} ."}) for n, one, other in PAIRS]
SCORING: Any = "the whole sentence"
STATE = {"view": "fill-mask", "text": "a [MASK]"}


@pytest.fixture(scope="module")
def checkpoint(tiny: Tiny) -> Checkpoint:
    return load(tiny("bert"), name="tiny one", precision="fp32")


@pytest.fixture
def queued_run(checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> run_folder.Run:
    monkeypatch.setattr(suite_folder, "CHUNK", 16)
    jobs = Jobs(tmp_path / "runs")
    run = suite_run.begin(jobs, "a" * 32, checkpoint, ROWS, SCORING, "mine")
    jobs.close()
    return run


def test_a_queued_suite_has_the_scores_of_the_view(queued_run: run_folder.Run, checkpoint: Checkpoint) -> None:
    assert (queued_run.state, queued_run.name, queued_run.task) == ("queued", "mine", "suite")
    events = list(suite_run.score(queued_run.folder))
    assert [event["event"] for event in events] == ["begun", *["scored"] * 4, "finished"]
    assert [event.get("share") for event in events[1:-1]] == [0.0, 0.4, 0.8, 1.0] and events[-1]["step"] == 40
    assert run_folder.read(queued_run.folder).state == "finished"
    expected = suite.run(checkpoint, rows=ROWS, options=suite.Options(most=1000))
    figure, sentence = suite_run.result(queued_run.folder)
    assert figure is not None and sentence == drawn.say(expected)
    wrong = sorted((outcome for outcome in expected.outcomes if not outcome.right), key=lambda outcome: outcome.score)
    page = suite_run.page(run_folder.read(queued_run.folder), "wrong", "", "lowest", 1, 5)
    assert (page["total"], page["found"]) == (40, len(wrong)) and "nats" in page["score"]
    assert [tuple(row["texts"]) for row in page["rows"]] == [outcome.case.texts for outcome in wrong[1:6]]
    assert all("view=pseudo-likelihood" in row["link"] and "checkpoint=tiny+one" in row["link"] for row in page["rows"])
    assert figure == json.loads(drawn.draw(expected).to_json())
    with (queued_run.folder / "suite" / "cases.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [float(row["score"]) for row in rows] == pytest.approx([outcome.score for outcome in expected.outcomes])


def test_cases_are_filtered_and_sorted(queued_run: run_folder.Run) -> None:
    lines = [
        {
            "line": n,
            "category": "ab"[n % 2],
            "texts": ["x"],
            "right": n % 3 > 0,
            "score": (-1) ** n * (9 - n),
            "state": STATE,
        }
        for n in range(9)
    ]
    (queued_run.folder / "result.json").write_text(json.dumps({"figure": {}, "said": "x", "score": "nats"}))
    (queued_run.folder / "table.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def listed(*query: Any) -> tuple[int, list[int]]:
        page = suite_run.page(queued_run, *query)
        assert page["total"] == 9 and page["categories"] == ["a", "b"]
        return page["found"], [row["line"] for row in page["rows"]]

    assert listed("all", "", "file", 0, 4) == (9, [0, 1, 2, 3]) and listed("all", "", "file", 7, 4) == (9, [7, 8])
    assert listed("wrong", "", "closest", 0, 9) == (3, [6, 3, 0]) and listed("right", "b", "lowest", 0, 9) == (
        3,
        [1, 5, 7],
    )
    assert listed("wrong", "b", "file", 0, 0) == (1, []) and listed("all", "c", "file", 0, 9) == (0, [])


def test_runs_of_an_earlier_version_show_their_saved_cases(queued_run: run_folder.Run) -> None:
    with pytest.raises(ExplorerError, match="run has not finished"):
        suite_run.page(queued_run, "all", "", "file", 0, 9)
    saved = [{"line": 4, "category": "", "texts": ["x"], "right": False, "score": -2.0, "state": STATE}]
    (queued_run.folder / "result.json").write_text(
        json.dumps({"figure": {}, "said": "x", "wrong": saved, "count": 300})
    )
    page = suite_run.page(queued_run, "all", "", "file", 0, 9)
    assert (page["title"], page["found"], page["rows"][0]["line"]) == ("Wrong cases", 1, 4)


def test_a_resumed_run_ends_with_the_same_table(
    queued_run: run_folder.Run, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both with packed weights, as a run loads them: plain ones round differently."""
    checkpoint = load(tiny("bert"), name="tiny one", precision="fp32", frozen=True)
    looks = iter([False, True])
    events = list(suite_run.score(queued_run.folder, lambda: next(looks)))
    assert events[-1]["event"] == "stopped" and events[-1]["step"] == 16
    assert suite_run.result(queued_run.folder) == (None, "")
    assert main(["train", str(queued_run.folder)]) == 0
    assert "resumed" in (output := capsys.readouterr().out) and "finished" in output
    list(suite_folder.SuiteFolder(tmp_path / "whole", checkpoint, ROWS, SCORING).run())
    tables = [(folder / "cases.csv").read_bytes() for folder in (queued_run.folder / "suite", tmp_path / "whole")]
    assert tables[0] == tables[1]


def test_an_invalid_suite_fails_with_a_message(
    queued_run: run_folder.Run, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    (queued_run.folder / "data" / "rows.jsonl").write_text('[2, {"colour": "red"}]\n')
    with pytest.raises(ExplorerError):
        list(suite_run.score(queued_run.folder))
    assert run_folder.read(queued_run.folder).state == "failed"
    (queued_run.folder / "data" / "rows.jsonl").write_text("[2")
    with pytest.raises(ExplorerError, match="is not the folder of a suite"):
        list(suite_run.score(queued_run.folder))
    with pytest.raises(ExplorerError, match="100,001 rows were given; the limit is 100,000"):
        suite_run.begin(Jobs(tmp_path / "others"), "a", checkpoint, [ROWS[0]] * 100_001, SCORING, "many")


def test_rows_that_could_not_be_read_do_not_count_toward_the_limit(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite_folder, "MAX_ROWS", 40)
    jobs = Jobs(tmp_path / "runs")
    run = suite_run.begin(jobs, "a" * 32, checkpoint, [*ROWS, (42, {UNREAD: "is one too many"})], SCORING, "mine")
    jobs.close()
    assert [*suite_run.score(run.folder)][-1]["event"] == "finished"
    assert "line 42 is one too many" in suite_run.result(run.folder)[1]
    with pytest.raises(ExplorerError, match="41 rows were given; the limit is 40"):
        suite_run.begin(jobs, "a" * 32, checkpoint, [*ROWS, (42, ROWS[0][1])], SCORING, "mine")
