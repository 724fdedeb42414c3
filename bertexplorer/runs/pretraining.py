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
        return [
            (60 * event["hours"] if unit == "minutes" else event["step"], event[measure])
            for event in self.events
            if event["event"] == "evaluated" and measure in event
        ]


def draw(curves: Sequence[PretrainingCurve], measure: str, unit: str) -> Figure:
    """The *measure* of the experiment above, the other one below; a colour for each run."""
    panels: list[Panel] = []
    for kind in (measure, *(other for other in WORDS if other != measure)):
        lines = []
        for curve, tone in zip(curves, GROUPS, strict=False):
            points = curve.points(kind, unit)
            hover = [f"{curve.name}, {unit} {at:.1f}: {percent(value)}" for at, value in points]
            values = [value for _, value in points]
            lines.append(Line(curve.name, values, "", tone, hover=hover, at=[at for at, _ in points]))
        marks: list[Mark] = [Lines((), lines, high=1, unit="share")]
        if not panels:
            marks.append(run_key([curve.name for curve in curves]))
        panels.append(Panel(marks, WORDS[kind], UNITS[unit] if panels else ""))
    return Figure(panels)


def say(curves: Sequence[PretrainingCurve], measure: str, unit: str) -> str:
    """Where each run began, and where it is now."""
    sentences = []
    for curve in curves:
        points = curve.points(measure, unit)
        if points:
            now = f", now {percent(points[-1][1])}" if len(points) > 1 else ""
            sentences.append(f"{curve.name}: {percent(points[0][1])} at first{now}")
    return f"{WORDS[measure]}. {'; '.join(sentences)}." if sentences else ""
