"""What a fine-tuning task is: a module of training/tasks with the names of Task. Torch is not imported for it, so that
a page or a command line that lists the tasks comes up quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from bertexplorer.training.data.rows import Problem, Row

Kind = Literal["text", "label", "labels", "number", "tokens", "tags", "answers", "feature"]


@dataclass(frozen=True)
class Column:
    """What a row needs, as a person reads it. *optional*: a file may lack it."""

    name: str
    label: str
    kind: Kind
    info: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Confusion:
    """How many examples of the label of a row were given the label of a column."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Evaluation:
    """How well a learner does. *rows*: per example its line, what was given, gold and predicted, as plain JSON;
    *tables*: more tables by their title, such as one row a class."""

    metrics: dict[str, float]
    rows: list[dict[str, Any]]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    confusion: Confusion | None = None


class Task(Protocol):
    """A module of training/tasks."""

    TITLE: str
    ABOUT: str  # one sentence
    COLUMNS: tuple[Column, ...]
    METRIC: str  # the headline: a key of METRICS
    METRICS: dict[str, str]  # key -> words
    HIGHER: bool  # whether more of METRIC is better
    Options: type
    DEFAULTS: dict[str, Any]  # settings of Tuning that differ here

    def examples(self, rows: Sequence[Row], options: Any) -> tuple[list[Any], list[Problem]]:
        """What can be learnt from, and what is wrong with the other rows."""
        ...

    def floors(self, train: Sequence[Any], dev: Sequence[Any], options: Any) -> dict[str, tuple[str, float]]:
        """Metric -> (name, value) of what is reached without learning."""
        ...
