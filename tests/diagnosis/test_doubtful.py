"""Doubtful labels: neighbours beside a plain loop and scikit-learn, and votes by hand."""

from collections import Counter

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from bertexplorer.diagnosis import doubtful as module
from bertexplorer.diagnosis.doubtful import Votes, doubtful, nearest, votes


def unit(rows: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, 8))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_neighbours_are_those_of_a_plain_loop_and_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 16)
    vectors = unit(50)
    found = nearest(vectors, 5)
    for i in range(50):
        others = sorted((j for j in range(50) if j != i), key=lambda j: -float(vectors[i] @ vectors[j]))
        assert found[i].tolist() == others[:5]
    fitted = NearestNeighbors(n_neighbors=6, metric="cosine").fit(vectors)
    assert found.tolist() == fitted.kneighbors(return_distance=False, n_neighbors=5).tolist()


def test_a_row_is_not_its_own_neighbour_though_it_is_there_twice() -> None:
    vectors = unit(6)
    vectors[3] = vectors[1]
    found = nearest(vectors, 10)
    assert found.shape == (6, 5) and found[1, 0] == 3 and found[3, 0] == 1
    assert all(i not in row for i, row in enumerate(found.tolist()))
    assert nearest(unit(1), 5).shape == (1, 0)


def test_votes_are_those_of_a_counter() -> None:
    gold = np.random.default_rng(1).integers(0, 3, 40)
    neighbours = nearest(unit(40), 7)
    found = votes(neighbours, gold)
    for i, row in enumerate(neighbours):
        counts = Counter(gold[row].tolist())
        assert counts[int(found.label[i])] == max(counts.values())
        assert found.share[i] == pytest.approx(max(counts.values()) / 7)


def test_a_label_is_doubtful_if_the_model_is_sure_and_most_neighbours_agree() -> None:
    log_probs = np.log([[0.1, 0.9], [0.1, 0.9], [0.3, 0.7], [0.1, 0.9], [0.9, 0.1]])
    gold = np.array([0, 0, 0, 1, 0])
    voted = Votes(np.array([1, 1, 1, 1, 0]), np.array([0.6, 0.5, 0.9, 0.9, 0.9]))
    assert doubtful(log_probs, gold, voted, 0.8).tolist() == [True, False, False, False, False]
    assert doubtful(log_probs, gold, voted, 0.6).tolist() == [True, False, True, False, False]
    voted = Votes(np.array([0, 1, 0, 0, 0]), voted.share)
    assert not doubtful(log_probs, gold, voted, 0.8).any(), "the neighbours agree with the label, or not by a majority"
