"""Ranking: BM25 by its formula and by hand, metrics against ir_measures."""

from math import log, log2

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, R, nDCG

from bertexplorer.training.ranking import BM25, ndcg, ranking_metrics, reciprocal_rank, words

PASSAGES = ["The cat sat on the mat.", "A dog, a DOG!", "the the the end of the day", "", "cat and dog and cat"]


def formula(query: str, passages: list[str]) -> list[float]:
    """Each passage by itself, with k1 = 1.2 and b = 0.75."""
    split = [words(passage) for passage in passages]
    mean = sum(map(len, split)) / len(split)
    scores = []
    for own in split:
        score = 0.0
        for word in words(query):
            n, f = sum(word in other for other in split), own.count(word)
            idf = log(1 + (len(split) - n + 0.5) / (n + 0.5))
            score += idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * len(own) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize("query", ["the cat", "dog", "dog dog cat", "zebra", "", "THE end, the cat?"])
def test_bm25_equals_its_formula(query: str) -> None:
    np.testing.assert_allclose(BM25(PASSAGES).scores(query), formula(query, PASSAGES), atol=1e-12)  # float64


def test_bm25_equals_a_computation_by_hand() -> None:
    """Two passages of 2 words, “sun” in one: ln(1 + 1.5 / 1.5) · 1 · 2.2 / (1 + 1.2) = ln 2."""
    index = BM25(["the sun", "the moon"])
    assert index.scores("sun").tolist() == pytest.approx([log(2), 0])
    assert index.order("sun") == [0] and index.order("stars") == []


def test_empty_passages_score_0() -> None:
    assert len(BM25([]).scores("sun")) == 0
    assert BM25(["", "…"]).scores("sun").tolist() == [0, 0]


def test_ndcg_equals_a_computation_by_hand() -> None:
    grades, judged = [0, 2, 0, 1], [3, 2, 1]
    assert ndcg(grades, judged) == pytest.approx((2 / log2(3) + 1 / log2(5)) / (3 + 2 / log2(3) + 1 / 2))
    assert ndcg([], [0, 0]) == 0.0
    assert reciprocal_rank([0] * 10 + [1]) == 0.0, "beyond the tenth"


def test_metrics_equal_those_of_ir_measures() -> None:
    draw = np.random.default_rng(0)
    for _ in range(30):
        count = int(draw.integers(3, 40))
        grades = draw.choice([0, 0, 0, 1, 2, 4], count)
        unseen = draw.choice([0, 1, 3], 3)
        if not (grades.any() or unseen.any()):
            continue
        qrels = {"q": {str(i): int(g) for i, g in enumerate([*grades, *unseen])}}
        run = {"q": {str(i): float(-i) for i in range(count)}}
        theirs = ir_measures.calc_aggregate([RR @ 10, nDCG @ 10, R @ 10], qrels, run)
        ours = ranking_metrics(grades.tolist(), [*grades.tolist(), *unseen.tolist()])
        assert [ours["mrr_10"], ours["ndcg_10"], ours["recall_10"]] == pytest.approx(
            [theirs[RR @ 10], theirs[nDCG @ 10], theirs[R @ 10]]
        )
