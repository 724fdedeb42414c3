"""The warnings over a run: one about an evaluation goes when a later evaluation no longer gives it."""

from pathlib import Path
from typing import Any

from bertexplorer.runs.report import warnings
from bertexplorer.runs.run_folder import Run
from bertexplorer.runs.service import RunDetail
from bertexplorer.training.finetuning.compare import evaluation_warnings
from bertexplorer.training.task import Confusion, Evaluation


def evaluated(step: int, counts: tuple[tuple[int, ...], ...], value: float) -> list[dict[str, Any]]:
    """The events of an evaluation, as a run writes them."""
    evaluation = Evaluation({"accuracy": value, "loss": 0.5}, [], confusion=Confusion(("gut", "schlecht"), counts))
    warnings = list(evaluation_warnings(evaluation, start=0.4, value=value, higher=True))
    events = [{"event": "evaluated", "metrics": evaluation.metrics}, *warnings, {"event": "best"}]
    return [{"time": 0.0, "stretch": 0, "step": step, **event} for event in events]


def shown(events: list[dict[str, Any]]) -> str:
    run = Run("a" * 32, folder=Path(), spec={"task": "classification"}, state="finished")
    return " ".join(warnings(RunDetail(run, events, None, None)))


RESUMED = {"event": "warning", "time": 0.0, "stretch": 0, "step": 4, "text": "the resume may not be exact: threads"}
CONSTANT, GOOD = ((0, 4), (0, 4)), ((4, 0), (1, 3))


def test_a_warning_goes_when_a_later_evaluation_no_longer_gives_it() -> None:
    finished = [*evaluated(0, CONSTANT, 0.5)[:1], *evaluated(6, CONSTANT, 0.5), *evaluated(12, GOOD, 0.9)]
    assert "every answer is" in shown(finished[:-2])
    assert "every answer is" not in shown(finished) and not shown(finished)
    events = [*evaluated(6, GOOD, 0.9), *evaluated(12, CONSTANT, 0.3)]
    assert "Step 12: every answer is “schlecht”" in shown(events)
    assert "Step 12: it does worse than before the first step" in shown(events)
    for events in (
        [RESUMED, *evaluated(6, GOOD, 0.9)],
        [*evaluated(2, GOOD, 0.9)[:1], RESUMED, *evaluated(6, GOOD, 0.9)],
    ):
        assert "Step 4: the resume may not be exact: threads." in shown(events)
