"""Judge runs by their metrics: warnings, confidence intervals, several seeds, two runs row by row. Torch is not
imported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np

from bertexplorer.training.events import Event
from bertexplorer.training.task import Evaluation
from bertexplorer.wording import counted

INPUTS = ("text", "text_a", "text_b", "query", "question", "context", "document", "source")  # the input of a row
MEASURES = {  # column of a row (task.EvaluatedRow) -> its name; the first that both runs have is compared
    "f1": "F1",
    "score": "score",
    "right": "right answers",
    "loss": "loss (nats)",
}
RESAMPLES = 10_000
AT_ONCE = 2_000_000  # random numbers drawn at once
Z_95 = 1.959964  # of 95 %
WIDE = 0.05  # warn of an interval wider than this to either side
FEW_ROWS = 100  # warn below this number of rows if there is no interval


@dataclass(frozen=True)
class RunOutcome:
    """The result of a run. *start*: before the first step; *floor*: of the baseline, if the task has one."""

    name: str
    best: float
    start: float
    floor: float | None = None


@dataclass(frozen=True)
class Spread:
    """Several seeds of one run."""

    count: int
    mean: float
    deviation: float  # of the sample (n - 1), 0 for one run
    best: str  # name of the best run
    collapsed: tuple[str, ...]  # names of the runs that did not beat the baseline (Mosbach et al., 2021)


@dataclass(frozen=True)
class Paired:
    """Two runs on the same rows."""

    measure: str  # a key of MEASURES
    rows: int  # number of rows
    first: float  # mean of the measure
    second: float
    p: float  # the probability of such a difference by chance
    better: int  # rows on which the second run is better
    worse: int


def spread(outcomes: Sequence[RunOutcome], *, higher: bool = True) -> Spread:
    """Mean and deviation of at least one outcome. *higher*: whether a higher value is better."""
    values = [outcome.best for outcome in outcomes]
    select = max if higher else min
    return Spread(
        count=len(values),
        mean=fmean(values),
        deviation=stdev(values) if len(values) > 1 else 0.0,
        best=select(outcomes, key=lambda outcome: outcome.best).name,
        collapsed=tuple(outcome.name for outcome in outcomes if has_collapsed(outcome, higher=higher)),
    )


def has_collapsed(outcome: RunOutcome, *, higher: bool) -> bool:
    """Whether the run did not beat the baseline. NaN counts as collapsed."""
    baseline = outcome.start if outcome.floor is None else outcome.floor
    beats_it = outcome.best > baseline if higher else outcome.best < baseline
    return not beats_it


def compare_rows(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> Paired | None:
    """The paired bootstrap (Berg-Kirkpatrick et al., 2012, section 2.1) over the rows in the predictions of both runs:
    the share of 10,000 resamples that differ by more than twice the observed difference, in the same direction. None if
    the runs share no row or no measure."""
    # 1. The rows and the measure that both have
    second_rows = {row_key(row): row for row in second}
    pairs = [(row, second_rows[row_key(row)]) for row in first if row_key(row) in second_rows]
    shared = [name for name in MEASURES if all(name in ours and name in theirs for ours, theirs in pairs)]
    if not pairs or not shared:
        return None
    measure = shared[0]

    # 2. By how much the second run is better on each row
    values = np.array([[float(ours[measure]), float(theirs[measure])] for ours, theirs in pairs])
    differences = values[:, 1] - values[:, 0]
    gains = -differences if measure == "loss" else differences
    means = values.mean(0)
    return Paired(
        measure=measure,
        rows=len(pairs),
        first=float(means[0]),
        second=float(means[1]),
        p=p_value(differences),
        better=int((gains > 0).sum()),
        worse=int((gains < 0).sum()),
    )


def p_value(differences: "np.ndarray[Any, np.dtype[np.float64]]") -> float:
    """The p-value of the mean of *differences*, counting the observation as one resample so that it is never 0 (Phipson
    and Smyth, 2010)."""
    observed = abs(differences.mean())
    if not observed:
        return 1.0
    signed = differences if differences.mean() > 0 else -differences  # so that their mean is above 0
    rng = np.random.default_rng(0)
    exceeding = 0
    rows = len(differences)
    part = max(1, AT_ONCE // rows)  # resamples drawn at once
    for start in range(0, RESAMPLES, part):
        indices = rng.integers(rows, size=(min(part, RESAMPLES - start), rows))
        exceeding += int((signed[indices].mean(1) > 2 * observed).sum())
    return (exceeding + 1) / (RESAMPLES + 1)


def row_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Identifies a row: its line, input and gold answer."""
    inputs = [str(row[name]) for name in INPUTS if name in row]
    return (row.get("line"), *inputs, str(row.get("gold")))


def differing_settings(specs: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The settings in which runs differ: a list of {"setting": …, run: value, …}. *specs*: name of a run -> its
    spec."""
    flat = {name: flat_settings(spec) for name, spec in specs.items()}
    names = dict.fromkeys(key for spec in flat.values() for key in spec)
    rows = []
    for name in names:
        values = {run: spec.get(name, "") for run, spec in flat.items()}
        if len(set(map(str, values.values()))) > 1:
            rows.append({"setting": name.replace("_", " "), **values})
    return rows


def flat_settings(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run in one level."""
    origin = {"checkpoint": spec.get("checkpoint", ""), "rows": spec.get("data", {}).get("file", "")}
    return origin | dict(spec.get("options", {})) | dict(spec.get("tuning", {}))


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a *share* seen in *count* cases (Wilson, 1927)."""
    if count < 1:
        return 0.0, 1.0
    middle = (share + Z_95**2 / (2 * count)) / (1 + Z_95**2 / count)
    half = Z_95 / (1 + Z_95**2 / count) * sqrt(share * (1 - share) / count + Z_95**2 / (4 * count**2))
    low = 0.0 if share == 0 else max(0.0, middle - half)  # exactly, as rounding may miss the ends
    high = 1.0 if share == 1 else min(1.0, middle + half)
    return low, high


def sample_size_warning(count: int, words: str, *, is_share: bool) -> str:
    """How reliable a metric called *words* is on *count* validation rows; "" if the rows suffice. *is_share*: whether
    it is the share of correct rows."""
    rows = counted(count, "validation row")
    if not is_share:
        if count >= FEW_ROWS:
            return ""
        return f"{words} on {rows} is a rough guide. Give more rows to compare runs by it."
    low, high = wilson(0.5, count)
    half = (high - low) / 2
    if half <= WIDE:
        return ""
    points = f"{100 * half:.0f} percentage points"
    return f"{words} on {rows} is known only to within {points} (95 % interval, at its widest)."


def interval_sentence(share: float, count: int, words: str) -> str:
    """A sentence on the confidence interval of a measured metric."""
    low, high = (f"{100 * value:.1f} %" for value in wilson(share, count))
    return f"{words} on {counted(count, 'validation row')}: the 95 % interval is {low} to {high} (Wilson)."


def evaluation_warnings(
    evaluation: Evaluation, *, start: float, value: float, higher: bool, start_loss: float = 0.0
) -> Iterator[Event]:
    """Warnings about an evaluation. *value*: of the headline metric now; *start*, *start_loss*: that metric and the
    loss before the first step."""
    is_worse = value < start if higher else value > start
    if is_worse:
        text = f"it does worse than before the first step ({value:.4g} now, {start:.4g} then)"
        yield {"event": "warning", "text": text}
    if not isfinite(evaluation.metrics.get("loss", 0.0)):
        advice = "lower the learning rate" if isfinite(start_loss) else "no validation row has a label that was trained"
        yield {"event": "warning", "text": f"the loss is not a number: {advice}"}
    if evaluation.confusion:
        labels, counts = evaluation.confusion.labels, evaluation.confusion.counts
        predicted = [label for label, column in zip(labels, zip(*counts, strict=True), strict=True) if sum(column) > 0]
        true = [label for label, line in zip(labels, counts, strict=True) if sum(line) > 0]
        if len(predicted) == 1 and len(true) > 1:
            text = f"every answer is “{predicted[0]}”: it does not tell the classes apart yet"
            yield {"event": "warning", "text": text}
