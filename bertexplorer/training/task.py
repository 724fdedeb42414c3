"""The interface of a fine-tuning task, a module of training/tasks. Torch is not imported, so that a page or a command
line that lists the tasks starts quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from bertexplorer.training.data.rows import Row, RowProblem

Kind = Literal["text", "label", "labels", "number", "tokens", "tags", "answers", "feature"]
Ability = Literal[
    "answers",  # its runs answer in Explore
    "two texts",  # and need two texts for it
    "vectors",  # it trains vectors of texts, and no head
    "generates",  # its answers are texts
    "suspects",  # rows with a doubtful label can be found
    "traces",  # the rows that taught an answer can be found
    "judgements",  # its rows may be three files: queries, documents and judgements
]


@dataclass(frozen=True)
class Column:
    """A column that the rows of a task have. *optional*: a file may lack it."""

    name: str
    label: str
    kind: Kind
    info: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Confusion:
    """Rows: true labels; columns: predicted labels; entries: number of examples."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation. *rows*: per example its line, input, gold and predicted, as plain JSON; *tables*:
    further tables by title, such as one row per class."""

    metrics: dict[str, float]
    rows: list[dict[str, Any]]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    confusion: Confusion | None = None


class Task(Protocol):
    """A module of training/tasks."""

    __name__: str
    TITLE: str
    ABOUT: str  # one sentence
    METRIC: str  # the headline metric: a key of METRICS
    METRICS: dict[str, str]  # metric -> its name
    HIGHER: bool  # whether a higher METRIC is better
    DEFAULTS: dict[str, Any]  # defaults of Tuning that differ
    LEARNER: str  # its class: module:name, below training/learners
    ROWS: str  # the name of its built-in rows in assets/data
    USES_FEATURES: bool  # whether it can use further columns of a row
    CAN: frozenset[Ability]
    ADAPTER_HEAD: str  # the head that a run with LoRA saves beside its matrices; "" if its answers need more than these
    CANDIDATES: int  # passages for each query that BM25 adds to those of "judgements"
    SPLIT_BY: tuple[str, ...]  # rows that agree in these columns stay on one side of a split; empty: in all texts

    @property
    def COLUMNS(self) -> tuple[Column, ...]:
        """The columns of its rows."""

    @property
    def Options(self) -> type[Any]:
        """The dataclass of its settings."""

    def examples(self, rows: Sequence[Row], options: Any) -> tuple[list[Any], list[RowProblem]]:
        """(the usable examples, the problems of the other rows)."""
        ...

    def inputs(self, example: Any) -> list[tuple[str, ...]]:
        """The texts of *example* that are cut at max_tokens, each alone or as a pair; none if all are read in parts."""
        ...

    def baselines(self, train: Sequence[Any], dev: Sequence[Any], options: Any) -> dict[str, tuple[str, float]]:
        """Baselines without training: metric -> (name, value)."""
        ...
