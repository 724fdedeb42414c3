"""Domain adaptation: further masked language modelling on one's own texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bertexplorer.engine.masking import Masking
from bertexplorer.model.text import clean
from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow, cell_text, convert_rows
from bertexplorer.training.task import Column, Task

Options = Masking


@dataclass(frozen=True)
class Example:
    line: int
    text: str


def examples(rows: Sequence[Row], options: Any) -> tuple[list[Example], list[RowProblem]]:
    """A row without visible text is a problem."""

    def convert(row: Row) -> Example:
        text = clean(cell_text(row.cells.get("text", "")))[0].strip()
        if not text:
            raise UnusableRow("has no text")
        return Example(row.line, text)

    return convert_rows(rows, convert)


def inputs(example: Example) -> list[tuple[str, ...]]:
    """None: a long text is read in parts."""
    return []


# The unigram baseline needs the tokenizer, so it is a metric of each evaluation
TASK = Task(
    name="adaptation",
    title="Domain adaptation",
    about="More of BERT's own training, on your own texts: words are masked and predicted.",
    columns=(Column("text", "Text", "text"),),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="adaptation:MaskedLanguageLearner",
    metric="perplexity",
    metrics={
        "perplexity": "Perplexity at the masks",
        "accuracy": "Accuracy at the masks",
        "general_perplexity": "Perplexity on plain sentences: forgetting",
        "general_accuracy": "Accuracy at the masks of plain sentences",
        "unigram_perplexity": "Perplexity by word counts alone",
        "loss": "Loss",
    },
    per_cent=("accuracy", "general_accuracy"),
    higher=False,
    defaults={"rate": 5e-5, "batch": 16},
)
