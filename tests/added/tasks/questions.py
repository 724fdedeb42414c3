"""Questions: whether a text was a question, from its words without the mark at its end."""

from collections.abc import Sequence

from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow, cell_text, convert_rows
from bertexplorer.training.task import Column, Task
from bertexplorer.training.tasks.classification import METRICS, PER_CENT, Example, Options, baselines, inputs


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Example], list[RowProblem]]:
    def convert(row: Row) -> Example:
        text = cell_text(row.cells.get("text", "")).strip()
        if len(text) < 2:
            raise UnusableRow("has no text")
        return Example(row.line, (text[:-1],), ("question" if text.endswith("?") else "statement",))

    return convert_rows(rows, convert)


TASK = Task(
    name="questions",
    title="Questions",
    about="Whether a text was a question.",
    columns=(Column("text", "Text", "text"),),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="classification:Classifier",
    metric="accuracy",
    metrics=METRICS,
    per_cent=PER_CENT,
    baselines=baselines,
    defaults={"epochs": 2.0},
    can=("answers",),
    rows_of="classification",
    adapter_head="sequence_classifier",
)
