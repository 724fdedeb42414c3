"""A fine-tuning task: one object, which a module of training/tasks makes. Torch is not imported, so that a page or a
command line that lists the tasks starts quickly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Required, TypedDict, TypeVar

from bertexplorer.training.data.rows import Row, RowProblem

E = TypeVar("E")
S = TypeVar("S")
Baselines = dict[str, tuple[str, float]]  # metric -> (name, value) of what needs no training
# What a column holds. By it, the column of a file is guessed (data/guess.py), and the file is described before a run
# (finetuning/preflight.py): of a "label" or "labels" the values are counted and spread evenly over the split, of a
# "number" decimal commas are named.
Kind = Literal["text", "label", "labels", "number", "tokens", "tags", "answers", "feature"]
Ability = Literal[
    "answers",  # its runs answer in Explore
    "two texts",  # and need two texts for it
    "vectors",  # it trains vectors of texts, and no head
    "generates",  # its answers are texts
    "suspects",  # rows with a doubtful label can be found; its learner is a Traceable
    "traces",  # the rows that taught an answer can be found; its learner is a Traceable
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
    """Rows: true labels; columns: predicted labels; entries: number of examples. The *labels* are `gold` and
    `predicted` of the rows, letter by letter: a press on a cell lists the rows that have both."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class EvaluatedRow(TypedDict, total=False):
    """A validation row with its answer: a line of predictions.jsonl, and a row of the tables that a run shows.

    Here are the columns that mean the same in every task. A task has those that it needs, and adds its own in a
    subclass, beside its learner. Two runs are compared row by row (finetuning/compare.py): rows are the same if their
    line, input and gold are, and the first of `f1`, `score`, `right` and `loss` that both runs have decides. So a
    predicted number is not called `score`."""

    line: Required[int]  # in the file, from 1
    # The input; one of the rows opens Explore (runs/report.py)
    text: str
    text_a: str
    text_b: str
    query: str
    question: str
    context: str
    # The answer, as text or as a number
    gold: Required[str | float]
    predicted: Required[str | float]
    # How good it is: of the first three more is better, of the loss less
    f1: float  # 0 to 1
    score: float  # 0 to 1
    right: bool  # the wrong rows are listed (runs/report.py)
    loss: float  # nats per decision; NaN if there is none
    cut: int  # tokens of the input beyond the limit, which were not read


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation. *metrics*: keys of Task.metrics, among them the headline, Task.metric, and "loss"
    (nats per decision); *rows*: one for each example; *tables*: title -> rows of a further table, such as one for each
    class, as plain JSON."""

    metrics: dict[str, float]
    rows: Sequence[EvaluatedRow]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    confusion: Confusion | None = None


def no_baselines(train: Sequence[Any], dev: Sequence[Any], options: Any) -> Baselines:
    """None is known without training."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Task(Generic[E, S]):
    """A task: what it is, what its rows are, how it is measured, and what its runs can do. E is an example, a row as
    its learner takes it; S are its settings."""

    name: str  # as on the command line
    title: str
    about: str  # one sentence
    columns: tuple[Column, ...]  # of its rows
    options: type[S]  # the dataclass of its settings
    examples: Callable[[Sequence[Row], S], tuple[list[E], list[RowProblem]]]  # the usable rows; why others are not
    inputs: Callable[[E], list[tuple[str, ...]]]  # the texts that are cut at max_tokens, each alone or as a pair
    learner: str  # its class: module:name, below training/learners
    metric: str  # the headline metric: a key of *metrics*
    metrics: Mapping[str, str]  # metric -> its name

    per_cent: tuple[str, ...] = ()  # of *metrics*, those that people read in per cent, as shares and correlations
    higher: bool = True  # whether a higher *metric* is better
    baselines: Callable[[Sequence[E], Sequence[E], S], Baselines] = no_baselines  # of the rows to train and to test on
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of Tuning that differ
    can: tuple[Ability, ...] = ()
    features: bool = False  # whether it can use further columns of a row
    split_by: tuple[str, ...] = ()  # rows that agree in these columns stay on one side of a split; (): in all texts
    rows_of: str = ""  # the task whose built-in rows in assets/data it shares; "": it has its own
    adapter_head: str = ""  # the head that a run with LoRA saves beside its matrices; "" if its answers need more
    candidates: int = 0  # passages for each query that BM25 adds to those of "judgements"

    @property
    def built_in_rows(self) -> str:
        """The name of its file in assets/data."""
        return self.rows_of or self.name


AnyTask = Task[Any, Any]
