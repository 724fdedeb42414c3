"""Compare runs: the same with several seeds, and two row by row. Torch is not imported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np

GIVEN = ("text", "text_a", "text_b", "query", "question", "context", "document", "source")  # the input of a row
MEASURES = {
    "f1": "F1",
    "score": "score",
    "right": "right answers",
    "loss": "loss (nats)",
}  # the first that both have is compared
RESAMPLES = 10_000
AT_ONCE = 2_000_000  # random numbers drawn at a time


@dataclass(frozen=True)
class Outcome:
    """The result of a run. *start*: before the first step; *floor*: of the baseline, if the task has one."""

    name: str
    best: float
    start: float
    floor: float | None = None


@dataclass(frozen=True)
class Spread:
    """Several seeds of one run. *deviation*: of the sample (n - 1), 0 for one run; *collapsed*: names of the runs that
    did not beat the baseline (Mosbach et al., 2021)."""

    count: int
    mean: float
    deviation: float
    best: str
    collapsed: tuple[str, ...]


@dataclass(frozen=True)
class Paired:
    """Two runs on the same rows. *p*: the probability of such a difference by chance; *measure*: a key of MEASURES;
    *better*, *worse*: number of rows on which the second run is better or worse."""

    measure: str
    rows: int
    first: float
    second: float
    p: float
    better: int
    worse: int


def spread(outcomes: Sequence[Outcome], *, higher: bool = True) -> Spread:
    """Mean and deviation of at least one outcome."""
    values = [one.best for one in outcomes]
    best = (max if higher else min)(outcomes, key=lambda one: one.best)
    fallen = tuple(one.name for one in outcomes if collapsed(one, higher=higher))
    return Spread(len(values), fmean(values), stdev(values) if len(values) > 1 else 0.0, best.name, fallen)


def collapsed(one: Outcome, *, higher: bool) -> bool:
    """Whether the run did not beat the baseline. NaN counts as collapsed."""
    bar = one.start if one.floor is None else one.floor
    return not (one.best > bar if higher else one.best < bar)


def paired(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]], *, seed: int = 0) -> Paired | None:
    """The paired bootstrap (Berg-Kirkpatrick et al., 2012, section 2.1) over the rows in the predictions of both runs:
    the share of 10,000 resamples that differ by more than twice the observed difference, in the same direction. None if
    the runs share no row or no measure."""
    other = {key(row): row for row in second}
    rows = [(row, other[key(row)]) for row in first if key(row) in other]
    measure = next((name for name in MEASURES if rows and all(name in a and name in b for a, b in rows)), None)
    if measure is None:
        return None
    values = np.array([[float(a[measure]), float(b[measure])] for a, b in rows])
    gains = values[:, 1] - values[:, 0]
    means = values.mean(0)
    signs = gains if measure != "loss" else -gains
    return Paired(
        measure,
        len(rows),
        float(means[0]),
        float(means[1]),
        chance(gains, seed),
        int((signs > 0).sum()),
        int((signs < 0).sum()),
    )


def chance(gains: "np.ndarray[Any, np.dtype[np.float64]]", seed: int) -> float:
    """The p-value, counting the observation as one resample so that it is never 0 (Phipson and Smyth, 2010)."""
    seen = abs(gains.mean())
    if not seen:
        return 1.0
    signed = gains if gains.mean() > 0 else -gains
    draw, beyond = np.random.default_rng(seed), 0
    part = max(1, AT_ONCE // len(gains))
    for start in range(0, RESAMPLES, part):
        picked = draw.integers(len(gains), size=(min(part, RESAMPLES - start), len(gains)))
        beyond += int((signed[picked].mean(1) > 2 * seen).sum())
    return (beyond + 1) / (RESAMPLES + 1)


def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Identifies a row: its line and input."""
    return (row.get("line"), *(str(row[name]) for name in GIVEN if name in row), str(row.get("gold")))


def differences(specs: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The settings in which runs differ: a list of {"setting": …, run: value, …}. *specs*: name of a run -> its
    spec."""
    flat = {name: flattened(spec) for name, spec in specs.items()}
    names = dict.fromkeys(key for spec in flat.values() for key in spec)
    found = []
    for name in names:
        values = {run: spec.get(name, "") for run, spec in flat.items()}
        if len(set(map(str, values.values()))) > 1:
            found.append({"setting": name.replace("_", " "), **values})
    return found


def flattened(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run in one level."""
    about = {"checkpoint": spec.get("checkpoint", ""), "rows": spec.get("data", {}).get("file", "")}
    return about | dict(spec.get("options", {})) | dict(spec.get("tuning", {}))
