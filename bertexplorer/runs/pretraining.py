"""Pretraining runs in one figure: the probe accuracy of their frozen vectors, and the share of hidden words that they
guess."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart, grid
from bertexplorer.charts.style import GROUPS, finish, label, percent
from bertexplorer.runs.learning import legend

WORDS = {"probe": "Accuracy of the frozen probe", "pairs_accuracy": "Accuracy at the masks of held-out text"}
UNITS = {"minutes": "minutes of training", "step": "step"}


@dataclass(frozen=True)
class Curve:
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


def draw(curves: Sequence[Curve], measure: str, unit: str) -> Chart:
    """The *measure* of the experiment above, the other one below; a colour for each run, named next to its end."""
    order = [measure, *(other for other in WORDS if other != measure)]
    fig = grid(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.16, row_heights=[0.6, 0.4])
    for row, key in enumerate(order, 1):
        for curve, colour in zip(curves, GROUPS, strict=False):
            points = curve.points(key, unit)
            x, y = [x for x, _ in points], [y for _, y in points]
            tip = f"{label(curve.name, 28)}, {unit} %{{x:.1f}}: %{{y:.1%}}<extra></extra>"
            fig.add_trace(kit.line(x, y, colour, size=7, hovertemplate=tip), row, 1)
        fig.add_annotation(kit.above(WORDS[key], row=row))
    lines = legend([curve.name for curve in curves], 20)
    fig.add_annotation(kit.above("<br>".join(lines), 32, size=13))
    fig.update_xaxes(rangemode="tozero", fixedrange=True)
    fig.update_xaxes(title={"text": UNITS[unit], "standoff": 4}, row=2, col=1)
    fig.update_yaxes(fixedrange=True, tickformat=".1~%", range=[0, 1])
    return finish(fig, 480, margin={"l": 52, "r": 20, "t": 44 + 20 * len(lines), "b": 44})


def say(curves: Sequence[Curve], measure: str, unit: str) -> str:
    """Where each run began, and where it is now."""
    sentences = []
    for curve in curves:
        points = curve.points(measure, unit)
        if points:
            now = f", now {percent(points[-1][1])}" if len(points) > 1 else ""
            sentences.append(f"{curve.name}: {percent(points[0][1])} at first{now}")
    return f"{WORDS[measure]}. {'; '.join(sentences)}." if sentences else ""
