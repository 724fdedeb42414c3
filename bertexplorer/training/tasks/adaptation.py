"""Domain adaptation: further masked language modelling on one's own texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bertexplorer.engine.masking import Masking
from bertexplorer.model.text import clean
from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow, cell_text, convert_rows
from bertexplorer.training.task import Ability, Column

TITLE = "Domain adaptation"
ABOUT = "More of BERT's own training, on your own texts: words are masked and predicted."
COLUMNS = (Column("text", "Text", "text"),)
METRIC, HIGHER = "perplexity", False
METRICS = {
    "perplexity": "Perplexity at the masks",
    "accuracy": "Accuracy at the masks",
    "general_perplexity": "Perplexity on plain sentences: forgetting",
    "general_accuracy": "Accuracy at the masks of plain sentences",
    "unigram_perplexity": "Perplexity by word counts alone",
    "loss": "Loss",
}
Options = Masking
LEARNER, ROWS = "adaptation:MaskedLanguageLearner", "adaptation"
USES_FEATURES = False
CAN: frozenset[Ability] = frozenset()
ADAPTER_HEAD = ""
CANDIDATES = 0
SPLIT_BY: tuple[str, ...] = ()
DEFAULTS: dict[str, Any] = {"rate": 5e-5, "batch": 16}


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


def baselines(train: Sequence[Example], dev: Sequence[Example], options: Options) -> dict[str, tuple[str, float]]:
    """None: the unigram baseline needs the tokenizer and is a metric of each evaluation."""
    return {}
