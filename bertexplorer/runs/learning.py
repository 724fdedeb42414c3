"""Learning curves: the metric and the losses by epoch, from before the first step; several runs in one figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertexplorer.charts.marks import GROUPS, Figure, Line, Lines, Mark, Panel, StyledWords, TextLines, Tone, key
from bertexplorer.charts.style import decimal

LIKE_SHARES = ("accuracy", "f1", "em", "recall", "precision", "mcc", "spearman", "pearson", "rouge",
               "right", "chrf", "exact")  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """One run, read from its events."""

    name: str
    metric: str  # the key of the headline metric
    words: str  # the display name of the headline metric
    events: Sequence[Mapping[str, Any]]

    @property
    def evaluations(self) -> list[tuple[float, float]]:
        """(epoch, value) of every evaluation."""
        return [(e["epoch"], e["metrics"][self.metric]) for e in self.events if e["event"] == "evaluated"]

    @property
    def trained(self) -> list[float]:
        """The values after the first step; the untrained model, at epoch 0, is not one of the run's checkpoints."""
        return [value for epoch, value in self.evaluations if epoch > 0]

    @property
    def floor(self) -> tuple[str, float] | None:
        """The baseline without learning: (name, value of the metric); None if the run has none."""
        for event in self.events:
            if event["event"] == "ready" and self.metric in event.get("floors", {}):
                baseline = event["floors"][self.metric]
                return baseline["name"], baseline["value"]
        return None


def draw(curves: Sequence[Curve]) -> Figure:
    """The metric above, losses below: a line for the training rows, points for the validation rows."""
    metrics: list[Line] = []
    losses: list[Line] = []
    floors: list[tuple[str, float]] = []
    for curve, tone in zip(curves, GROUPS, strict=False):
        metrics.append(metric_line(curve, tone))
        name = f"{curve.name}, " if len(curves) > 1 else ""
        losses += [training_loss(curve, name, tone), validation_loss(curve, name, tone)]
        if curve.floor and curve.floor not in floors:
            floors.append(curve.floor)
    dotted = []
    for name, value in floors:
        dotted.append(StyledWords(f"dotted: {name}, {format_metric(curves[0].metric, value)}"))
        metrics.append(Line(name, [value], "", "grey", "dot", [dotted[-1].text] * 2, look="line"))

    in_share = bool(curves) and is_share(curves[0].metric)
    marks: list[Mark] = [Lines((), metrics, high=1 if in_share else None, unit="share" if in_share else "")]
    if len(curves) > 1:
        marks.append(run_key([curve.name for curve in curves]))
    if dotted:
        marks.append(TextLines(dotted))
    title = f"{curves[0].words if curves else ''}, on the validation rows"
    return Figure(
        [
            Panel(marks, title),
            Panel([Lines((), losses)], "Loss. Line: training rows, points: validation rows", "epoch"),
        ]
    )


def run_key(names: Sequence[str]) -> TextLines:
    """The names of runs with the colours of their curves."""
    return key(*(("●", tone, name) for name, tone in zip(names, GROUPS, strict=False)))


def metric_line(curve: Curve, tone: Tone) -> Line:
    points = curve.evaluations
    hover = [f"{curve.name}, epoch {epoch:.2f}: {format_metric(curve.metric, value)}" for epoch, value in points]
    values = [value for _, value in points]
    return Line(curve.name, values, "", tone, hover=hover, at=[epoch for epoch, _ in points])


def training_loss(curve: Curve, name: str, tone: Tone) -> Line:
    """The mean of the losses at each step; a long run has hundreds of them."""
    steps = [event for event in curve.events if event["event"] == "steps"]
    epochs = [event["epoch"] for event in steps]
    losses = [sum(event["loss"].values()) / max(1, len(event["loss"])) for event in steps]
    return Line(f"{name}training rows", losses, "", tone, at=epochs, look="line", faint=True)


def validation_loss(curve: Curve, name: str, tone: Tone) -> Line:
    found = [event for event in curve.events if event["event"] == "evaluated" and "loss" in event["metrics"]]
    epochs = [event["epoch"] for event in found]
    losses = [event["metrics"]["loss"] for event in found]
    return Line(f"{name}validation rows", losses, "", tone, at=epochs, look="points")


def is_share(metric: str) -> bool:
    """Whether the metric has a maximum of 1, as shares and correlations have."""
    return any(part in metric for part in LIKE_SHARES)


def format_metric(metric: str, value: float) -> str:
    """Format the value of a metric."""
    if is_share(metric):
        return f"{decimal(100 * value, 1)} %"
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")


def say(curves: Sequence[Curve], *, higher: bool = True) -> str:
    """The run's first value, its best after that, and whether it beats the baseline without learning; for several runs,
    the best of each."""
    if len(curves) > 1 and all(curve.trained for curve in curves):
        return say_best(curves, higher)
    sentences = []
    for curve in curves:
        if not curve.evaluations:
            sentences.append(f"{curve.name} has not been evaluated yet")
            continue
        name = f"{curve.name}: " if len(curves) > 1 else ""
        sentences.append(f"{name}{curve.words} began at {format_metric(curve.metric, curve.evaluations[0][1])}")
        if not curve.trained:
            continue
        best = (max if higher else min)(curve.trained)
        sentences[-1] += f" and is {format_metric(curve.metric, best)} at its best"
        if curve.floor:
            floor = curve.floor[1]
            better = best > floor if higher else best < floor
            sentences[-1] += f"; without learning ({curve.floor[0]}) it is {format_metric(curve.metric, floor)}"
            sentences[-1] += "" if better else ", no better than the baseline"
    return ". ".join(sentences) + "." if sentences else ""


def say_best(curves: Sequence[Curve], higher: bool) -> str:
    """The best of each run in one sentence, and the baselines without learning in another."""
    best = [(max if higher else min)(curve.trained) for curve in curves]
    each = [format_metric(curve.metric, value) for curve, value in zip(curves, best, strict=True)]
    if len(set(each)) == 1:
        sentence = f"{curves[0].words} at its best is {each[0]} in all {len(curves)} runs."
    else:
        bests = [f"{curve.name} {value}" for curve, value in zip(curves, each, strict=True)]
        sentence = f"{curves[0].words} at its best: {', '.join(bests)}."
    floors = dict.fromkeys(
        (curve.floor[0], format_metric(curve.metric, curve.floor[1])) for curve in curves if curve.floor
    )
    return sentence + "".join(f" Without learning ({name}) it is {value}." for name, value in floors)
