"""A suite on the page: the confusion matrix, and each case in its view."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from bertexplorer.core.ask import DEFAULTS, Answerer
from bertexplorer.core.state import State
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views.suite import show as figure, table as suite_table
from bertexplorer.views.suite.cases import Case
from bertexplorer.views.suite.compute import Suite, confusion_matrix, summary
from bertexplorer.views.suite.scores import CaseOutcome
from tests.conftest import Tiny

TUNED = "bert-SequenceClassification"


def labelled(count: int, names: int, seed: int = 0) -> Suite:
    """Rows with random labels and answers, some of them correct."""
    draw = np.random.default_rng(seed)
    outcomes = []
    for line in range(count):
        gold = f"label {draw.integers(names)}"
        predicted = gold if draw.random() < 0.6 else f"label {draw.integers(names)}"
        outcomes.append(
            CaseOutcome(Case("labels", line, "", (f"text {line}",), (gold,)), gold == predicted, -1.0, predicted)
        )
    return summary("rows", "labels", "whole sentence", 1 / names, outcomes, [], 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [2, 5, 30])
def test_the_confusion_matrix_equals_scikit_learns(names: int) -> None:
    result = labelled(200, names)
    labels, counts = confusion_matrix(result)
    gold, predicted = (
        [outcome.case.answers[0] for outcome in result.outcomes],
        [outcome.said for outcome in result.outcomes],
    )
    assert np.array_equal(counts, metrics.confusion_matrix(gold, predicted, labels=labels))
    assert [gold.count(label) for label in labels] == sorted((gold.count(label) for label in labels), reverse=True)
    matrix = figure.draw(result).panels[-1].marks[0]
    assert matrix.kind == "cells" and all(isinstance(cell, str) for row in matrix.text for cell in row)
    assert np.shape(matrix.values) == (min(names, figure.MATRIX),) * 2
    assert ("most frequent of 30 labels" in figure.say(result)) is (names == 30)
    off = np.asarray(counts) - np.diag(np.diag(counts))
    assert f", {off.max():,} time" in figure.say(result)


def kinds(result: Suite) -> list[str]:
    """Of all marks of the figure."""
    return [mark.kind for panel in figure.draw(result).panels for mark in panel.marks]


def test_the_sentence_omits_missing_labels_and_mistakes() -> None:
    right = labelled(40, 3)
    outcomes = [replace(outcome, right=True, said=outcome.case.answers[0]) for outcome in right.outcomes]
    right = summary("rows", "labels", "whole sentence", 0.3, outcomes, [], 0)  # type: ignore[arg-type]
    assert "mistake" not in figure.say(right) and kinds(right)[-1] == "cells"
    cloze = replace(right, kind="cloze", total=replace(right.total, top5=1.0, mrr=1.0))
    assert confusion_matrix(cloze) == ((), ()) and "cells" not in kinds(cloze)


@pytest.mark.parametrize(
    ("case", "view"),
    [
        (Case("minimal pairs", 2, "", ("The cat is old.", "The cat are old.")), "pseudo-likelihood"),
        (Case("stereotype pairs", 2, "", ("He is old.", "She is old.")), "pseudo-likelihood"),
        (Case("cloze", 2, "", ("A cat is an [MASK].",), ("animal",)), "fill-mask"),
        (Case("invariance", 2, "", ("A [MASK] cat.", "A [MASK] dog."), ("big",), "same"), "fill-mask"),
        (Case("invariance", 2, "", ("a good film", "a bad film"), ("good",), "lower"), "answer"),
        (Case("next sentence", 2, "", ("He was ill.", "He stayed in bed."), ("yes",)), "next-sentence"),
        (Case("labels", 2, "", ("a good film",), ("good",)), "answer"),
        (Case("labels", 2, "", ("who ?", "a nurse"), ("good",)), "answer"),
    ],
)
def test_each_case_opens_in_its_view(case: Case, view: str, tiny: Tiny) -> None:
    page = suite_table.page_state(CaseOutcome(case, right=True, score=0.0, said=""))
    assert page["view"] == view
    assert [page["text"], *filter(None, [page.get("pair"), page.get("other")])] == list(case.texts)
    options = {**DEFAULTS[view], **page.get("options", {})}
    state = State("", checkpoint=TUNED if view == "answer" else "mini")
    answer = Answerer(CheckpointRegistry(Settings(models_dir=tiny(TUNED).parent))).answer(
        replace(state, **{**page, "options": options})
    )
    assert answer.error == "" and answer.said and (answer.comparison is None) is ("other" not in page)
