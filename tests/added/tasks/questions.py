"""Questions: whether a text was a question, from its words without the mark at its end."""

from collections.abc import Sequence
from typing import Any

from bertexplorer.training.data.rows import Row, UnusableRow, cell_text, convert_rows
from bertexplorer.training.task import Ability, Column
from bertexplorer.training.tasks.classification import (
    METRICS as METRICS,
    Example,
    Options as Options,
    baselines as baselines,
    inputs as inputs,
)

TITLE = "Questions"
ABOUT = "Whether a text was a question."
COLUMNS = (Column("text", "Text", "text"),)
METRIC, HIGHER = "accuracy", True
LEARNER, ROWS = "classification:Classifier", "classification"
USES_FEATURES = False
CAN: frozenset[Ability] = frozenset({"answers"})
ADAPTER_HEAD = "sequence_classifier"
CANDIDATES = 0
SPLIT_BY: tuple[str, ...] = ()
DEFAULTS: dict[str, Any] = {"epochs": 2.0}


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Any], list[Any]]:
    def convert(row: Row) -> Example:
        text = cell_text(row.cells.get("text", "")).strip()
        if len(text) < 2:
            raise UnusableRow("has no text")
        return Example(row.line, (text[:-1],), ("question" if text.endswith("?") else "statement",))

    return convert_rows(rows, convert)
