"""Distillation: a student with fewer layers learns the answers of its teacher, a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from bertexplorer.options import Option
from bertexplorer.training.data.rows import Row, RowProblem
from bertexplorer.training.task import Baselines, Column, Task
from bertexplorer.training.tasks import classification
from bertexplorer.training.tasks.classification import Example, inputs


@dataclass(frozen=True)
class Options:
    student_layers: Annotated[int, Option("Student layers", 0, 47, "0: half as many as the teacher")] = 0
    taken: Annotated[
        Literal["spread", "first"], Option("Layers taken from the teacher", info="spread: evenly, from first to last")
    ] = "spread"
    temperature: Annotated[float, Option("Temperature", 0.5, 20.0, "higher: unlikely labels count for more")] = 2.0
    soft: Annotated[float, Option("Soft targets", 0.0, 100.0, "weight of the teacher's probabilities")] = 5.0
    task: Annotated[float, Option("Hard labels", 0.0, 100.0, "weight of the rows' own labels")] = 2.0
    cosine: Annotated[float, Option("Cosine", 0.0, 100.0, "weight of the angle between last hidden states")] = 1.0


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Example], list[RowProblem]]:
    """As in classification with one label; pairs if any row has a second text."""
    columns = ("text", "text_b") if any(row.cells.get("text_b") for row in rows) else ("text",)
    return classification.examples(rows, classification.Options(), columns)


def baselines(train: Sequence[Example], dev: Sequence[Example], options: Options) -> Baselines:
    return classification.baselines(train, dev, classification.Options())


TASK = Task(
    name="distillation",
    title="Distillation",
    about="A smaller, quicker copy of a classifier: fewer of its layers learn to give the same answers.",
    columns=(
        Column("text", "Text", "text"),
        Column("label", "Label", "label"),
        Column("text_b", "Second text", "text", "where the teacher judges pairs", optional=True),
    ),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="distillation:Distiller",
    metric="accuracy",
    metrics={
        **classification.METRICS,
        "accuracy": "Student's accuracy",
        "teacher_accuracy": "Teacher's accuracy",
        "kept": "Student's accuracy as a share of the teacher's",
        "agreement": "Agreement with the teacher",
        "speed": "Speed relative to the teacher, measured",
        "size": "Parameters as a share of the teacher's",
    },
    per_cent=(*classification.PER_CENT, "teacher_accuracy", "agreement"),
    baselines=baselines,
    defaults={"epochs": 5.0},
    can=("answers",),
    rows_of="classification",
)
