"""Comparisons of runs against scipy and by hand."""

from statistics import NormalDist

import numpy as np
import pytest

from bertexplorer.training.finetuning.compare import RunOutcome, compare_rows, differing_settings, spread


def rows(right: list[float], measure: str = "right") -> list[dict]:
    return [{"line": i, "text": f"t{i}", "gold": "x", measure: value} for i, value in enumerate(right)]


def test_the_spread_has_the_mean_the_deviation_and_the_collapsed_runs() -> None:
    result = spread([RunOutcome("a", 0.9, 0.5, 0.6), RunOutcome("b", 0.6, 0.5, 0.6), RunOutcome("c", 0.8, 0.5, 0.6)])
    assert (result.count, result.best, result.collapsed) == (3, "a", ("b",))
    wanted = pytest.approx((0.766667, 0.152753), abs=1e-6)  # written with 6 digits
    assert (result.mean, result.deviation) == wanted
    lower = spread([RunOutcome("a", 40.0, 90.0), RunOutcome("b", 95.0, 90.0)], higher=False)
    assert (lower.best, lower.collapsed) == ("a", ("b",))
    assert spread([RunOutcome("nan", float("nan"), 0.1)]).collapsed == ("nan",)


def test_the_p_value_agrees_with_a_one_sided_test() -> None:
    """On many rows the bootstrap is near the normal distribution of the mean."""
    draw = np.random.default_rng(1)
    first, second = (draw.random(2_000) < share for share in (0.80, 0.82))
    result = compare_rows(rows(first.tolist()), rows(second.tolist()))
    gains = second.astype(float) - first
    expected = 1 - NormalDist().cdf(abs(gains.mean()) / (gains.std() / len(gains) ** 0.5))
    # 0.015: several standard deviations of the draws
    assert result is not None and result.p == pytest.approx(expected, abs=0.015) and 0.005 < result.p < 0.3
    assert (result.better, result.worse) == (int((gains > 0).sum()), int((gains < 0).sum()))
    assert (result.first, result.second) == pytest.approx((first.mean(), second.mean()))


def test_rows_are_matched_by_key_not_by_position() -> None:
    first, second = rows([1, 1, 0, 1]), list(reversed(rows([1, 1, 0, 1])))
    assert compare_rows(first, second).p == 1.0  # the same answers in another order
    assert compare_rows(first, second[:2]).rows == 2
    assert compare_rows(first, [row | {"text": "other"} for row in second]) is None
    assert compare_rows(first, rows([0.1] * 4, "loss")) is None and compare_rows([], []) is None
    lossy = compare_rows(rows([1.0] * 9, "loss"), rows([0.5] * 9, "loss"))
    assert (lossy.measure, lossy.better, lossy.worse) == ("loss", 9, 0) and lossy.p < 0.001


def test_settings_that_differ_are_listed() -> None:
    one = {"checkpoint": "mini", "tuning": {"seed": 0, "batch": 32}, "options": {"labels": "one"}}
    other = {"checkpoint": "mini", "tuning": {"seed": 1, "batch": 32}, "data": {"file": "a.csv"}}
    assert differing_settings({"A": one, "B": other}) == [
        {"setting": "rows", "A": "", "B": "a.csv"},
        {"setting": "labels", "A": "one", "B": ""},
        {"setting": "seed", "A": 0, "B": 1},
    ]
