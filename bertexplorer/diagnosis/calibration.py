"""Whether a classifier's probabilities can be believed, and what one number, the temperature, would gain.

All of it is measured on rows with labels. A perfect classifier of as many rows has an error above 0, too, by chance; so
the error is set beside what chance alone brings. The temperature is fitted on some rows and judged on others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bertexplorer.answers.bootstrap import Interval
from bertexplorer.answers.question import log_softmax
from bertexplorer.training.calibration import BINS, Bin, calibration_bins, calibration_error
from bertexplorer.training.finetuning.compare import wilson

FOLDS = 10
DRAWS = 1000  # of right and wrong answers, if every probability were true
LOWEST, HIGHEST = 0.05, 20.0  # of a temperature
ROUNDING = 1e-9  # of two errors that are the same
LEAST = 10  # right rows, and wrong ones, below which no temperature is fitted


@dataclass(frozen=True)
class Temperature:
    """A temperature by which the logits are divided (Guo et al., 2017). *gain*: by how much the mean log loss falls, in
    nats, on held-out rows, with its 95 % interval. *error*, *bins*: of the probabilities there."""

    value: float  # above 1: the probabilities were too far from each other
    gain: float
    interval: Interval
    error: float
    bins: tuple[Bin, ...]

    @property
    def helps(self) -> bool:
        """Whether the gain is more than chance."""
        return self.interval.low > 0


@dataclass(frozen=True)
class Calibration:
    """The probabilities of n answers beside how many are right. *error*: the expected calibration error; *by_chance*:
    its mean if every probability were true; *p*: how often it would then be as large. *excess*: mean confidence minus
    the share that is right; above 0 the classifier is too sure. Its 95 % interval is that of the share (Wilson), which
    holds where all are right as well."""

    bins: tuple[Bin, ...]
    error: float
    by_chance: float
    p: float
    excess: float
    interval: Interval
    log_loss: float  # mean of the rows, in nats
    temperature: Temperature | None  # None if too few rows are right or wrong


def calibrate(log_probs: Float[np.ndarray, "n l"], gold: Int[np.ndarray, " n"]) -> Calibration:
    """Compare the probabilities of n rows with what is right. *log_probs*: natural logarithms, of each label; *gold*:
    the index of the right label.

    Example:
        >>> log_probs = np.log([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
        >>> round(calibrate(log_probs, np.array([0, 0, 1, 0])).log_loss, 3)
        0.747
    """
    confidence = np.exp(log_probs.max(axis=1))
    right = log_probs.argmax(axis=1) == gold
    accuracy = float(right.mean())
    low, high = wilson(accuracy, len(right))
    bins = calibration_bins(confidence, right)
    error = calibration_error(bins)
    chance = errors_by_chance(confidence)
    return Calibration(
        bins=tuple(bins),
        error=error,
        by_chance=float(chance.mean()),
        p=float((1 + (chance >= error - ROUNDING).sum()) / (1 + DRAWS)),
        excess=float(confidence.mean()) - accuracy,
        interval=Interval(float(confidence.mean()) - high, float(confidence.mean()) - low),
        log_loss=float(losses(log_probs, gold).mean()),
        temperature=judged_temperature(log_probs, gold, right),
    )


def losses(log_probs: Float[np.ndarray, "n l"], gold: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The log loss of each row, in nats."""
    return -log_probs[np.arange(len(gold)), gold]


def errors_by_chance(confidence: Float[np.ndarray, " n"]) -> Float[np.ndarray, " draws"]:
    """The calibration errors of DRAWS classifiers with the same probabilities, all of which are true: an answer is
    right as often as its probability says (Bröcker and Smith, 2007, Increasing the Reliability of Reliability
    Diagrams)."""
    random = np.random.default_rng(0)
    bin_of = np.minimum((confidence * BINS).astype(int), BINS - 1)
    errors = np.zeros(DRAWS)
    for i in range(BINS):
        inside = confidence[bin_of == i]
        right = np.zeros(DRAWS)
        for probability in inside:
            right += random.random(DRAWS) < probability
        errors += np.abs(right - inside.sum()) / len(confidence)
    return errors


def mean_interval(values: Float[np.ndarray, " n"]) -> Interval:
    """The 95 % interval of the mean of *values*, by Student's t; of a single one it has no ends."""
    from scipy.stats import t

    if len(values) < 2:
        return Interval(-np.inf, np.inf)
    half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    mean = float(values.mean())
    return Interval(mean - half, mean + half)


def judged_temperature(
    log_probs: Float[np.ndarray, "n l"], gold: Int[np.ndarray, " n"], right: Bool[np.ndarray, " n"]
) -> Temperature | None:
    """The temperature of all rows, judged by FOLDS others: each is fitted without one tenth of the rows, and judged on
    it. None if fewer than LEAST rows are right, or wrong."""
    if min(right.sum(), (~right).sum()) < LEAST:
        return None
    order = np.random.default_rng(0).permutation(len(gold))
    scaled = np.empty_like(log_probs)
    for part in np.array_split(order, FOLDS):
        others = np.setdiff1d(order, part)
        temperature = fit_temperature(log_probs[others], gold[others])
        scaled[part] = at_temperature(log_probs[part], temperature)
    gains = losses(log_probs, gold) - losses(scaled, gold)
    bins = calibration_bins(np.exp(scaled.max(axis=1)), right)
    return Temperature(
        value=fit_temperature(log_probs, gold),
        gain=float(gains.mean()),
        interval=mean_interval(gains),
        error=calibration_error(bins),
        bins=tuple(bins),
    )


def fit_temperature(log_probs: Float[np.ndarray, "n l"], gold: Int[np.ndarray, " n"]) -> float:
    """The temperature, LOWEST to HIGHEST, with the least log loss. The loss is convex in its inverse, so there is one
    minimum."""
    from scipy.optimize import minimize_scalar

    def loss(inverse: float) -> float:
        return float(losses(at_temperature(log_probs, 1 / inverse), gold).mean())

    found = minimize_scalar(loss, bounds=(1 / HIGHEST, 1 / LOWEST), method="bounded", options={"xatol": 1e-8})
    return float(1 / found.x)


def at_temperature(log_probs: Float[np.ndarray, "n l"], temperature: float) -> Float[np.ndarray, "n l"]:
    """*log_probs* if the logits are divided by *temperature*. The order of the labels stays."""
    return log_softmax(log_probs / temperature)
