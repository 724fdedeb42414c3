"""Source to target: [CLS] source [SEP] target [SEP]; the source is read in both directions, the target written left to
right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from bertexplorer.model.text import clean
from bertexplorer.options import Option
from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow, cell_text, convert_rows
from bertexplorer.training.task import Baselines, Column, Task


@dataclass(frozen=True)
class Options:
    longest: Annotated[
        int, Option("Maximum target length", 0, 512, "in tokens; 0: that of the longest training target")
    ] = 0
    beams: Annotated[int, Option("Beam width", 1, 8, "1: greedy")] = 4
    penalty: Annotated[float, Option("Length penalty", 0.0, 2.0, "0: none; higher: longer targets")] = 0.6
    shown: Annotated[
        int, Option("Generated rows", 1, 100_000, "first rows to generate at an evaluation; the loss covers all")
    ] = 100


@dataclass(frozen=True)
class Example:
    line: int
    source: str
    target: str


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Example], list[RowProblem]]:
    """A row without one of its texts is a problem."""

    def convert(row: Row) -> Example:
        source, target = (clean(cell_text(row.cells.get(name, "")))[0].strip() for name in ("source", "target"))
        if not source or not target:
            raise UnusableRow(f"has no {'target' if source else 'source'}")
        return Example(row.line, source, target)

    return convert_rows(rows, convert)


def inputs(example: Example) -> list[tuple[str, ...]]:
    """The source with its target."""
    return [(example.source, example.target)]


def baselines(train: Sequence[Example], dev: Sequence[Example], options: Options) -> Baselines:
    """The source, copied."""
    rows = dev[: options.shown]
    if not rows:
        return {}
    metrics = compare_texts([example.source for example in rows], [example.target for example in rows])[0]
    return {key: ("the source, copied", value) for key, value in metrics.items()}


def compare_texts(written: Sequence[str], gold: Sequence[str]) -> tuple[dict[str, float], list[float]]:
    """(metrics, chrF of each pair), all from 0 to 1: chrF2 by sacrebleu (Popović, 2015); ROUGE-L by rouge_score (Lin,
    2004), which reads only Latin letters and digits."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.chrf import CHRF

    chrf, rouge = CHRF(), RougeScorer(["rougeL"])
    scores = []  # chrF of each pair
    rouge_l = []
    exact = 0
    for text, reference in zip(written, gold, strict=True):
        scores.append(chrf.sentence_score(text, [reference]).score / 100)
        rouge_l.append(rouge.score(reference, text)["rougeL"].fmeasure)
        exact += text == reference
    metrics = {
        "chrf": chrf.corpus_score(list(written), [list(gold)]).score / 100,
        "rouge_l": sum(rouge_l) / len(rouge_l),
        "exact": exact / len(gold),
    }
    return metrics, scores


TASK = Task(
    name="sequence",
    title="Source to target",
    about="A text written from another one: a translation, a summary in new words, a rewrite.",
    columns=(Column("source", "Source", "text"), Column("target", "Target", "text")),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="sequence:SequenceLearner",
    metric="chrf",
    metrics={
        "chrf": "chrF: F2 of character 1- to 6-grams",
        "rouge_l": "ROUGE-L: F1 of the longest common subsequence",
        "exact": "Exact matches, of targets as the tokenizer writes them",
        "accuracy": "Next-token accuracy, given the true tokens before",
        "loss": "Loss",
        "written": "Rows generated",
    },
    per_cent=("chrf", "rouge_l", "exact", "accuracy"),
    baselines=baselines,
    defaults={"batch": 16},
    can=("generates",),
    split_by=("source",),
)
