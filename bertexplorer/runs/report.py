"""The report of a fine-tuning run: what its page shows, as plain data: curves, results, rows, what can be done next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any
from urllib.parse import urlencode

from bertexplorer.charts import confusion
from bertexplorer.runs import learning, suite
from bertexplorer.runs.run_folder import LIVE_STATES, RESUMABLE_STATES, Run
from bertexplorer.runs.service import RunDetail, RunService
from bertexplorer.store.trained import list_checkpoints
from bertexplorer.training.events import current_warnings
from bertexplorer.training.features import FEATURE_PREFIX
from bertexplorer.training.finetuning import compare
from bertexplorer.training.finetuning.compare import interval_sentence
from bertexplorer.training.finetuning.spec import ENOUGH_STEPS, SHORT
from bertexplorer.training.task import Ability, Column
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.wording import counted

MAX_COMPARED = 5  # runs to draw over the chosen one
MAX_ROWS, MAX_TABLE = 50, 200  # rows of the validation set, and of a table of the results
MAX_WARNINGS = 3
LONGER = 4  # times as many steps are advised after a short run that learned nothing
PAIRS = {"question": "context", "text_a": "text_b", "query": "gold"}  # columns of a prediction that has two texts
SENTENCE, OTHER = "The film was a joy.", "The movie was great fun."  # the texts if a run has no row to show


def report(service: RunService, id: str, owner: str, beside: Sequence[str] = ()) -> dict[str, Any]:
    """All that the page shows of a run. *beside*: ids of runs of the same task to draw over it. Raises ExplorerError if
    the owner has no run *id*."""
    detail = service.detail(id, owner)
    run, task = detail.run, BY_NAME.get(detail.run.task)
    of_every_run: dict[str, Any] = {"can": actions(detail), "pace": pace(detail), "warnings": warnings(detail)}
    if task is None:
        return of_every_run | suite_result(run)
    others = [service.detail(other, owner) for other in list(beside)[:MAX_COMPARED]]
    others = [other for other in others if other.run.task == run.task]
    curves = [curve(each) for each in (detail, *others)]
    # All rows are read for the wrong ones, which is too much for each look at a run that goes on.
    predictions = [] if run.state in LIVE_STATES else service.predictions(detail)
    has_points = any(each.evaluations for each in curves)
    return of_every_run | {
        "chart": learning.draw(curves).parts() if has_points else None,
        "said": learning.say(curves, higher=task.higher),
        "links": links(detail),
        "advice": advice(detail),
        "seeds": seeds(service, detail, owner),
        "comparable": [{"id": other.id, "name": other.name} for other in comparable(service, run, owner)],
        "compared": side_by_side(service, detail, others) if others else None,
        "best": results(detail, task.metrics),
        "confusion": confusion_figure(detail),
        "labels": ((detail.about or {}).get("confusion") or {}).get("labels", []),
        "rows": wrong_answers(predictions),
        "texts": [{"name": column.name, "label": column.label} for column in text_columns(detail)],
    }


def can(run: Run, ability: Ability) -> bool:
    """Whether the task of *run* has *ability*; a run of a later version may have a task that is unknown here."""
    task = BY_NAME.get(run.task)
    return task is not None and ability in task.can


def can_share(run: Run) -> bool:
    """Whether others may watch *run*: it has a curve by epoch, and was not deleted."""
    return run.task in BY_NAME and run.state != "deleted"


def actions(detail: RunDetail) -> list[str]:
    """What can be done with a run in its state."""
    run, saved = detail.run, detail.best is not None
    live = run.state in LIVE_STATES
    settled = saved and not live
    possible = {
        "stop": live,
        "resume": run.state in RESUMABLE_STATES,
        "again": not live,
        "delete": not live,
        "try": saved,
        "influence": settled and can(run, "traces"),
        "suspects": settled and can(run, "suspects"),
        "export": saved,
        "share": can_share(run),
    }
    return [action for action, is_possible in possible.items() if is_possible]


def warnings(detail: RunDetail) -> list[str]:
    """The latest warnings of a run that still hold."""
    latest = {event["text"]: f"Step {event['step']:,}: {event['text']}." for event in current_warnings(detail.events)}
    return list(latest.values())[-MAX_WARNINGS:]


def pace(detail: RunDetail) -> str:
    """The latest learning rate, speed and memory, with device and precision."""
    ready = next((event for event in reversed(detail.events) if event["event"] == "ready"), None)
    steps = [event for event in detail.events if event["event"] == "steps"]
    if not ready or not steps:
        return ""
    last = steps[-1]
    parts = [f"step {last['step']:,} of {ready['steps']:,}"]
    parts.append(f"learning rate {last['rate']:.1e}".replace("-", "−"))
    if len(steps) > 1:
        before = steps[-2]
        seconds = last["time"] - before["time"]
        if seconds > 0:
            examples = (last["epoch"] - before["epoch"]) * ready["rows"] / seconds
            parts.append(f"{examples:,.0f} examples/s")
    parts.append(f"{last['tokens_per_second']:,.0f} tokens/s")
    if last.get("memory_mb"):
        parts.append(f"{last['memory_mb']:,.0f} MB")
    parts.append(f"{ready['precision']} on {ready['device']}")
    return " · ".join(parts)


def advice(detail: RunDetail) -> dict[str, Any] | None:
    """What to change after a short run that learned nothing: a sentence, and the settings to run it again with. None if
    there is nothing to say."""
    # 1. Is it short, and did it learn nothing?
    result = outcome(detail)
    ready = next((event for event in detail.events if event["event"] == "ready"), None)
    if result is None or ready is None or ready["steps"] > SHORT:
        return None
    task = BY_NAME[detail.run.task]
    floor = result.start if result.floor is None else result.floor
    learned_nothing = result.best <= floor if task.higher else result.best >= floor
    if not learned_nothing:
        return None

    # 2. So many more steps
    steps = max(ENOUGH_STEPS, LONGER * ready["steps"])
    epochs = float(ceil((detail.run.spec or {})["tuning"]["epochs"] * steps / ready["steps"]))
    sentences = [f"It learned nothing in {counted(ready['steps'], 'step')}."]
    sentences.append(f"{epochs:g} epochs make about {steps:,} steps.")
    return {"said": " ".join(sentences), "settings": {"epochs": epochs}}


# Links to Explore


def links(detail: RunDetail) -> list[dict[str, str]]:
    """What can be looked at in Explore: a title, and the query of its address."""
    run = detail.run
    if detail.best is None:
        return []
    own = explore_query(detail)
    after = {"against": "another checkpoint", "versus": f"run:{run.id}"}  # on the right, as changes read from the left
    targets = {"Open in Explore": own}
    saved = [checkpoint.name for checkpoint in list_checkpoints(run.folder)]
    start = f"run:{run.id}@0"  # if it is still on this disk
    steps = [name for name in saved if "@" in name and name != start]
    if can(run, "answers") and steps:
        targets["Compare an earlier step’s answer with its own"] = {**own, "checkpoint": steps[0], **after}
    if start in saved:  # on the run's own text, which may be in any language
        before = {**own, "view": "attention", "checkpoint": start}
        targets["Compare its attention before and after training"] = before | after
    if can(run, "vectors"):
        search = {"text": "a quiet river", "view": "search", "checkpoint": f"run:{run.id}"}
        targets["Search your lines with it"] = search
    return [{"title": title, "href": f"./?{urlencode(query, safe=':')}"} for title, query in targets.items()]


def explore_query(detail: RunDetail) -> dict[str, str]:
    """The query that opens Explore on the checkpoint of a run: the view Answer with a row of its validation data, or
    Attention where it gives no answer."""
    run, row = detail.run, detail.example
    text = pair = ""
    for first, second in PAIRS.items():
        if row.get(first):
            text, pair = str(row[first]), str(row.get(second, ""))
    if not text and can(run, "answers"):
        text, _, pair = str(row.get("text", "")).partition(" [SEP] ")
    if not text:
        text, pair = SENTENCE, ""
    if not pair and can(run, "two texts"):
        pair = OTHER
    query = {"view": "answer" if can(run, "answers") else "attention", "text": text}
    if pair:
        query["pair"] = pair
    return {**query, "checkpoint": f"run:{run.id}"}


# Results


def results(detail: RunDetail, labels: Mapping[str, str]) -> dict[str, Any] | None:
    """The metrics of the best checkpoint and its tables. *labels*: metric -> its name."""
    if detail.about is None:
        return None
    spec, metrics = detail.run.spec or {}, detail.about["metrics"]
    count = spec.get("data", {}).get("dev")  # validation rows
    said = ""
    if isinstance(count, int) and BY_NAME[detail.run.task].metric == "accuracy":
        said = interval_sentence(metrics["accuracy"], count, labels["accuracy"])
    return {
        "step": detail.about["step"],
        "metrics": [
            {"metric": labels.get(key, key), "value": learning.format_metric(key, value)}
            for key, value in metrics.items()
        ],
        "said": said,
        "tables": {title: rows[:MAX_TABLE] for title, rows in detail.about["tables"].items()},
        "command": command(spec),
    }


def command(spec: Mapping[str, Any]) -> str:
    """The command line that starts the same run."""
    tuning = " ".join(f"--{key.replace('_', '-')} {value}" for key, value in spec.get("tuning", {}).items())
    options = " ".join(f"{key}={value}" for key, value in spec.get("options", {}).items())
    mapping = " ".join(f"{key}={value!r}" for key, value in spec.get("data", {}).get("mapping", {}).items())
    return (
        f"python -m bertexplorer train --task {spec.get('task')} --checkpoint {spec.get('checkpoint')} "
        f"--data FILE --map {mapping} --set {options} {tuning}"
    )


def confusion_figure(detail: RunDetail) -> dict[str, Any] | None:
    counts = (detail.about or {}).get("confusion")
    return confusion.draw(counts["labels"], counts["counts"]).parts() if counts else None


def wrong_answers(predictions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The wrongly answered validation rows; if answers are neither right nor wrong, all rows."""
    wrong = [row for row in predictions if not row.get("right")]
    if not predictions:
        return None
    if not wrong:
        return {"title": "", "said": "Every validation row was answered correctly.", "rows": []}
    if not any("right" in row for row in wrong):
        return worst(wrong, "The rows with the highest loss")
    return worst(wrong, f"Wrong answers: {len(wrong):,} of {len(predictions):,} rows, the worst first")


def worst(predictions: Sequence[Mapping[str, Any]], title: str) -> dict[str, Any]:
    """Validation rows, the highest loss first."""
    first = sorted(predictions, key=lambda row: -(row.get("loss") or 0.0))[:MAX_ROWS]
    shown = [{key: value for key, value in row.items() if key != "right"} for row in first]  # the title says it
    return {"title": title, "rows": shown}


def rows_in_cell(service: RunService, detail: RunDetail, gold: str, predicted: str) -> dict[str, Any]:
    """The validation rows of a cell of the confusion matrix."""
    rows = [row for row in service.predictions(detail) if in_cell(row, gold, predicted)]
    return worst(rows, f"“{gold}” taken for “{predicted}”: {len(rows):,} rows")


def in_cell(row: Mapping[str, Any], gold: str, predicted: str) -> bool:
    """Whether a row belongs to a cell of the confusion matrix, by its label or by any of its words."""
    if "gold_tags" not in row:
        return (row["gold"], row["predicted"]) == (gold, predicted)
    pairs = zip(row["gold_tags"], row["predicted_tags"], strict=True)
    return any((entity_type(right), entity_type(tag)) == (gold, predicted) for right, tag in pairs)


def entity_type(tag: str) -> str:
    """A tag without its B- or I-; O for none."""
    if tag.startswith(("B-", "I-")):
        return tag[2:]
    return tag or "O"


def text_columns(detail: RunDetail) -> list[Column]:
    """The columns of a new row: the texts that the task reads and its features; at least one text."""
    texts = [column for column in BY_NAME[detail.run.task].columns if column.kind == "text"]
    mapping = (detail.run.spec or {}).get("data", {}).get("mapping", {})
    columns = texts or [Column("text", "Text", "text")]
    for name, column in mapping.items():
        if name.startswith(FEATURE_PREFIX):
            columns.append(Column(name, str(column), "feature"))
    return columns


def suite_result(run: Run) -> dict[str, Any]:
    """The result of a suite."""
    figure, said = suite.result(run.folder)
    files = {"cases": "All cases as CSV", "summary": "The score as CSV"}
    links = [
        {"title": title, "href": f"api/v1/suites/{run.id}/{name}"}
        for name, title in files.items()
        if (run.folder / "suite" / f"{name}.csv").is_file()
    ]
    return {"chart": figure, "said": said, "links": links, "cases": bool(said)}


# Several runs


def comparable(service: RunService, run: Run, owner: str) -> list[Run]:
    """The other runs of the same task."""
    return [other for other in service.runs(owner) if other.task == run.task and other.id != run.id]


def curve(detail: RunDetail) -> learning.Curve:
    """The curve of a run of a task that is known here."""
    task = BY_NAME[detail.run.task]
    return learning.Curve(
        name=detail.run.name,
        metric=task.metric,
        words=task.metrics[task.metric],
        events=detail.events,
    )


def outcome(detail: RunDetail) -> compare.RunOutcome | None:
    """The result of a finished run; None if it was not evaluated after a step."""
    task, drawn = BY_NAME[detail.run.task], curve(detail)
    values = [value for _, value in drawn.evaluations]
    if len(values) < 2 or detail.run.state != "finished":
        return None
    select = max if task.higher else min
    return compare.RunOutcome(
        name=detail.run.name,
        best=select(values[1:]),
        start=values[0],
        floor=drawn.floor.value if drawn.floor else None,
    )


def seeds(service: RunService, detail: RunDetail, owner: str) -> dict[str, Any] | None:
    """The seeds of a run: mean and deviation, the best one, those that collapsed."""
    if not detail.run.group:
        return None
    task = BY_NAME[detail.run.task]
    runs = [run for run in service.runs(owner) if run.group == detail.run.group]
    details = [service.detail(run.id, owner) for run in reversed(runs)]
    name = task.metrics[task.metric]
    rows = []
    outcomes = []  # of the finished ones
    for seed in details:
        result = outcome(seed)
        value = ""
        if result:
            outcomes.append(result)
            value = learning.format_metric(task.metric, result.best)
        rows.append({"run": seed.run.name, "state": seed.run.state, name: value})
    said = say_seeds(outcomes, task.metric, name, higher=task.higher) if outcomes else ""
    return {"title": f"{len(details)} seeds", "said": said, "rows": rows}


def say_seeds(outcomes: Sequence[compare.RunOutcome], metric: str, name: str, *, higher: bool) -> str:
    """How the finished seeds differ. *name*: of the metric; *higher*: whether a higher value is better."""
    spread = compare.spread(outcomes, higher=higher)
    mean = learning.format_metric(metric, spread.mean)
    deviation = learning.format_metric(metric, spread.deviation)
    sentences = [f"{name} over {spread.count} finished seeds: {mean} ± {deviation} (mean and standard deviation)."]
    sentences.append(f"The best: {spread.best}.")
    if spread.collapsed:
        sentences.append(f"Collapsed, no better than without learning: {', '.join(spread.collapsed)}.")
        sentences.append("This happens with small data sets; use the best run.")
    return " ".join(sentences)


def side_by_side(service: RunService, detail: RunDetail, others: Sequence[RunDetail]) -> dict[str, Any]:
    """The settings that differ, and whether the difference between two runs is significant."""
    own_name = name_with_id(detail)
    own_predictions = service.predictions(detail)
    specs = {own_name: detail.run.spec or {}}
    verdicts = []
    for other in others:
        name = name_with_id(other)
        specs[name] = other.run.spec or {}
        verdicts.append(verdict(own_name, name, own_predictions, service.predictions(other)))
    differences = compare.differing_settings(specs)
    said = verdicts if differences else ["The settings are the same.", *verdicts]
    return {"title": "Side by side", "said": said, "rows": differences}


def name_with_id(detail: RunDetail) -> str:
    return f"{detail.run.name} ({detail.run.id[:6]})"


def verdict(first: str, second: str, own: list[dict[str, Any]], others: list[dict[str, Any]]) -> str:
    """Two runs compared row by row, in a sentence. *own*, *others*: their predictions."""
    paired = compare.compare_rows(own, others)
    if paired is None:
        return f"{first} and {second} were not tested on the same rows, so they cannot be compared row by row."
    what = compare.MEASURES[paired.measure]
    first_value = learning.format_metric(paired.measure, paired.first)
    second_value = learning.format_metric(paired.measure, paired.second)
    better = f"{second} is better on {paired.better:,} of {paired.rows:,} rows and worse on {paired.worse:,}"
    p = f"p = {paired.p:.3f}" if paired.p >= 0.001 else "p < 0.001"
    sure = "more than chance" if paired.p < 0.05 else "this may be chance"
    return f"{what}: {first_value} and {second_value}; {better}. Paired bootstrap: {p}, {sure}."
