"""Every experiment can be run, and its verdicts follow from the numbers."""

import pytest

from bertexplorer.training.pretraining import experiments, spec as specs
from bertexplorer.training.pretraining.experiments import BY_NAME, EXPERIMENTS, Experiment, reading_said, verdicts


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_experiment_is_complete(experiment: Experiment) -> None:
    names = [arm.name for arm in experiment.arms]
    assert len(set(names)) == len(names) >= 2 and experiment.published and experiment.source
    assert {name for pair in experiment.better for name in pair} <= set(names)
    assert 2 <= experiment.minutes * sum(arm.share for arm in experiment.arms) <= 10
    for arm in experiment.arms:
        spec = specs.make_spec({"text": ("x",)}, experiments.arm_settings(experiment, arm, 2.0))
        assert spec.running.probe and (spec.running.steps or spec.running.minutes == 2.0 * arm.share)


def test_arms_differ_in_the_settings_under_test() -> None:
    for experiment in EXPERIMENTS:
        message = [experiments.arm_settings(experiment, arm, 2.0) for arm in experiment.arms]
        assert all(a != b for i, a in enumerate(message) for b in message[:i])
    mixes = [dict(arm.values) for arm in BY_NAME["mix"].arms]
    shares = [(m["masked"], round(1 - m["masked"] - m["random"], 9), m["random"]) for m in mixes]
    names = [tuple(int(part) / 100 for part in arm.name.split("/")) for arm in BY_NAME["mix"].arms]
    assert shares == names


def test_verdicts_follow_from_the_numbers() -> None:
    tasks = BY_NAME["tasks"]
    both, mlm, left = (arm.name for arm in tasks.arms)
    assert verdicts(tasks, {both: 0.6, mlm: 0.55}) == [
        f"{both} is better than {mlm} here (60.0 % and 55.0 %), as published."
    ]
    message = verdicts(tasks, {both: 0.6, mlm: 0.601, left: 0.7})
    assert "too close to call" in message[0] and f"{mlm} is not better than {left} (" in message[1]
    assert verdicts(tasks, {left: 0.7}) == []


def test_arms_that_read_different_amounts_of_text_in_the_same_minutes_are_named() -> None:
    small, middle, large = (arm.name for arm in BY_NAME["size"].arms)
    assert reading_said(BY_NAME["size"], {small: 9e6, middle: 4e6, large: 1_250_000.0}) == [
        "This compares equal minutes, not equal amounts of text: "
        f"“{small}” read 9,000,000 tokens, “{large}” read 1,250,000."
    ]
    assert reading_said(BY_NAME["size"], {small: 4.1e6, middle: 4e6}) == []
    assert reading_said(BY_NAME["size"], {small: 9e6}) == []
    assert reading_said(BY_NAME["steps"], {"1 x": 1e6, "2 x": 2e6, "4 x": 4e6}) == [], "their minutes differ on purpose"


def test_the_reached_value_is_that_of_the_last_evaluation() -> None:
    message = [{"event": "evaluated", "probe": 0.1}, {"event": "steps"}, {"event": "evaluated", "probe": 0.3}]
    assert experiments.reached_value(message, "probe") == 0.3
    assert (
        experiments.reached_value(message[1:2], "probe") is None
        and experiments.reached_value(message, "pairs_accuracy") is None
    )
