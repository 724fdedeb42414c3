"""The threshold of labelled pairs beside scikit-learn and sentence-transformers, and pairs that say nothing."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve, roc_auc_score

import bertexplorer as bx
from bertexplorer.diagnosis import threshold
from bertexplorer.diagnosis.pairs import MAX_PAIRS, read_pairs
from bertexplorer.engine.progress import Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.views.threshold.compute import strangers, vectors


def planted(count: int, apart: float, seed: int = 0) -> tuple[Any, Any]:
    """Scores, rounded so that some are equal, of pairs that match and that do not, *apart* on average."""
    drawn = np.random.default_rng(seed)
    matches = drawn.random(count) < 0.4
    return np.round(drawn.normal(matches * apart, 1), 1), matches


@pytest.mark.parametrize("apart", [0.0, 1.0, 3.0])
def test_the_curve_and_the_area_are_those_of_scikit_learn(apart: float) -> None:
    scores, matches = planted(300, apart)
    precision, recall, thresholds = precision_recall_curve(matches, scores)
    ours = threshold.curve(scores, matches)
    np.testing.assert_allclose(ours.thresholds, thresholds[::-1])
    np.testing.assert_allclose(ours.precision, precision[:-1][::-1], atol=1e-12)
    np.testing.assert_allclose(ours.recall, recall[:-1][::-1], atol=1e-12)
    assert threshold.area(scores, matches) == pytest.approx(roc_auc_score(matches, scores), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_f1_is_that_of_brute_force(seed: int) -> None:
    scores, matches = planted(60, 1.0, seed)

    def f1(at: float) -> float:
        passes = scores >= at
        return 2 * (passes & matches).sum() / (passes.sum() + matches.sum())

    chosen = threshold.choose(scores, matches, 0)
    assert chosen is not None and f1(chosen) == max(f1(at) for at in scores)


def test_the_best_f1_is_that_of_sentence_transformers() -> None:
    from sentence_transformers.sentence_transformer.evaluation import BinaryClassificationEvaluator

    drawn = np.random.default_rng(0)
    matches = drawn.random(200) < 0.4
    scores = drawn.normal(matches, 1.0)  # none equal, as theirs has no rule for ties
    best, _, _, at = BinaryClassificationEvaluator.find_best_f1_and_threshold(scores, matches.astype(int), True)
    chosen = threshold.choose(scores, matches, 0)
    assert chosen == pytest.approx(at)
    passes = scores >= chosen
    assert 2 * (passes & matches).sum() / (passes.sum() + matches.sum()) == pytest.approx(best)


def test_a_wanted_precision_gets_the_best_recall_that_reaches_it() -> None:
    scores, matches = planted(200, 2.0)
    chosen = threshold.choose(scores, matches, 0.9)
    reaching = [at for at in np.unique(scores) if matches[scores >= at].mean() >= 0.9]
    assert chosen is not None and (scores >= chosen).sum() == (scores >= min(reaching)).sum()
    assert threshold.choose(-scores, matches, 0.99) is None


def test_pairs_do_not_choose_the_threshold_that_judges_them() -> None:
    """With scores that say nothing, the pairs that chose a precision seem to reach it, and new ones do not."""
    seemed, held = [], []
    for seed in range(20):
        scores, matches = np.random.default_rng(seed).random(100), np.arange(100) % 2 == 0
        chosen = threshold.choose(scores, matches, 0.8)
        if chosen is not None:
            seemed.append(matches[scores >= chosen].mean())
        passes = threshold.held_out(scores, matches, 0.8)
        held += matches[passes].tolist()
    assert np.mean(seemed) >= 0.8 and np.mean(held) < 0.65


def test_the_interval_covers_the_threshold_of_many_pairs() -> None:
    scores, matches = planted(20_000, 2.0)
    best = threshold.choose(scores, matches, 0)
    covered = 0
    for seed in range(1, 21):
        found = threshold.threshold_interval(*planted(200, 2.0, seed), 0)
        covered += found is not None and found.low <= best <= found.high
    assert covered >= 16


def test_similarities_are_those_of_the_vectors() -> None:
    bert = bx.load("mini", precision="fp32")
    result = bert.threshold("one word changed")
    for row in result.rows[:4]:
        first, second = bert.encode([row["first"], row["second"]])
        cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
        assert row["similarity"] == pytest.approx(float(cosine), abs=1e-5)


def test_texts_of_one_row_are_no_strangers() -> None:
    texts = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "a"), ("d", "e")]
    pairs, _ = read_pairs([(i, {"text_a": a, "text_b": b, "label": i % 2}) for i, (a, b) in enumerate(texts)])
    drawn = {frozenset((pairs[i].first, pairs[j].second)) for i, j in zip(*strangers(pairs), strict=True)}
    together = {frozenset(pair) for pair in texts}
    assert not drawn & together and all(len(pair) == 2 for pair in drawn)
    assert drawn == {frozenset(pair) for pair in ("ae", "be", "ce", "db", "dc", "da")}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"a": "x", "b": "y"}], "wanted text_a, text_b and label"),
        ([{"text_a": "x", "text_b": "y", "label": 1}] * 3, "3 pairs match and 0 do not"),
        ([{"text_a": "x", "text_b": "y", "label": "maybe"}] * 3, "Line 1 has the label 'maybe'"),
        ([{"text_a": "x", "text_b": "", "label": 1}] * 3, "lacks one of its two texts"),
        ([{"text_a": "x", "text_b": str(i), "label": i % 2} for i in range(MAX_PAIRS + 1)], "the limit is 10,000"),
    ],
)
def test_pairs_that_cannot_be_used_get_a_sentence(rows: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ExplorerError, match=said):
        read_pairs(list(enumerate(rows, 1)))


def test_usual_names_of_columns_are_read() -> None:
    rows = [{"question1": "a", "question2": f"b{i}", "is_duplicate": i % 2} for i in range(4)]
    pairs, problems = read_pairs(list(enumerate([*rows, {"question1": "", "question2": "x", "is_duplicate": 1}], 1)))
    assert [pair.match for pair in pairs] == [False, True, False, True] and problems[0].line == 5


def test_a_text_that_cannot_be_read_is_named() -> None:
    rows = [{"text_a": "Paris is good.", "text_b": f"London {i}", "label": i % 2} for i in range(4)]
    rows[2]["text_b"] = "\u200b"
    with pytest.raises(ExplorerError, match="cannot be compared"):
        bx.load("mini").threshold(rows=rows)


def test_few_pairs_say_nothing_of_new_ones() -> None:
    rows = [
        {"text_a": "The shop is open.", "text_b": f"The shop is {w}.", "label": w < "m"} for w in ("a", "b", "x", "y")
    ]
    assert "too few to say" in bx.load("mini").threshold(rows=rows).said


def test_vectors_that_are_kept_count_as_no_work() -> None:
    bert, texts = bx.load("tiny"), ["The cat sat on the mat.", "A dog sat in Paris."]
    first, second = Work(), Work()
    with working(first):
        vectors(bert.checkpoint, texts, "", "mean")
    with working(second):
        vectors(bert.checkpoint, texts, "", "mean")
    assert 0 < first.done == first.total
    assert second.done == second.total == 0
