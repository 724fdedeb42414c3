"""A run in TensorBoard and in trackio has the numbers of its own log; a tracker that fails does not harm the run."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from bertexplorer.errors import ExplorerError
from bertexplorer.training import trackers
from bertexplorer.training.events import current_warnings
from tests.conftest import ROOT

ROWS = "text,label\n" + "".join(f"a {word} film {i},{word}\n" for i in range(20) for word in ("good", "bad"))
Train = Callable[..., list[dict]]


@pytest.fixture
def train(tmp_path: Path) -> Train:
    """A run of two epochs in a process of its own, as trackers keep threads. Returns its log."""
    (tmp_path / "rows.csv").write_text(ROWS)

    def run(report_to: str, folder: Path) -> list[dict]:
        command = [sys.executable, "-m", "bertexplorer", "train", "--checkpoint", "tiny", "--task", "classification"]
        command += ["--data", str(tmp_path / "rows.csv"), "--out", str(folder), "--epochs", "2"]
        done = subprocess.run(
            [*command, "--report-to", report_to],
            cwd=ROOT,
            env={**os.environ, "TRACKIO_DIR": str(tmp_path / "trackio")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in (folder / "events.jsonl").open()]

    return run


@pytest.mark.slow
def test_tensorboard_and_trackio_have_the_numbers_of_the_log(train: Train, tmp_path: Path) -> None:
    log = train("tensorboard, trackio", tmp_path / "films")
    accuracies = {e["step"]: e["metrics"]["accuracy"] for e in log if e["event"] == "evaluated"}
    assert len(accuracies) > 1 and "gets no more of this run" not in json.dumps(log)
    board = EventAccumulator(str(tmp_path / "films" / "tensorboard" / "films"))
    board.Reload()
    assert {"steps/loss/label", "steps/rate", "evaluated/metrics/accuracy"} <= set(board.Tags()["scalars"])
    drawn = {point.step: point.value for point in board.Scalars("evaluated/metrics/accuracy")}
    assert drawn == pytest.approx(accuracies)
    with sqlite3.connect(tmp_path / "trackio" / "bertexplorer.db") as database:
        rows = database.execute("select run_name, step, metrics from metrics").fetchall()
    kept = {step: json.loads(values).get("evaluated/metrics/accuracy") for _, step, values in rows}
    assert {run for run, _, _ in rows} == {"films"}
    assert {step: value for step, value in kept.items() if value is not None} == pytest.approx(accuracies)


@pytest.mark.slow
def test_a_tracker_that_fails_is_told_about_and_the_run_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    (tmp_path / "rows.csv").write_text(ROWS)
    script = f"""
import sys
from accelerate import tracking
class Broken(tracking.TensorBoardTracker):
    def log(self, values, step=None, **more): raise ConnectionError("nobody answers")
tracking.TensorBoardTracker = Broken
from bertexplorer.cli import main
call = "train --checkpoint tiny --task classification --epochs 2 --report-to tensorboard --data {tmp_path}/rows.csv"
sys.exit(main([*call.split(), "--out", "{folder}"]))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    log = [json.loads(line) for line in (folder / "events.jsonl").open()]
    warnings = [event["text"] for event in log if event["event"] == "warning" and "tensorboard" in event["text"]]
    assert done.returncode == 0 and log[-1]["event"] == "finished"
    assert warnings == ["tensorboard gets no more of this run: nobody answers. The run goes on."]


def test_a_warning_about_a_tracker_stands_after_further_evaluations() -> None:
    failed = {"event": "warning", "tracker": "trackio", "step": 0, "text": "trackio gets no more"}
    events = [{"event": "evaluated", "step": 0}, failed, {"event": "evaluated", "step": 9}]
    assert current_warnings(events) == [failed]


def test_a_run_resumes_without_the_package_of_its_tracker(tmp_path: Path) -> None:
    reports = trackers.Reports(tmp_path, trackers.tracker_names("mlflow"), {})
    [warning] = list(reports.send({"event": "evaluated", "step": 1, "metrics": {"accuracy": 1.0}}))
    assert warning["tracker"] == "mlflow" and "The run goes on." in warning["text"]
    assert list(reports.send({"event": "steps", "step": 2, "rate": 0.1})) == []
    reports.close()


def test_numbers_of_an_event_have_its_kind_in_their_names() -> None:
    event = {"event": "steps", "time": 1.0, "step": 3, "loss": {"label": 0.5}, "rate": 0.1, "text": "x", "cut": True}
    assert trackers.numbers(event) == {"steps/loss/label": 0.5, "steps/rate": 0.1}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("tensorbord", "no tracker 'tensorbord'; wanted tensorboard"),
        ("mlflow", "needs its package.*pip install mlflow"),
    ],
)
def test_an_unknown_or_missing_tracker_is_named_before_the_run(
    names: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trackers, "find_spec", lambda name: None)
    with pytest.raises(ExplorerError, match=message):
        trackers.parse_trackers(names)
    assert trackers.parse_trackers(" , ") == ()
