"""Learning curves: the metric and the losses by epoch, from before the first step; several runs in one figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bertexplorer.charts.marks import GROUPS, Figure, Line, Lines, Mark, Panel, StyledWords, TextLines, Tone, key
from bertexplorer.charts.style import decimal
from bertexplorer.training.finetuning.compare import wilson
from bertexplorer.training.tasks import TASKS
from bertexplorer.wording import counted

OF_ROWS = ("right",)  # measures of a row that are shares, beside the metrics of tasks


class Baseline(NamedTuple):
    """What needs no learning, and the value of the headline metric that it has."""

    name: str
    value: float


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
    def validation_rows(self) -> int:
        """0 if the run has not begun."""
        for event in self.events:
            if event["event"] == "ready":
                return int(event.get("dev_rows", 0))
        return 0

    @property
    def floor(self) -> Baseline | None:
        """None if the run has none."""
        for event in self.events:
            if event["event"] == "ready" and self.metric in event.get("floors", {}):
                baseline = event["floors"][self.metric]
                return Baseline(baseline["name"], baseline["value"])
        return None


def draw(curves: Sequence[Curve]) -> Figure:
    """The metric above, losses below: a line for the training rows, points for the validation rows."""
    # 1. The lines
    metrics: list[Line] = []
    losses: list[Line] = []
    baselines: list[Baseline] = []
    for curve, tone in zip(curves, GROUPS, strict=False):
        metrics.append(metric_line(curve, tone))
        name = f"{curve.name}, " if len(curves) > 1 else ""
        losses += [training_loss(curve, name, tone), validation_loss(curve, name, tone)]
        if curve.floor and curve.floor not in baselines:
            baselines.append(curve.floor)
    notes = []
    for baseline in baselines:
        note = f"dotted: {baseline.name}, {format_metric(curves[0].metric, baseline.value)}"
        notes.append(StyledWords(note))
        level = Line(baseline.name, [baseline.value], end="", tone="grey", dash="dot", hover=[note] * 2, look="line")
        metrics.append(level)

    # 2. The panels
    marks: list[Mark] = [Lines(steps=(), lines=metrics)]
    if curves and is_share(curves[0].metric):
        marks = [Lines(steps=(), lines=metrics, high=1, unit="share")]
    if len(curves) > 1:
        marks.append(run_key([curve.name for curve in curves]))
    if notes:
        marks.append(TextLines(notes))
    title = f"{curves[0].words if curves else ''}, on the validation rows"
    below = "Loss. Line: training rows, points: validation rows"
    return Figure([Panel(marks, title), Panel([Lines(steps=(), lines=losses)], below, x="epoch")])


def run_key(names: Sequence[str]) -> TextLines:
    """The names of runs with the colours of their curves."""
    return key(*(("●", tone, name) for name, tone in zip(names, GROUPS, strict=False)))


def metric_line(curve: Curve, tone: Tone) -> Line:
    """The headline metric at each evaluation."""
    epochs = []
    values = []
    hover = []
    for epoch, value in curve.evaluations:
        epochs.append(epoch)
        values.append(value)
        hover.append(f"{curve.name}, epoch {epoch:.2f}: {format_metric(curve.metric, value)}")
    return Line(curve.name, values, end="", tone=tone, hover=hover, at=epochs)


def training_loss(curve: Curve, name: str, tone: Tone) -> Line:
    """The mean of the losses at each step; a long run has hundreds of them."""
    steps = [event for event in curve.events if event["event"] == "steps"]
    epochs = [event["epoch"] for event in steps]
    losses = [sum(event["loss"].values()) / max(1, len(event["loss"])) for event in steps]
    return Line(f"{name}training rows", losses, end="", tone=tone, at=epochs, look="line", faint=True)


def validation_loss(curve: Curve, name: str, tone: Tone) -> Line:
    """The loss at each evaluation."""
    evaluated = [event for event in curve.events if event["event"] == "evaluated" and "loss" in event["metrics"]]
    epochs = [event["epoch"] for event in evaluated]
    losses = [event["metrics"]["loss"] for event in evaluated]
    return Line(f"{name}validation rows", losses, end="", tone=tone, at=epochs, look="points")


def is_share(metric: str) -> bool:
    """Whether *metric*, of whatever task, is read in per cent and has a maximum of 1."""
    return metric in OF_ROWS or any(metric in task.per_cent for task in TASKS)


def format_metric(metric: str, value: float) -> str:
    """The value of a metric for people: a share in percent, another to three digits."""
    if is_share(metric):
        return f"{decimal(100 * value, 1)} %"
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return number.replace("-", "−")


def say(curves: Sequence[Curve], *, higher: bool = True) -> str:
    """The run's first value, its best after that, and whether it beats the baseline without learning; for several runs,
    the best of each."""
    if len(curves) > 1 and all(curve.trained for curve in curves):
        return say_best(curves, higher)
    select = max if higher else min
    sentences = []
    for curve in curves:
        if not curve.evaluations:
            sentences.append(f"{curve.name} has not been evaluated yet.")
            continue
        name = f"{curve.name}: " if len(curves) > 1 else ""
        sentence = f"{name}{curve.words} began at {format_metric(curve.metric, curve.evaluations[0][1])}"
        if curve.trained:
            best = select(curve.trained)
            sentence += f" and is {format_metric(curve.metric, best)} at its best"
            is_share_of_rows = curve.metric == "accuracy" and curve.validation_rows > 0
            low, high = wilson(best, curve.validation_rows)
            if is_share_of_rows:
                ends = f"{format_metric(curve.metric, low)} to {format_metric(curve.metric, high)}"
                sentence += f" (95 % interval on {counted(curve.validation_rows, 'validation row')}: {ends})"
            if curve.floor:
                floor = curve.floor.value
                sentence += f"; without learning ({curve.floor.name}) it is {format_metric(curve.metric, floor)}"
                is_better = best > floor if higher else best < floor
                if not is_better:
                    sentence += ", no better than the baseline"
                elif is_share_of_rows and floor >= low:
                    sentence += ", which is within that interval"
        sentences.append(f"{sentence}.")
    return " ".join(sentences)


def say_best(curves: Sequence[Curve], higher: bool) -> str:
    """The best of each run in one sentence, and the baselines without learning in another."""
    select = max if higher else min
    best = [format_metric(curve.metric, select(curve.trained)) for curve in curves]
    words = f"{curves[0].words} at its best"
    if len(set(best)) == 1:
        sentences = [f"{words} is {best[0]} in all {len(curves)} runs."]
    else:
        of_each = [f"{curve.name} {value}" for curve, value in zip(curves, best, strict=True)]
        sentences = [f"{words}: {', '.join(of_each)}."]
    for curve in curves:
        if curve.floor:
            value = format_metric(curve.metric, curve.floor.value)
            sentence = f"Without learning ({curve.floor.name}) it is {value}."
            if sentence not in sentences:
                sentences.append(sentence)
    return " ".join(sentences)
