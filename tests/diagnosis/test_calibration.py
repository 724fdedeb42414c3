"""Calibration and temperature beside scikit-learn, and no gain where there is none."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from bertexplorer.diagnosis.calibration import (
    HIGHEST,
    LOWEST,
    at_temperature,
    calibrate,
    errors_by_chance,
    fit_temperature,
    losses,
    mean_interval,
)
from bertexplorer.training.calibration import calibration_bins, calibration_error
from bertexplorer.training.finetuning.compare import wilson


def drawn(seed: int, rows: int = 400, labels: int = 3, temperature: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities, and labels drawn by them once their logits are divided by *temperature*."""
    random = np.random.default_rng(seed)
    log_probs = at_temperature(random.normal(0, 2, (rows, labels)), 1.0)
    true = np.exp(at_temperature(log_probs, temperature))
    return log_probs, np.array([random.choice(labels, p=row) for row in true])


@pytest.mark.parametrize("labels", [2, 3, 7])
def test_bins_and_losses_are_those_of_scikit_learn(labels: int) -> None:
    log_probs, gold = drawn(labels, labels=labels)
    confidence, right = np.exp(log_probs.max(axis=1)), log_probs.argmax(axis=1) == gold
    bins = calibration_bins(confidence, right)
    shares, means = calibration_curve(right, confidence, n_bins=10, strategy="uniform")
    np.testing.assert_allclose([one.accuracy for one in bins], shares, atol=1e-9)
    np.testing.assert_allclose([one.confidence for one in bins], means, atol=1e-9)
    counts = np.histogram(confidence, bins=10, range=(0, 1))[0]
    wanted = (np.abs(shares - means) * counts[counts > 0]).sum() / len(gold)
    found = calibrate(log_probs, gold)
    assert found.error == calibration_error(bins) == pytest.approx(wanted, abs=1e-9)
    assert found.log_loss == pytest.approx(log_loss(gold, np.exp(log_probs), labels=range(labels)), abs=1e-9)


def test_a_temperature_is_the_one_coefficient_of_a_logistic_regression() -> None:
    log_probs, gold = drawn(0, labels=2, temperature=2.5)
    log_odds = (log_probs[:, 1] - log_probs[:, 0])[:, None]
    alone = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=1000).fit(log_odds, gold)
    temperature = fit_temperature(log_probs, gold)
    assert temperature == pytest.approx(1 / alone.coef_[0, 0], rel=1e-4)
    assert 1.8 < temperature < 3.5
    wanted = log_loss(gold, alone.predict_proba(log_odds))
    assert losses(at_temperature(log_probs, temperature), gold).mean() == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("labels", [2, 5])
def test_no_other_temperature_has_a_lower_loss(labels: int) -> None:
    log_probs, gold = drawn(1, labels=labels, temperature=0.6)
    best = losses(at_temperature(log_probs, fit_temperature(log_probs, gold)), gold).mean()
    for other in np.geomspace(LOWEST, HIGHEST, 200):
        assert losses(at_temperature(log_probs, other), gold).mean() >= best - 1e-12


@pytest.mark.parametrize("temperature", [3.0, 0.4])
def test_a_planted_temperature_is_found_and_helps(temperature: float) -> None:
    found = calibrate(*drawn(2, rows=600, temperature=temperature))
    assert found.temperature and found.temperature.helps
    assert found.temperature.value == pytest.approx(temperature, rel=0.25)
    assert found.temperature.error < found.error and found.p < 0.01
    assert (found.excess > 0) == (temperature > 1) and not found.interval.low <= 0 <= found.interval.high


def test_true_probabilities_are_not_called_better_by_any() -> None:
    alarms = {"helps": 0, "error": 0, "excess": 0}
    for seed in range(40):
        found = calibrate(*drawn(seed, rows=200))
        assert found.temperature
        alarms["helps"] += found.temperature.helps
        alarms["error"] += found.p < 0.05
        alarms["excess"] += not found.interval.low <= 0 <= found.interval.high
    assert alarms["helps"] <= 1 and alarms["error"] <= 5 and alarms["excess"] <= 5


def test_the_gain_is_measured_on_rows_that_did_not_choose_the_temperature() -> None:
    """By a loop over the parts, as they are drawn."""
    log_probs, gold = drawn(3, rows=150, temperature=2.0)
    found = calibrate(log_probs, gold).temperature
    gains = np.zeros(150)
    for part in np.array_split(np.random.default_rng(0).permutation(150), 10):
        others = [i for i in range(150) if i not in part]
        scaled = at_temperature(log_probs, fit_temperature(log_probs[others], gold[others]))
        for i in part:
            gains[i] = scaled[i, gold[i]] - log_probs[i, gold[i]]
    assert found and found.gain == pytest.approx(gains.mean(), abs=1e-12)
    half = 1.976 * gains.std(ddof=1) / np.sqrt(150)  # t of 149 degrees of freedom
    assert found.interval == pytest.approx((gains.mean() - half, gains.mean() + half), abs=1e-4)


@pytest.mark.parametrize("right", [True, False])
def test_all_right_and_all_wrong(right: bool) -> None:
    log_probs = np.log(np.tile([0.99, 0.01], (50, 1)))
    found = calibrate(log_probs, np.zeros(50, int) if right else np.ones(50, int))
    assert found.temperature is None, "nothing tells which one"
    low, high = wilson(float(right), 50)
    assert found.interval == pytest.approx((0.99 - high, 0.99 - low))
    assert (found.interval.low <= 0 <= found.interval.high) == right
    assert (found.p > 0.05) == right


def test_one_row() -> None:
    found = calibrate(np.log([[0.7, 0.3]]), np.array([0]))
    assert found.error == pytest.approx(0.3) and found.p > 0.5 and found.temperature is None
    assert mean_interval(np.array([1.0])) == (-np.inf, np.inf)


def test_the_error_by_chance_is_that_of_a_plain_loop() -> None:
    random = np.random.default_rng(5)
    confidence = random.uniform(0.4, 1, 60)
    plain = []
    for _ in range(1000):
        bins = calibration_bins(confidence, random.random(60) < confidence)
        plain.append(calibration_error(bins))
    assert errors_by_chance(confidence).mean() == pytest.approx(np.mean(plain), rel=0.05)
