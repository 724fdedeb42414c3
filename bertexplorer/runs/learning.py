"""Learning curves: the metric and the losses by epoch, from before the first step; several runs in one figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart, grid
from bertexplorer.charts.style import GREY, GROUPS, coloured, decimal, finish, label, safe

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


def draw(curves: Sequence[Curve]) -> Chart:
    """The metric above, losses below: a line for the training rows, points for the validation rows."""
    fig = grid(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.2, row_heights=[0.55, 0.45])
    floors: list[tuple[str, float]] = []
    for curve, colour in zip(curves, GROUPS, strict=False):
        metric(fig, curve, colour)
        if curve.floor and curve.floor not in floors:
            floors.append(curve.floor)
            fig.add_hline(y=curve.floor[1], line={"color": GREY, "dash": "dot", "width": 1.5}, row=1, col=1)
        losses(fig, curve, colour)
    names = legend([curve.name for curve in curves], 18) if len(curves) > 1 else []
    words = f"{curves[0].words if curves else ''}, on the validation rows"
    dotted = [f"dotted: {name}, {format_metric(curves[0].metric, value)}" for name, value in floors]
    head = [*names, *(safe(line) for heading in (words, *dotted) for line in wrap(heading, 42))]
    fig.add_annotation(kit.above("<br>".join(head), row=1, size=13))
    fig.add_annotation(kit.above("Loss. Line: training rows,<br>points: validation rows", row=2, size=13))
    fig.update_xaxes(rangemode="tozero", fixedrange=True)
    fig.update_xaxes(title={"text": "epoch", "standoff": 4}, row=2, col=1)
    fig.update_yaxes(fixedrange=True)
    if curves and is_share(curves[0].metric):
        values = [value for curve in curves for _, value in curve.evaluations] + [value for _, value in floors]
        fig.update_yaxes(range=[min([0.0, *values]), 1], row=1, col=1)  # a correlation may be below 0
    return finish(fig, 440 + 17 * len(head), margin={"l": 52, "r": 16, "t": 20 + 17 * len(head), "b": 44})


def legend(names: Sequence[str], length: int) -> list[str]:
    """Lines of two names each, with the colours of their curves."""
    entries = [f"{coloured('●', colour)} {label(name, length)}" for name, colour in zip(names, GROUPS, strict=False)]
    return ["   ".join(entries[i : i + 2]) for i in range(0, len(entries), 2)]


def metric(fig: Chart, curve: Curve, colour: str) -> None:
    epochs, values = zip(*curve.evaluations, strict=True) if curve.evaluations else ((), ())
    tip = f"{label(curve.name, 28)}, epoch %{{x:.2f}}: %{{y:.4f}}<extra></extra>"
    fig.add_trace(kit.line(epochs, values, colour, size=8, hovertemplate=tip), 1, 1)


def losses(fig: Chart, curve: Curve, colour: str) -> None:
    steps = [e for e in curve.events if e["event"] == "steps"]
    trained = [(e["epoch"], sum(e["loss"].values()) / max(1, len(e["loss"]))) for e in steps]
    evaluated = [
        (e["epoch"], e["metrics"]["loss"]) for e in curve.events if e["event"] == "evaluated" and "loss" in e["metrics"]
    ]
    for points, mode, width in ((trained, "lines", 1.5), (evaluated, "markers", 0)):
        fig.add_scatter(
            x=[x for x, _ in points],
            y=[y for _, y in points],
            mode=mode,
            line={"color": colour, "width": width},
            marker={"color": colour, "size": 9},
            opacity=0.55 if mode == "lines" else 1,
            cliponaxis=False,
            hovertemplate="epoch %{x:.2f}: %{y:.3f}<extra></extra>",
            row=2,
            col=1,
        )


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
