"""Recording: recorded training runs that lessons replay, with the numbers that a lesson can query.

assets/lessons/runs/NAME.json holds one, written by `python -m bench.recordings`; a lesson names it as `run:NAME`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.runs.learning import Curve
from bertexplorer.settings import ASSETS
from bertexplorer.training.finetuning.compare import wilson
from bertexplorer.views.facts import fact_methods

FOLDER = ASSETS / "lessons" / "runs"
PREFIX = "run:"
NAME = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True)
class Recording:
    """One run, or several that are compared. *card*: a description of the training; *command*: repeats it; *higher*:
    whether more of the metric is better; *curves*: the events of each run; *numbers*: for each run, further numbers by
    name."""

    title: str
    card: dict[str, str]
    command: str
    higher: bool
    curves: tuple[Curve, ...]
    numbers: tuple[dict[str, float], ...]


@lru_cache(maxsize=32)
def recording(link: str) -> Recording:
    """Load the recording that *link*, "run:NAME", names. Raises ExplorerError if there is none."""
    name = link.removeprefix(PREFIX)
    file = FOLDER / f"{name}.json"
    if not link.startswith(PREFIX) or not NAME.fullmatch(name) or not file.is_file():
        available = ", ".join(sorted(path.stem for path in FOLDER.glob("*.json")))
        raise ExplorerError(f"There is no recorded run {link!r:.60}; there are {available}.")
    content = json.loads(file.read_text("utf-8"))
    curves = []
    for run in content["runs"]:
        curves.append(Curve(run["name"], content["metric"], content["words"], run["events"]))
    return Recording(
        title=content["title"],
        card=content["card"],
        command=content["command"],
        higher=content["higher"],
        curves=tuple(curves),
        numbers=tuple(run["numbers"] for run in content["runs"]),
    )


class RunFacts:
    """Facts about a recording. *run* counts from 1, in the order of the figure. *metric* is a key of the run's metrics,
    such as "accuracy"; by default the metric of the figure."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def runs(self) -> float:
        """Runs of the recording."""
        return len(self._recording.curves)

    def best(self, run: int = 1, metric: str = "") -> float:
        """A metric at the run's best evaluation."""
        shown = self._recording.curves[0].metric
        choose = max if self._recording.higher else min
        best = choose(self._evaluated(run), key=lambda event: float(event["metrics"][shown]))
        return self._value(best, metric)

    def before(self, run: int = 1, metric: str = "") -> float:
        """A metric before the first step."""
        return self._value(self._evaluated(run)[0], metric)

    def final(self, run: int = 1, metric: str = "") -> float:
        """A metric at the end."""
        return self._value(self._evaluated(run)[-1], metric)

    def at(self, share: float, run: int = 1, metric: str = "") -> float:
        """A metric at the evaluation nearest to this share of the run, 0 to 1."""
        evaluated = self._evaluated(run)
        return self._value(evaluated[round(share * (len(evaluated) - 1))], metric)

    def floor(self, run: int = 1) -> float:
        """The score without learning."""
        floor = self._curve(run).floor
        if floor is None:
            raise ExplorerError("This run records no score without learning.")
        return floor[1]

    def mean(self) -> float:
        """The best of each run, averaged."""
        return fmean(self._bests())

    def deviation(self) -> float:
        """The deviation of the best of each run (n - 1)."""
        return stdev(self._bests())

    def highest(self) -> float:
        """The largest of the runs' best."""
        return max(self._bests())

    def lowest(self) -> float:
        """The smallest of the runs' best."""
        return min(self._bests())

    def least(self, share: float, rows: float) -> float:
        """The lower end of the 95 % interval (Wilson, 1927) of a share measured on this number of rows."""
        return self._interval(share, rows)[0]

    def most(self, share: float, rows: float) -> float:
        """The upper end of that interval."""
        return self._interval(share, rows)[1]

    def number(self, name: str, run: int = 1) -> float:
        """A further number of a run: "seconds", "learning" (millions of parameters that learned), "rows"."""
        self._curve(run)
        numbers = self._recording.numbers[run - 1]
        if name not in numbers:
            raise ExplorerError(f"The run has no number {name!r:.40}; it has {', '.join(numbers)}.")
        return float(numbers[name])

    def _curve(self, run: int) -> Curve:
        if not (isinstance(run, int) and 1 <= run <= len(self._recording.curves)):
            raise ExplorerError(f"There is no run {run}; there are {len(self._recording.curves)}.")
        return self._recording.curves[run - 1]

    def _evaluated(self, run: int) -> list[Any]:
        return [event for event in self._curve(run).events if event["event"] == "evaluated"]

    def _value(self, event: Any, metric: str) -> float:
        metrics = event["metrics"]
        name = metric or self._recording.curves[0].metric
        if name not in metrics:
            raise ExplorerError(f"The run has no metric {name!r:.40}; it has {', '.join(metrics)}.")
        return float(metrics[name])

    def _interval(self, share: float, rows: float) -> tuple[float, float]:
        if not (0 <= share <= 1 and rows > 0):
            raise ExplorerError(f"Got {share:g} of {rows:g} rows for an interval; wanted a share of 0 to 1.")
        return wilson(share, round(rows))

    def _bests(self) -> list[float]:
        return [self.best(run) for run in range(1, len(self._recording.curves) + 1)]


def facts(link: str) -> dict[str, Callable[..., float]]:
    """The facts of a recording, by name. Raises ExplorerError if there is no such recording."""
    run_facts = RunFacts(recording(link))
    return {name: getattr(run_facts, name) for name in fact_methods(RunFacts)}
