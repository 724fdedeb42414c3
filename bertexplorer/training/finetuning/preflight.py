"""Preflight: plan a run before it starts, from settings and rows, with findings for the user."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data import checks
from bertexplorer.training.data.guess import NUMBER, guess_columns, guess_reasons
from bertexplorer.training.data.rows import Row, RowProblem, Table, map_columns
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.compare import sample_size_warning
from bertexplorer.training.finetuning.spec import Spec, Tuning
from bertexplorer.training.task import AnyTask
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.wording import counted

if TYPE_CHECKING:
    from bertexplorer.model.text import Tokenizer

SHARE = 0.1  # share of the rows used for validation if there is no validation file
LABELS = ("label", "labels")
MAX_MEASURED = 2000  # rows whose lengths are checked


@dataclass(frozen=True)
class Preflight:
    """The usable rows for training and validation."""

    mapping: dict[str, str]  # column of the task -> column of the file
    train: list[Row]
    examples: list[Any]  # of the training rows
    dev: list[Row]
    problems: list[RowProblem]  # of the rows that cannot be used
    findings: list[checks.Finding]  # remarks on the others
    labels: dict[str, int]  # label -> rows to learn from
    summary: str  # how the files were read
    reasons: dict[str, str]  # column of the task -> the reason for the guess of its column in the file

    @property
    def columns_in_words(self) -> str:
        """Which column of the file each column of the task is, with the reason if it was guessed."""
        parts = []
        for name, column in self.mapping.items():
            reason = self.reasons.get(name, "")
            parts.append(f"{name}={column} ({reason})" if reason else f"{name}={column}")
        return ", ".join(parts)

    @property
    def stops(self) -> list[str]:
        """The reasons why the run cannot start."""
        return [finding.render() for finding in self.findings if finding.stops]


class UsableRows(NamedTuple):
    """The rows of a file that a task can use, its examples of them, and the problems of the other rows."""

    rows: list[Row]
    examples: list[Any]
    problems: list[RowProblem]


def preflight(
    spec: Spec,
    table: Table,
    dev_table: Table | None = None,
    *,
    mapping: Mapping[str, str] | None = None,
    tokenizer: "Tokenizer | None" = None,
) -> Preflight:
    """Check the rows of a run. *mapping*: {column of the task: column of the file}; None: guessed.

    Raises ExplorerError if a column is missing or no row can be used."""
    task, options = spec.definition, spec.task_options

    # 1. Which column is which, and the rows that can be used
    columns = dict(mapping) if mapping is not None else guess_columns(table, task.columns)
    guesses = guess_reasons(table, task.columns, columns)
    usable = usable_rows(task, table, columns, options)
    rows, problems = usable.rows, usable.problems
    label = next((column.name for column in task.columns if column.kind in LABELS and not column.optional), None)
    texts = [column.name for column in task.columns if column.kind in ("text", "tokens")]
    numbers = [column.name for column in task.columns if column.kind == "number"]
    several = getattr(options, "labels", "one") == "several"

    # 2. Rows to train and to test on
    summary = table.summary
    if dev_table is None:
        stratum = None if several else label
        train, dev = checks.split_rows(rows, SHARE, spec.tuning.seed, label=stratum, keys=task.split_by or texts)
    else:
        train = rows
        usable_dev = usable_rows(task, dev_table, columns, options)
        dev = usable_dev.rows
        for problem in usable_dev.problems:
            problems.append(RowProblem(problem.line, f"(validation) {problem.what}"))
        summary += f"Validation: {dev_table.summary}"

    # 3. What people should know before they start
    findings = []
    if label:
        findings += number_findings(rows, table, label, several, guessed=mapping is None)
    findings += checks.row_findings(train, dev, texts, label, several)
    findings += checks.comma_findings(rows, numbers)
    if tokenizer is not None:
        findings += truncation_findings(task, usable.examples[:MAX_MEASURED], tokenizer, spec.tuning.max_tokens)
    warning = sample_size_warning(len(dev), task.metrics[task.metric], is_share=task.metric == "accuracy")
    if warning:
        findings.append(checks.Finding(warning))

    lines = {row.line for row in train}
    return Preflight(
        mapping=columns,
        train=train,
        examples=[example for example in usable.examples if example.line in lines],
        dev=dev,
        problems=problems,
        findings=findings,
        labels=checks.label_counts(train, label, several) if label else {},
        summary=summary,
        reasons=guesses,
    )


def plan(
    task: str,
    checkpoint: tuple[str, Path],
    table: Table,
    dev: Table | None,
    *,
    values: Mapping[str, Any],
    mapping: Mapping[str, str] | None,
    file: str,
    name: str,
    tokenizer: "Tokenizer | None" = None,
) -> tuple[Spec, Preflight]:
    """The settings of a run and its rows. *checkpoint*: name and folder; *values*: settings of Tuning and of the task;
    *file*: name of the file of the rows. Without epochs among the *values*, a small file gets as many as make
    `specs.ENOUGH_STEPS`. Raises ExplorerError as `specs.make_spec` and `preflight` do."""
    spec = specs.make_spec(task, checkpoint[0], str(checkpoint[1]), values, name=name)
    result = preflight(spec, table, dev, mapping=mapping, tokenizer=tokenizer)
    rows = len(result.train)
    epochs = specs.enough_epochs(spec.tuning, rows)
    is_free = "epochs" not in values  # nobody chose them
    if epochs > spec.tuning.epochs:
        result.findings.append(few_steps_finding(spec.tuning, rows, epochs, chosen=is_free))
    if is_free:
        spec = replace(spec, tuning=replace(spec.tuning, epochs=epochs))
    data: dict[str, Any] = {
        "file": file,
        "summary": result.summary,
        "mapping": result.mapping,
        "skipped": len(result.problems),
        "train": rows,
        "dev": len(result.dev),
    }
    return replace(spec, data=data), result


def usable_rows(task: AnyTask, table: Table, mapping: Mapping[str, str], options: Any) -> UsableRows:
    """The rows of *table* that *task* can use. Raises ExplorerError if there is none."""
    rows = map_columns(table, mapping, task.columns)
    examples, unusable = task.examples(rows, options)
    problems = sorted([*table.problems, *unusable], key=lambda problem: problem.line)
    if not examples:
        first = f" The first: {table.unit} {problems[0].line} {problems[0].what}." if problems else ""
        raise ExplorerError(f"No row can be used.{first} Check the choice of columns.")
    usable_lines = {example.line for example in examples}
    return UsableRows([row for row in rows if row.line in usable_lines], examples, problems)


def number_findings(
    rows: Sequence[Row], table: Table, label: str, several: bool, *, guessed: bool
) -> list[checks.Finding]:
    """A finding if the labels of *rows* are numbers that look like scores: all different, or with decimals. It prevents
    the run if they are all different, or if nobody chose the column (*guessed*). It names the task that fits."""
    labels = [name for row in rows for name in checks.row_labels(row, label, several)]
    values = list(dict.fromkeys(labels))  # the different ones, in their order
    are_numbers = all(map(NUMBER.fullmatch, values))
    if len(values) < 3 or not are_numbers:
        return []
    all_different = len(values) == len(labels)
    are_whole = all(float(value.replace(",", ".")) % 1 == 0 for value in values)
    if are_whole and not all_different:
        return []
    what = f"The labels are {len(values):,} different numbers, such as {values[0]} and {values[1]}"
    fitting = [name for name, task in BY_NAME.items() if learns_numbers(task, table)]
    if fitting:
        advice = f"The task {fitting[0]} learns scores from this file. Choose it, or another column as the label."
    else:
        advice = "No task learns a score from one text. Group the numbers into a few classes, or choose another column."
    return [checks.Finding(f"{what}: scores, not classes. {advice}", stops=all_different or guessed)]


def learns_numbers(task: AnyTask, table: Table) -> bool:
    """Whether *task* learns numbers, and *table* has all the columns that it needs."""
    needed = {column.name: column.kind for column in task.columns if not column.optional}
    return "number" in needed.values() and needed.keys() <= guess_columns(table, task.columns).keys()


def few_steps_finding(tuning: Tuning, rows: int, epochs: float, *, chosen: bool) -> checks.Finding:
    """How few steps the epochs of *tuning* are, and that *epochs* are *chosen* instead, or would be enough."""
    steps = specs.number_of_steps(tuning, rows)
    more = specs.number_of_steps(replace(tuning, epochs=epochs), rows)
    number = counted(steps, "step")
    few = f"{tuning.epochs:g} epochs over {rows:,} rows would be {number}, too few to learn much"
    if chosen:  # the preview says how many there are
        return checks.Finding(f"{few}, so the run has more.")
    return checks.Finding(f"{few}; try {epochs:g} epochs, which are {more:,} steps.")


def truncation_findings(
    task: AnyTask, examples: Sequence[Any], tokenizer: "Tokenizer", max_tokens: int
) -> list[checks.Finding]:
    """A finding if texts of *examples* are cut."""
    from bertexplorer.training.texts import LimitedTokenizer

    items = LimitedTokenizer(tokenizer, max_tokens).items([text for row in examples for text in task.inputs(row)])
    share = sum(item.left_out > 0 for item in items) / max(1, len(items))
    if not share:
        return []
    return [checks.Finding(f"{share:.0%} of the texts are longer than {max_tokens} tokens and are cut there.")]
