"""How a run learns: its metric and its losses by epoch, from before the first step; several runs over each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertexplorer.figures import kit
from bertexplorer.figures.style import ACCENT, GREY, ORANGE, coloured, decimal, finish, label, safe

COLOURS = (ACCENT, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe and Ito after the first
LIKE_SHARES = ("accuracy", "f1", "em", "recall", "precision", "mcc", "spearman", "pearson", "rouge",
               "right", "chrf", "exact")  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """One run, read from its events."""

    name: str
    metric: str  # the headline's key
    words: str  # the headline as a person reads it
    events: Sequence[Mapping[str, Any]]

    @property
    def tried(self) -> list[tuple[float, float]]:
        """(epoch, value) of every evaluation."""
        return [(e["epoch"], e["metrics"][self.metric]) for e in self.events if e["event"] == "evaluated"]

    @property
    def floor(self) -> tuple[str, float] | None:
        """The score without learning."""
        for event in self.events:
            if event["event"] == "ready" and self.metric in event.get("floors", {}):
                found = event["floors"][self.metric]
                return found["name"], found["value"]
        return None


def draw(curves: Sequence[Curve]) -> go.Figure:
    """The metric above, losses below: a line for the training rows, points for the validation rows."""
    fig = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.2, row_heights=[0.55, 0.45])
    floors: list[tuple[str, float]] = []
    for curve, colour in zip(curves, COLOURS, strict=False):
        metric(fig, curve, colour)
        if curve.floor and curve.floor not in floors:
            floors.append(curve.floor)
            fig.add_hline(y=curve.floor[1], line={"color": GREY, "dash": "dot", "width": 1.5}, row=1, col=1)
        losses(fig, curve, colour)
    names = legend([curve.name for curve in curves], 18) if len(curves) > 1 else []
    words = f"{curves[0].words if curves else ''}, on the validation rows"
    dotted = [f"dotted: {name}, {shown(curves[0].metric, value)}" for name, value in floors]
    head = [*names, *(safe(line) for one in (words, *dotted) for line in wrap(one, 42))]
    fig.add_annotation(kit.above("<br>".join(head), row=1, size=13))
    fig.add_annotation(kit.above("Loss. Line: training rows,<br>points: validation rows", row=2, size=13))
    fig.update_xaxes(rangemode="tozero", fixedrange=True)
    fig.update_xaxes(title={"text": "epoch", "standoff": 4}, row=2, col=1)
    fig.update_yaxes(fixedrange=True)
    return finish(fig, 440 + 17 * len(head), margin={"l": 52, "r": 16, "t": 20 + 17 * len(head), "b": 44})


def legend(names: Sequence[str], length: int) -> list[str]:
    """Lines of two names each, with the colours of their curves."""
    named = [f"{coloured('●', colour)} {label(name, length)}" for name, colour in zip(names, COLOURS, strict=False)]
    return ["   ".join(named[i : i + 2]) for i in range(0, len(named), 2)]


def metric(fig: go.Figure, curve: Curve, colour: str) -> None:
    epochs, values = zip(*curve.tried, strict=True) if curve.tried else ((), ())
    tip = f"{label(curve.name, 28)}, epoch %{{x:.2f}}: %{{y:.4f}}<extra></extra>"
    fig.add_trace(kit.line(epochs, values, colour, size=8, hovertemplate=tip), 1, 1)


def losses(fig: go.Figure, curve: Curve, colour: str) -> None:
    steps = [e for e in curve.events if e["event"] == "steps"]
    learnt = [(e["epoch"], sum(e["loss"].values()) / max(1, len(e["loss"]))) for e in steps]
    tried = [
        (e["epoch"], e["metrics"]["loss"]) for e in curve.events if e["event"] == "evaluated" and "loss" in e["metrics"]
    ]
    for found, mode, width in ((learnt, "lines", 1.5), (tried, "markers", 0)):
        fig.add_scatter(
            x=[x for x, _ in found],
            y=[y for _, y in found],
            mode=mode,
            line={"color": colour, "width": width},
            marker={"color": colour, "size": 9},
            opacity=0.55 if mode == "lines" else 1,
            cliponaxis=False,
            hovertemplate="epoch %{x:.2f}: %{y:.3f}<extra></extra>",
            row=2,
            col=1,
        )


def shown(metric: str, value: float) -> str:
    """A metric's value as a person reads it."""
    if any(part in metric for part in LIKE_SHARES):
        return f"{decimal(100 * value, 1)} %"
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")


def say(curves: Sequence[Curve], *, higher: bool = True) -> str:
    """Where a run began, what it reached at its best, and whether that is more than without learning; of several, the
    best of each."""
    if len(curves) > 1 and all(curve.tried for curve in curves):
        return compared(curves, higher)
    sentences = []
    for curve in curves:
        values = [value for _, value in curve.tried]
        if not values:
            sentences.append(f"{curve.name} has not been tried yet")
            continue
        best = max(values) if higher else min(values)
        name = f"{curve.name}: " if len(curves) > 1 else ""
        start = f"{name}{curve.words} began at {shown(curve.metric, values[0])}"
        sentences.append(start + (f" and is {shown(curve.metric, best)} at its best" if len(values) > 1 else ""))
        if curve.floor and len(values) > 1:
            floor = curve.floor[1]
            better = best > floor if higher else best < floor
            sentences[-1] += f"; without learning ({curve.floor[0]}) it is {shown(curve.metric, floor)}"
            sentences[-1] += "" if better else ", no better than the baseline"
    return ". ".join(sentences) + "." if sentences else ""


def compared(curves: Sequence[Curve], higher: bool) -> str:
    """The best of each run in one sentence, and what is reached without learning in another."""
    best = [(max if higher else min)(value for _, value in curve.tried) for curve in curves]
    each = [shown(curve.metric, value) for curve, value in zip(curves, best, strict=True)]
    if len(set(each)) == 1:
        said = f"{curves[0].words} at its best is {each[0]} in all {len(curves)} runs."
    else:
        named = [f"{curve.name} {value}" for curve, value in zip(curves, each, strict=True)]
        said = f"{curves[0].words} at its best: {', '.join(named)}."
    floors = dict.fromkeys((curve.floor[0], shown(curve.metric, curve.floor[1])) for curve in curves if curve.floor)
    return said + "".join(f" Without learning ({name}) it is {value}." for name, value in floors)
