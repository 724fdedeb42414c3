"""The head and its evaluation are those of scikit-learn. tests/scripts/teaching.test.js holds scripts to the table."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bertexplorer.teaching.evaluation import ALONE, PARTS, choose_ridge, left_out_in_turn, split
from bertexplorer.teaching.head import fit
from bertexplorer.teaching.words import same_sentence, word_vectors, words
from bertexplorer.training.finetuning.compare import wilson
from tests.test_cases import table

TABLE = table("teaching")
HEADS = [pytest.param(case, id=case["name"]) for case in TABLE["heads"]]


def arrays(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, list[int], int]:
    return np.array(case["vectors"]), np.array(case["labels"]), case["groups"], case["boxes"]


@pytest.mark.parametrize("case", HEADS)
def test_probabilities(case: dict[str, Any]) -> None:
    vectors, labels, _, boxes = arrays(case)
    for ridge, wanted in case["probabilities"]:
        found = fit(vectors, labels, boxes, ridge).probabilities(np.array(case["queries"]))
        assert found == pytest.approx(np.array(wanted), abs=1e-4)


@pytest.mark.parametrize("case", HEADS)
def test_each_is_left_out_in_turn(case: dict[str, Any]) -> None:
    vectors, labels, groups, boxes = arrays(case)
    assert choose_ridge(vectors, labels, groups, boxes) == case["ridge"]
    assert left_out_in_turn(vectors, labels, groups, boxes) == pytest.approx(np.array(case["left_out"]), abs=1e-4)


def test_the_ridge_is_that_of_a_plain_pipeline() -> None:
    """On directions of equal spread, where scaling each one is scaling all."""
    vectors = np.array([*product((-1.0, 1.0), repeat=4)]) * 3 + 7
    labels = (vectors.sum(axis=1) > 28).astype(int)
    n, width = vectors.shape
    ridge = 0.05
    model = LogisticRegression(C=2 / (n * ridge * width), tol=1e-9, max_iter=5000, class_weight="balanced")
    wanted = make_pipeline(StandardScaler(), model).fit(vectors, labels).predict_proba(vectors)
    assert fit(vectors, labels, 2, ridge).probabilities(vectors) == pytest.approx(wanted, abs=1e-4)


def test_what_is_left_out_does_not_change_its_own_answer() -> None:
    """A row whose label is turned gets the same probabilities as before: nothing of it was seen."""
    draw = np.random.default_rng(0)
    vectors, labels = draw.normal(size=(14, 6)), np.arange(14) % 2
    turned = labels.copy()
    turned[5] = 1 - turned[5]
    groups = list(range(14))
    before, after = (left_out_in_turn(vectors, each, groups, 2)[5] for each in (labels, turned))
    assert before == pytest.approx(after)


def test_many_are_left_out_in_parts() -> None:
    draw = np.random.default_rng(0)
    labels = np.repeat([0, 1], ALONE)
    vectors = draw.normal(size=(len(labels), 3)) + 4 * labels[:, None]
    found = left_out_in_turn(vectors, labels, list(range(len(labels))), 2)
    assert (found.argmax(axis=1) == labels).mean() > 0.9
    part = split(list(range(len(labels))), labels, PARTS)
    assert [int((part == k).sum()) for k in range(PARTS)] == [2 * ALONE // PARTS] * PARTS
    assert all((labels[part == k] == 0).sum() == ALONE // PARTS for k in range(PARTS))


@pytest.mark.parametrize(("sentence", "wanted"), TABLE["words"])
def test_words(sentence: str, wanted: list[str]) -> None:
    found = words(sentence)
    assert [word.text for word in found] == wanted
    assert [sentence[word.start : word.end] for word in found] == wanted


@pytest.mark.parametrize(("first", "second"), TABLE["same"])
def test_sentences_that_are_the_same(first: str, second: str) -> None:
    assert same_sentence(first) == same_sentence(second)


def test_word_counts_have_length_1() -> None:
    found = word_vectors(["A cat, a dog.", "...", "a Cat"])
    assert found.shape == (3, 3)
    assert found[0] == pytest.approx(np.array([2, 1, 1]) / 6**0.5) and not found[1].any()
    assert found[2] == pytest.approx(np.array([1, 1, 0]) / 2**0.5)


@pytest.mark.parametrize(("right", "count", "low", "high"), TABLE["intervals"])
def test_intervals(right: int, count: int, low: float, high: float) -> None:
    assert wilson(right / count, count) == pytest.approx((low, high), abs=1e-5)
