"""Compare runs on the page: the seeds of a run, and runs of the same task. Independent of gradio."""

from collections.abc import Sequence
from html import escape
from typing import Any

from bertexplorer.figures import learning
from bertexplorer.runs.service import RunDetail, RunService
from bertexplorer.store.runs import Run
from bertexplorer.training.finetuning import compare
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.web.training.html import table
from bertexplorer.web.training.run_list import state_text

MAX_RUNS = 5  # runs to draw over the chosen one


def choices(service: RunService, run: Run, owner: str) -> list[tuple[str, str]]:
    """Runs of the same task, for a drop-down."""
    others = [other for other in service.runs(owner) if other.task == run.task and other.id != run.id]
    return [(f"{other.name} ({other.id[:6]})", other.id) for other in others]


def seeds(service: RunService, run: Run, owner: str) -> list[str]:
    """The other seeds of the same run."""
    if not run.group:
        return []
    return [other.id for other in service.runs(owner) if other.group == run.group and other.id != run.id][:MAX_RUNS]


def curve(detail: RunDetail) -> learning.Curve:
    task = BY_NAME[detail.run.task]
    return learning.Curve(detail.run.name, task.METRIC, task.METRICS[task.METRIC], detail.events)


def outcome(detail: RunDetail) -> compare.Outcome | None:
    """The result of a finished run; None if it was not evaluated after a step."""
    task, drawn = BY_NAME[detail.run.task], curve(detail)
    values = [value for _, value in drawn.evaluations]
    if len(values) < 2 or detail.run.state != "finished":
        return None
    best = (max if task.HIGHER else min)(values[1:])
    floor = drawn.floor
    return compare.Outcome(detail.run.name, best, values[0], floor[1] if floor else None)


def summary(service: RunService, detail: RunDetail, owner: str) -> str:
    """The seeds of a run: mean and deviation, the best one, those that collapsed."""
    if not detail.run.group:
        return ""
    task = BY_NAME[detail.run.task]
    runs = [run for run in service.runs(owner) if run.group == detail.run.group]
    details = [service.detail(run.id, owner) for run in reversed(runs)]
    outcomes = [result for seed in details if (result := outcome(seed))]
    rows = [
        {"run": seed.run.name, "state": state_text(seed.run), task.METRICS[task.METRIC]: best_value(seed, task.METRIC)}
        for seed in details
    ]
    if not outcomes:
        return f"<h3>{len(details)} seeds</h3>{table(rows)}"
    spread = compare.spread(outcomes, higher=task.HIGHER)
    mean, deviation = (learning.format_metric(task.METRIC, value) for value in (spread.mean, spread.deviation))
    text = f"{task.METRICS[task.METRIC]} over {spread.count} finished seeds: {mean} ± {deviation} (mean and standard "
    text += f"deviation). The best: {spread.best}."
    if spread.collapsed:
        collapsed = ", ".join(spread.collapsed)
        text += f" Collapsed, no better than without learning: {collapsed}. "
        text += "This happens with small data sets; use the best run."
    return f'<h3>{len(details)} seeds</h3><p class="summary">{escape(text)}</p>{table(rows)}'


def best_value(detail: RunDetail, metric: str) -> str:
    result = outcome(detail)
    return learning.format_metric(metric, result.best) if result else ""


def side_by_side(service: RunService, detail: RunDetail, others: Sequence[RunDetail]) -> str:
    """The settings that differ, and whether the difference between two runs is significant."""
    if not others:
        return ""
    names = [f"{other.run.name} ({other.run.id[:6]})" for other in (detail, *others)]
    specs = [other.run.spec or {} for other in (detail, *others)]
    differences = compare.differing_settings(dict(zip(names, specs, strict=True)))
    parts = [table(differences) if differences else '<p class="note">The settings are the same.</p>']
    own = service.predictions(detail)
    for name, other in zip(names[1:], others, strict=True):
        parts.append(f'<p class="summary">{escape(verdict(names[0], name, own, service.predictions(other)))}</p>')
    return f"<h3>Side by side</h3>{''.join(parts)}"


def verdict(first: str, second: str, own: list[dict[str, Any]], others: list[dict[str, Any]]) -> str:
    """Two runs compared row by row, in a sentence."""
    found = compare.compare_rows(own, others)
    if found is None:
        return f"{first} and {second} were not tested on the same rows, so they cannot be compared row by row."
    what = compare.MEASURES[found.measure]
    values = " and ".join(learning.format_metric(found.measure, value) for value in (found.first, found.second))
    better = f"{second} is better on {found.better:,} of {found.rows:,} rows and worse on {found.worse:,}"
    sure = "more than chance" if found.p < 0.05 else "this may be chance"
    p = f"p = {found.p:.3f}" if found.p >= 0.001 else "p < 0.001"
    return f"{what}: {values}; {better}. Paired bootstrap: {p}, {sure}."
