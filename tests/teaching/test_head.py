"""The head and its evaluation are those of scikit-learn. tests/scripts/teaching.test.js holds scripts to the table."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bertexplorer.teaching.evaluation import ONE_EACH, PARTS, choose_ridge, left_out_in_turn, split
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


def test_a_head_that_knows_nothing_is_not_always_wrong() -> None:
    """Sentences that share no word, in boxes of one size: left out alone, each would be taken for the other box."""
    vectors, labels = np.eye(12), np.arange(12) % 2
    found = left_out_in_turn(vectors, labels, list(range(12)), 2)
    assert found == pytest.approx(0.5, abs=0.05)


def test_many_are_left_out_in_parts() -> None:
    draw = np.random.default_rng(0)
    size = 2 * ONE_EACH
    labels = np.repeat([0, 1], size)
    vectors = draw.normal(size=(len(labels), 3)) + 4 * labels[:, None]
    found = left_out_in_turn(vectors, labels, list(range(len(labels))), 2)
    assert (found.argmax(axis=1) == labels).mean() > 0.9
    part = split(list(range(len(labels))), labels, PARTS)
    assert [int((part == k).sum()) for k in range(PARTS)] == [2 * size // PARTS] * PARTS
    assert all((labels[part == k] == 0).sum() == size // PARTS for k in range(PARTS))


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
