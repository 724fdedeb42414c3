"""Exact match and F1, case by case, as SQuAD's official script counts them."""

import numpy as np
import pytest

from bertexplorer.training.tasks.question_answering import (
    best_match,
    by_question_word,
    exact_match,
    f1,
    normalized_words,
    question_word,
    thresholds,
)


def test_articles_punctuation_case_and_spaces_do_not_count() -> None:
    assert normalized_words("The  Cat's, an (old) A-team!") == ["cats", "old", "ateam"]
    assert exact_match("the Eiffel Tower", "Eiffel tower.") == 1.0 and exact_match("Eiffel", "Eiffel tower") == 0.0
    assert normalized_words("theatre another") == ["theatre", "another"]


@pytest.mark.parametrize(
    ("gold", "message", "wanted"),
    [
        ("in the year 1815", "1815", 2 * 1 * (1 / 3) / (1 + 1 / 3)),
        ("one two", "two three", 0.5),
        ("very very good", "very good", 0.8),  # each word counts as often as both texts have it
        ("Paris", "London", 0.0),
        ("", "", 1.0),
        ("", "Paris", 0.0),
        ("Paris", "", 0.0),
        ("the", "a", 1.0),
    ],
)
def test_f1_counts_shared_words(gold: str, message: str, wanted: float) -> None:
    assert f1(gold, message) == pytest.approx(wanted)


def test_the_best_matching_gold_answer_counts() -> None:
    assert best_match(["July 1815", "1815"], "1815") == (1.0, 1.0)
    assert best_match([], "") == (1.0, 1.0) and best_match([], "1815") == (0.0, 0.0)
    assert best_match(["the"], "") == (1.0, 1.0)  # the only answer becomes empty: it counts as no answer


def test_scores_are_grouped_by_question_word() -> None:
    assert [question_word(q) for q in ("When was it?", "In what year?", "Name one.", "WHO?")] == [
        "when",
        "what",
        "other",
        "who",
    ]
    table = by_question_word(["who?", "Who else?", "why"], [1.0, 0.0, 1.0], [1.0, 0.5, 1.0])
    assert table == [
        {"question": "who", "exact": 0.5, "f1": 0.75, "examples": 2},
        {"question": "why", "exact": 1.0, "f1": 1.0, "examples": 1},
    ]


def test_thresholds_equal_a_plain_loop() -> None:
    draw = np.random.default_rng(0)
    surplus, spoken = draw.normal(size=30), draw.random(30)
    silent = (draw.random(30) < 0.3).astype(float)
    rows = thresholds(surplus, spoken, silent)
    assert 0.0 in [row["threshold"] for row in rows] and rows[-1]["no answer"] == 0.0
    for row in rows:
        predictions = [z if s > row["threshold"] else a for s, a, z in zip(surplus, spoken, silent, strict=True)]
        assert row["f1"] == pytest.approx(sum(predictions) / 30)
