"""Compare runs on the page: the seeds of a run, and runs of the same task. Independent of gradio."""

from collections.abc import Sequence
from html import escape
from typing import Any

from bertexplorer.figures import learning
from bertexplorer.store.runs import Run
from bertexplorer.training.finetuning import compare
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.training.html import state, table
from bertexplorer.ui.training.run_service import RunDetail, RunService

MOST = 5  # runs to draw over the chosen one


def choices(service: RunService, run: Run, owner: str) -> list[tuple[str, str]]:
    """Runs of the same task, for a drop-down."""
    others = [one for one in service.runs(owner) if one.task == run.task and one.id != run.id]
    return [(f"{one.name} ({one.id[:6]})", one.id) for one in others]


def seeds(service: RunService, run: Run, owner: str) -> list[str]:
    """The other seeds of the same run."""
    if not run.group:
        return []
    return [one.id for one in service.runs(owner) if one.group == run.group and one.id != run.id][:MOST]


def curve(detail: RunDetail) -> learning.Curve:
    task = BY_NAME[detail.run.task]
    return learning.Curve(detail.run.name, task.METRIC, task.METRICS[task.METRIC], detail.events)


def outcome(detail: RunDetail) -> compare.Outcome | None:
    """The result of a finished run; None if it was not evaluated after a step."""
    task, drawn = BY_NAME[detail.run.task], curve(detail)
    values = [value for _, value in drawn.tried]
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
    runs = [one for one in service.runs(owner) if one.group == detail.run.group]
    found = [service.detail(one.id, owner) for one in reversed(runs)]
    ended = [done for one in found if (done := outcome(one))]
    rows = [
        {"run": one.run.name, "state": state(one.run), task.METRICS[task.METRIC]: reached(one, task.METRIC)}
        for one in found
    ]
    if not ended:
        return f"<h3>{len(found)} seeds</h3>{table(rows)}"
    spread = compare.spread(ended, higher=task.HIGHER)
    mean, deviation = (learning.shown(task.METRIC, value) for value in (spread.mean, spread.deviation))
    said = f"{task.METRICS[task.METRIC]} over {spread.count} finished seeds: {mean} ± {deviation} (mean and standard "
    said += f"deviation). The best: {spread.best}."
    if spread.collapsed:
        fallen = ", ".join(spread.collapsed)
        said += f" Collapsed, no better than without learning: {fallen}. "
        said += "This happens with small data sets; the best run counts."
    return f'<h3>{len(found)} seeds</h3><p class="summary">{escape(said)}</p>{table(rows)}'


def reached(detail: RunDetail, metric: str) -> str:
    done = outcome(detail)
    return learning.shown(metric, done.best) if done else ""


def compared(service: RunService, detail: RunDetail, others: Sequence[RunDetail]) -> str:
    """The settings that differ, and whether the difference between two runs is significant."""
    if not others:
        return ""
    every = [detail, *others]
    names = [f"{one.run.name} ({one.run.id[:6]})" for one in every]
    differ = compare.differing_settings({name: one.run.spec or {} for name, one in zip(names, every, strict=True)})
    parts = [table(differ) if differ else '<p class="note">The settings are the same.</p>']
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
    values = f"{what}: {learning.shown(found.measure, found.first)} and {learning.shown(found.measure, found.second)}"
    better = f"{second} is better on {found.better:,} of {found.rows:,} rows and worse on {found.worse:,}"
    sure = "more than chance" if found.p < 0.05 else "this may be chance"
    p = f"p = {found.p:.3f}" if found.p >= 0.001 else "p < 0.001"
    return f"{values}; {better}. Paired bootstrap: {p}, {sure}."
