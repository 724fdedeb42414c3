"""Extractive summary: a score for each sentence of a document; the best ones are its summary. ROUGE compares it with
the given one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from bertexplorer.options import Option
from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow, cell_text, convert_rows
from bertexplorer.training.pretraining.sentences import split_sentences
from bertexplorer.training.ranking import words
from bertexplorer.training.task import Baselines, Column, Task

KINDS = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeLsum"}  # metric -> name in rouge-score


@dataclass(frozen=True)
class Options:
    sentences: Annotated[int, Option("Sentences", 1, 50, "of a summary")] = 3
    pooling: Annotated[
        Literal["mean", "cls"], Option("Pooling", info="the mean over a sentence's tokens, or the vector of its [CLS]")
    ] = "mean"
    blocking: Annotated[
        bool, Option("Trigram blocking", info="skip sentences that share three words in a row with a better one")
    ] = True


@dataclass(frozen=True)
class Example:
    line: int
    document: tuple[str, ...]  # sentences
    summary: tuple[str, ...]
    chosen: tuple[int, ...]  # the sentences closest to the summary


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Example], list[RowProblem]]:
    """(the examples, the rows that cannot be used). A row is a problem without a document of at least two sentences,
    without a summary, or if they share no word."""

    def convert(row: Row) -> Example:
        document = cell_sentences(row.cells.get("document", ""))
        summary = cell_sentences(row.cells.get("summary", ""))
        if not document:
            raise UnusableRow("has no document")
        if not summary:
            raise UnusableRow("has no summary")
        if len(document) < 2:
            raise UnusableRow("has a document of one sentence; wanted at least two")
        closest = oracle_sentences(document, " ".join(summary), options.sentences)  # indices of sentences
        if not closest:
            raise UnusableRow("has a summary that shares no word with the document")
        return Example(row.line, document=tuple(document), summary=tuple(summary), chosen=tuple(closest))

    return convert_rows(rows, convert)


def inputs(example: Example) -> list[tuple[str, ...]]:
    """The document; the summary is not read."""
    return [(" ".join(example.document),)]


def cell_sentences(cell: Any) -> list[str]:
    """The sentences of a cell, a text or a list of texts."""
    sentences = []
    for text in cell if isinstance(cell, list) else [cell]:
        sentences += document_sentences(cell_text(text))
    return sentences


def baselines(train: Sequence[Example], dev: Sequence[Example], options: Options) -> Baselines:
    """The first sentences."""
    rouge = Rouge()
    name = f"Lead-{options.sentences}"
    scores = [rouge.score(example.document[: options.sentences], example.summary) for example in dev]
    return {key: (name, float(np.mean([row[key] for row in scores]))) for key in KINDS}


def document_sentences(text: str) -> list[str]:
    """The sentences of a text. A line break ends a sentence."""
    return [sentence for line in re.split(r"[\r\n]+", text) for sentence in split_sentences(line.strip())]


def ngrams(text: str, n: int) -> Counter[tuple[str, ...]]:
    """How often each run of *n* words occurs in *text*."""
    tokens = words(text)
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))


def ngram_f1(predicted: Counter[tuple[str, ...]], gold: Counter[tuple[str, ...]]) -> float:
    """ROUGE-N: F1 of the n-grams, with their counts (Lin, 2004)."""
    total = predicted.total() + gold.total()
    return 2 * (predicted & gold).total() / total if total else 0.0


def oracle_sentences(document: Sequence[str], summary: str, max_sentences: int) -> list[int]:
    """Up to *max_sentences* sentences of *document*, in its order, chosen greedily while each adds to ROUGE-1 + ROUGE-2
    against *summary* (Nallapati et al., 2017, section 3.2; Liu, 2019)."""
    gold = [ngrams(summary, n) for n in (1, 2)]
    grams = [[ngrams(sentence, n) for n in (1, 2)] for sentence in document]
    chosen: list[int] = []
    covered = [Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()]  # n-grams of the chosen sentences
    best = 0.0  # their ROUGE-1 + ROUGE-2
    while len(chosen) < max_sentences:
        scores = {}  # sentence -> ROUGE-1 + ROUGE-2 with it
        for i, (unigrams, bigrams) in enumerate(grams):
            if i not in chosen:
                rouge_1 = ngram_f1(covered[0] + unigrams, gold[0])
                scores[i] = rouge_1 + ngram_f1(covered[1] + bigrams, gold[1])
        top = max(scores, key=lambda i: scores[i], default=-1)
        if top < 0 or scores[top] <= best:
            break
        best = scores[top]
        chosen.append(top)
        covered = [covered[0] + grams[top][0], covered[1] + grams[top][1]]
    return sorted(chosen)


def choose_sentences(document: Sequence[str], scores: Sequence[float], count: int, *, blocking: bool) -> list[int]:
    """The *count* sentences with the highest scores, in the order of *document*. *blocking*: skip a sentence that
    shares three consecutive words with a better one (Paulus et al., 2018)."""
    chosen: list[int] = []
    used: set[tuple[str, ...]] = set()
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        trigrams = set(ngrams(document[i], 3))
        if len(chosen) < count and not (blocking and trigrams & used):
            chosen.append(i)
            used |= trigrams
    return sorted(chosen)


class Rouge:
    """ROUGE F1 as rouge-score counts it, with stemming; ROUGE-L over the sentences of a summary."""

    def __init__(self) -> None:
        from rouge_score.rouge_scorer import RougeScorer

        self.scorer = RougeScorer(list(KINDS.values()), use_stemmer=True)

    def score(self, predicted: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
        """F1 of the *predicted* sentences against those of *gold*."""
        scores = self.scorer.score("\n".join(gold), "\n".join(predicted))
        return {key: float(scores[kind].fmeasure) for key, kind in KINDS.items()}


TASK = Task(
    name="summary",
    title="Extractive summary",
    about="Picks the sentences of a document that sum it up.",
    columns=(
        Column("document", "Document", "text", "a text, or a list of sentences"),
        Column("summary", "Summary", "text", "in any words; the closest sentences become the targets"),
    ),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="summary:Summariser",
    metric="rouge_2",
    metrics={
        "rouge_1": "ROUGE-1",
        "rouge_2": "ROUGE-2",
        "rouge_l": "ROUGE-L",
        "oracle_rouge_2": "ROUGE-2 of the best sentences",
        "precision": "Precision of the picked sentences",
        "loss": "Loss",
    },
    per_cent=("rouge_1", "rouge_2", "rouge_l", "oracle_rouge_2", "precision"),
    baselines=baselines,
    defaults={"max_tokens": 512, "batch": 8},
    split_by=("document",),
)
