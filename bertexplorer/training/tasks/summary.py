"""Extractive summary: a score for each sentence of a document; the best ones are its summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from bertexplorer.options import Option
from bertexplorer.training.data.rows import Problem, Row, Unfit, converted, written
from bertexplorer.training.extract import KINDS, Rouge, oracle, split
from bertexplorer.training.task import Column

TITLE = "Extractive summary"
ABOUT = "Picks the sentences of a document that sum it up."
COLUMNS = (
    Column("document", "Document", "text", "a text, or a list of sentences"),
    Column("summary", "Summary", "text", "in any words; the closest sentences become the targets"),
)
METRIC, HIGHER = "rouge_2", True
METRICS = {
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "oracle_rouge_2": "ROUGE-2 of the best sentences",
    "precision": "Sentences that were to be picked",
    "loss": "Loss",
}
DEFAULTS: dict[str, Any] = {"max_tokens": 512, "batch": 8}


@dataclass(frozen=True)
class Options:
    sentences: Annotated[int, Option("Sentences", 1, 50, "of a summary")] = 3
    pooling: Annotated[
        Literal["mean", "cls"], Option("Vector of a sentence", info="the mean over its tokens, or that of its [CLS]")
    ] = "mean"
    blocking: Annotated[
        bool, Option("Block repetitions", info="no sentence that shares three words in a row with a better one")
    ] = True


@dataclass(frozen=True)
class Example:
    line: int
    document: tuple[str, ...]  # sentences
    summary: tuple[str, ...]
    chosen: tuple[int, ...]  # the sentences closest to the summary


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Example], list[Problem]]:
    """A row is a problem without a document of at least two sentences, without a summary, or if they share no word."""

    def convert(row: Row) -> Example:
        document, summary = (sentences(row.cells.get(column, "")) for column in ("document", "summary"))
        if not document or not summary:
            raise Unfit(f"has no {'summary' if document else 'document'}")
        if len(document) < 2:
            raise Unfit("has a document of one sentence; wanted two at least")
        chosen = oracle(document, " ".join(summary), options.sentences)
        if not chosen:
            raise Unfit("has a summary that shares no word with the document")
        return Example(row.line, tuple(document), tuple(summary), tuple(chosen))

    return converted(rows, convert)


def sentences(cell: Any) -> list[str]:
    """The sentences of a cell."""
    return [part for text in (cell if isinstance(cell, list) else [cell]) for part in split(written(text))]


def floors(train: Sequence[Example], dev: Sequence[Example], options: Options) -> dict[str, tuple[str, float]]:
    """The first sentences."""
    rouge = Rouge()
    found = [rouge.score(example.document[: options.sentences], example.summary) for example in dev]
    return {key: (f"Lead-{options.sentences}", float(np.mean([one[key] for one in found]))) for key in KINDS}
