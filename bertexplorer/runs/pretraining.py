"""Pretraining runs in one figure: the probe accuracy of their frozen vectors, and the share of hidden words that they
guess."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertexplorer.charts.marks import GROUPS, Figure, Line, Lines, Mark, Panel
from bertexplorer.charts.style import percent
from bertexplorer.runs.learning import run_key

WORDS = {"probe": "Accuracy of the frozen probe", "pairs_accuracy": "Accuracy at the masks of held-out text"}
UNITS = {"minutes": "minutes of training", "step": "step"}


@dataclass(frozen=True)
class PretrainingCurve:
    """One run, read from its events."""

    name: str
    events: Sequence[Mapping[str, Any]]

    def points(self, measure: str, unit: str) -> list[tuple[float, float]]:
        """(minutes or step, value 0 to 1) of every evaluation."""
        points = []
        for event in self.events:
            if event["event"] == "evaluated" and measure in event:
                place = 60 * event["hours"] if unit == "minutes" else event["step"]
                points.append((place, event[measure]))
        return points


def draw(curves: Sequence[PretrainingCurve], measure: str, unit: str) -> Figure:
    """Two panels: the *measure* of the experiment, and below it the other one of WORDS. A line and a colour for each
    run. *unit*: of the axis below, one of UNITS."""
    [other] = [kind for kind in WORDS if kind != measure]
    panels = []
    for kind in (measure, other):
        lines = []
        for curve, tone in zip(curves, GROUPS, strict=False):
            places = []
            values = []
            hover = []
            for place, value in curve.points(kind, unit):
                places.append(place)
                values.append(value)
                hover.append(f"{curve.name}, {unit} {place:.1f}: {percent(value)}")
            lines.append(Line(curve.name, values, end="", tone=tone, hover=hover, at=places))
        is_above = kind == measure
        marks: list[Mark] = [Lines(steps=(), lines=lines, high=1, unit="share")]
        if is_above:
            marks.append(run_key([curve.name for curve in curves]))
        panels.append(Panel(marks, title=WORDS[kind], x="" if is_above else UNITS[unit]))
    return Figure(panels)


def say(curves: Sequence[PretrainingCurve], measure: str, unit: str) -> str:
    """Where each run began by *measure*, a key of WORDS, and where it is now; "" before the first evaluation.
    *unit*: as for `draw`."""
    parts = []
    for curve in curves:
        values = [value for _, value in curve.points(measure, unit)]
        if not values:
            continue
        part = f"{curve.name}: {percent(values[0])} at first"
        if len(values) > 1:
            part += f", now {percent(values[-1])}"
        parts.append(part)
    if not parts:
        return ""
    return f"{WORDS[measure]}. {'; '.join(parts)}."
