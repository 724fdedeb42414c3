"""The HTML of the training page. Text from people, files and checkpoints is escaped here."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode

from bertexplorer.runs.service import RunDetail, RunPreview
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.store.runs import Run, duration, list_checkpoints
from bertexplorer.training.events import current_warnings
from bertexplorer.training.finetuning.compare import interval_sentence
from bertexplorer.training.task import Column
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.training.tasks.classification import PREFIX
from bertexplorer.web.training.run_list import state_text

HEADER = """<header class="masthead"><h1>Train</h1>
<p>Fine-tune a checkpoint on your rows. Watch it learn, try it, look inside it.</p></header>"""
MORE_OPTIONS = (
    '<button type="button" class="fold" aria-expanded="false" aria-controls="more-options">More options</button>'
)
PREVIEW_ROWS = 5
LISTED_PROBLEMS = 5  # unusable rows that the preview names
MAX_ROWS = 50  # rows of a table
VECTOR_TASKS = ("similarity", "retrieval")  # tasks that train the vectors themselves
LABEL_TASKS = ("classification", "pair-classification", "tagging", "question-answering", "reranking", "distillation")
ANSWERED = (*LABEL_TASKS, *VECTOR_TASKS)  # tasks whose runs answer in Explore
PAIRS = {"question": "context", "text_a": "text_b", "query": "gold"}  # columns of a prediction that has two texts
OTHER = "The movie was great fun."  # the second text if a run has no row to show
WIDE_CELL, MAX_CELL = 30, 240  # characters of a cell: from here on it gets more room; cut beyond


def preview(preview: RunPreview) -> str:
    """The preview of a run: rows as they were read, labels, problems."""
    preflight = preview.found
    rows = [{"line": row.line, **row.cells} for row in preflight.train[:PREVIEW_ROWS]]
    parts = [f'<p class="summary">{escape(preflight.summary)}</p>', table(rows)]
    counts = f"{len(preflight.train):,} training rows, {len(preflight.dev):,} validation rows"
    if preflight.labels:
        names = [(name, f"{count:,} row{'s' * (count != 1)}") for name, count in preflight.labels.items()]
        counts += ". Training labels: " + ", ".join(f"“{name}”: {rows}" for name, rows in names[:12])
        counts += f" and {len(names) - 12:,} more labels" if names[12:] else ""
    parts.append(f"<p>{escape(counts)}.</p>")
    labels = {column.name: column.label for column in preview.spec.module.COLUMNS}
    reasons = [f"{labels[name]}: “{preflight.mapping[name]}”, {reason}" for name, reason in preflight.reasons.items()]
    parts.append(f'<p class="note">{escape("; ".join(reasons))}.</p>' if reasons else "")
    if preflight.problems:
        items = "".join(
            f"<li>{escape(preview.table.unit)} {problem.line:,}: {escape(problem.what)}</li>"
            for problem in preflight.problems[:LISTED_PROBLEMS]
        )
        more = len(preflight.problems) - LISTED_PROBLEMS
        items += f"<li>and {more:,} more</li>" if more > 0 else ""
        count = f"{len(preflight.problems):,} row{'s' * (len(preflight.problems) > 1)}"
        parts.append(f'<div class="problems"><p>{count} cannot be used:</p><ul>{items}</ul></div>')
    for finding in preflight.findings:
        kind = "error" if finding.stops else "busy"
        parts.append(f'<p class="message {kind}">{escape(finding.what)}</p>')
    if preview.seconds:
        estimate = f"{preview.steps:,} steps take {duration(preview.seconds)}"
        estimate += f" and {preview.memory_mb:,.0f} MB" if preview.memory_mb else ""
        parts.append(f'<p class="estimate" role="status">Three steps were timed: {escape(estimate)}.</p>')
    return "".join(parts)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a scrollable table."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(str(key).replace('_', ' '))}</th>" for key in rows[0])
    body = "".join(
        "<tr>" + "".join(cell(cell_text(value) or empty_text(key, row)) for key, value in row.items()) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def cell(text: str) -> str:
    """A table cell; a long text gets more room."""
    wide = ' class="long"' if len(text) > WIDE_CELL else ""
    return f'<td dir="auto"{wide}>{escape(text)}</td>'


def empty_text(key: str, row: Mapping[str, Any]) -> str:
    """The text of an empty cell: “no answer” where a question has none."""
    return "no answer" if "question" in row and key in ("gold", "predicted", "said") else ""


def cell_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}".replace("-", "−")
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"


def headline(detail: RunDetail) -> str:
    """The name of the chosen run, its state and its warnings."""
    run = detail.run
    warned = {e["text"]: f"Step {e['step']:,}: {e['text']}." for e in current_warnings(detail.events)}
    notes = "".join(f'<p class="message busy">{escape(text)}</p>' for text in list(warned.values())[-3:])
    opens = ""
    if detail.best is not None:
        link = f"./?{escape(explore_query(detail), quote=True)}"
        opens = f'<p><a class="open" href="{link}">Open in Explore</a> · '
        after = (
            f"&amp;against=another+checkpoint&amp;versus=run:{run.id}"  # on the right, as changes read from the left
        )
        if run.task in ANSWERED and (early := first_snapshot(run)):
            earlier = link.replace(f"checkpoint=run:{run.id}", f"checkpoint={early}")
            opens += f'<a class="open" href="{earlier}{after}">Compare an earlier step’s answer with its own</a> · '
        before = f"./?text=The+film+was+a+joy.&amp;view=attention&amp;checkpoint=run:{run.id}@0"
        opens += f'<a class="open" href="{before}{after}">Compare its attention before and after training</a>'
        if run.task in VECTOR_TASKS:
            search = f"./?text=a+quiet+river&amp;view=search&amp;checkpoint=run:{run.id}"
            opens += f' · <a class="open" href="{search}">Search your lines with it</a>'
        opens += "</p>"
    status = f'<p class="state {run.state}" role="status">{escape(state_text(run))}</p>'
    return f'<h2 dir="auto">{escape(run.name)}</h2>{status}{pace(detail)}{notes}{opens}'


def first_snapshot(run: Run) -> str:
    """The name of the first snapshot of a run; "" if it has none."""
    names = [saved.name for saved in list_checkpoints(run)]
    return next((name for name in names if "@" in name and not name.endswith("@0")), "")


def explore_query(detail: RunDetail) -> str:
    """The query of a link that opens Explore on the checkpoint of a run: the view Answer with a row of its validation
    data, or Attention where it gives no answer."""
    run, row = detail.run, detail.example
    text = pair = ""
    for first, second in PAIRS.items():
        if row.get(first):
            text, pair = str(row[first]), str(row.get(second, ""))
    if not text and run.task in ANSWERED:
        text, _, pair = str(row.get("text", "")).partition(" [SEP] ")
    if not text:
        text, pair = "The film was a joy.", ""
    if not pair and run.task in (*VECTOR_TASKS, "reranking"):
        pair = OTHER
    query = {"view": "answer" if run.task in ANSWERED else "attention", "text": text}
    query |= {"pair": pair} if pair else {}
    return urlencode({**query, "checkpoint": f"run:{run.id}"}, safe=":")


def pace(detail: RunDetail) -> str:
    """The latest learning rate, speed and memory, with device and precision."""
    ready = next((e for e in reversed(detail.events) if e["event"] == "ready"), None)
    steps = [e for e in detail.events if e["event"] == "steps"]
    if not ready or not steps:
        return ""
    last = steps[-1]
    parts = [f"step {last['step']:,} of {ready['steps']:,}", f"learning rate {last['rate']:.1e}".replace("-", "−")]
    if len(steps) > 1 and (seconds := last["time"] - steps[-2]["time"]) > 0:
        examples = (last["epoch"] - steps[-2]["epoch"]) * ready["rows"] / seconds
        parts.append(f"{examples:,.0f} examples/s")
    parts.append(f"{last['tokens_per_second']:,.0f} tokens/s")
    if last.get("memory_mb"):
        parts.append(f"{last['memory_mb']:,.0f} MB")
    parts.append(f"{ready['precision']} on {ready['device']}")
    return f'<p class="pace">{escape(" · ".join(parts))}</p>'


def results(detail: RunDetail, labels: Mapping[str, str]) -> str:
    """The metrics of the best checkpoint and its tables."""
    if detail.about is None:
        return ""
    metrics = [{"metric": labels.get(key, key), "value": value} for key, value in detail.about["metrics"].items()]
    parts = [f"<h3>Best, at step {detail.about['step']:,}</h3>", table(metrics)]
    spec = detail.run.spec or {}
    count = spec.get("data", {}).get("dev")
    if isinstance(count, int) and BY_NAME[detail.run.task].METRIC == "accuracy":
        sentence = interval_sentence(detail.about["metrics"]["accuracy"], count, labels["accuracy"])
        parts.append(f'<p class="summary">{escape(sentence)}</p>')
    for title, rows in detail.about["tables"].items():
        parts.append(f"<details><summary>{escape(title)}</summary>{table(rows[:200])}</details>")
    parts.append(f"<details><summary>The same as a command</summary><pre>{escape(command(spec))}</pre></details>")
    return "".join(parts)


def command(spec: Mapping[str, Any]) -> str:
    """The command line that starts the same run."""
    tuning = " ".join(f"--{key.replace('_', '-')} {value}" for key, value in spec.get("tuning", {}).items())
    options = " ".join(f"{key}={value}" for key, value in spec.get("options", {}).items())
    mapping = " ".join(f"{key}={value!r}" for key, value in spec.get("data", {}).get("mapping", {}).items())
    return (
        f"python -m bertexplorer train --task {spec.get('task')} --checkpoint {spec.get('checkpoint')} "
        f"--data FILE --map {mapping} --set {options} {tuning}"
    )


def rows(predictions: Sequence[Mapping[str, Any]], title: str) -> str:
    """Validation rows, the highest loss first."""
    worst = sorted(predictions, key=lambda row: -(row.get("loss") or 0.0))[:MAX_ROWS]
    shown = [{key: value for key, value in row.items() if key != "right"} for row in worst]  # the title says it
    return f"<h3>{escape(title)}</h3>{table(shown)}" if shown else ""


def wrong_answers(predictions: Sequence[Mapping[str, Any]]) -> str:
    """The wrongly answered validation rows; if answers are neither right nor wrong, all rows."""
    wrong = [row for row in predictions if not row.get("right")]
    if predictions and not wrong:
        return '<p class="note">Every validation row was answered correctly.</p>'
    title = f"Wrong answers: {len(wrong):,} of {len(predictions):,} rows, the worst first"
    return rows(wrong, title if any("right" in row for row in wrong) else "The rows with the highest loss")


def answer(answer: Mapping[str, Any]) -> str:
    """The answer of the playground."""
    lines = answer.get("labels")
    if not isinstance(lines, list):
        lists = {
            key: [one if isinstance(one, dict) else {"answer": one} for one in value[:MAX_ROWS]]
            for key, value in answer.items()
            if value and isinstance(value, list)
        }
        parts = [f"<h3>{escape(key.replace('_', ' '))}</h3>{table(value)}" for key, value in lists.items()]
        rest = {key: value for key, value in answer.items() if not isinstance(value, list)}
        return (table([rest]) if rest else "") + "".join(parts)
    bars = ""
    for line in lines[:10]:
        share = f"{100 * line['probability']:.1f}"
        name = f'<b dir="auto">{escape(str(line["label"]))}</b>'
        bars += f'<li><span class="share" style="--p:{share}%"></span>{name}<span>{share} %</span></li>'
    return f'<ul class="shares">{bars}</ul>'


def text_columns(detail: RunDetail) -> list[Column]:
    """The columns that the playground asks for: the texts of a row and its features; at least one text."""
    texts = [column for column in BY_NAME[detail.run.task].COLUMNS if column.kind == "text"]
    mapping = (detail.run.spec or {}).get("data", {}).get("mapping", {})
    features = [Column(name, str(column), "feature") for name, column in mapping.items() if name.startswith(PREFIX)]
    return (texts or [Column("text", "Text", "text")]) + features


def start_choices(registry: CheckpointRegistry) -> list[tuple[str, str]]:
    """The checkpoints from which a run can start: those on this disk, and the best checkpoints of other runs."""
    return [(name, name) for name in registry.offline()] + registry.trained()


def in_cell(row: Mapping[str, Any], gold: str, predicted: str) -> bool:
    """Whether a row belongs to a cell of the confusion matrix, by its label or by any of its words."""
    if "gold_tags" not in row:
        return (row["gold"], row["predicted"]) == (gold, predicted)
    pairs = zip(row["gold_tags"], row["predicted_tags"], strict=True)
    return any((entity_type(right), entity_type(tag)) == (gold, predicted) for right, tag in pairs)


def entity_type(tag: str) -> str:
    """A tag without its B- or I-."""
    return tag[2:] if tag[:2] in ("B-", "I-") else tag or "O"
