"""Extracts: n-grams against rouge-score, the greedy choice against a plain one, blocking by hand."""

from itertools import product

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from bertexplorer.training.tasks.summary import (
    Rouge,
    choose_sentences,
    document_sentences,
    ngram_f1,
    ngrams,
    oracle_sentences,
)

WORDS = "the cat sat on a mat and dogs ran home late again".split()  # noqa: SIM905 - shorter so


def sentence(draw: np.random.Generator) -> str:
    return " ".join(draw.choice(WORDS, draw.integers(2, 9))).capitalize() + "."


@pytest.mark.parametrize("n", [1, 2])
def test_ngram_f1_equals_that_of_rouge_score(n: int) -> None:
    draw = np.random.default_rng(n)
    scorer = RougeScorer([f"rouge{n}"], use_stemmer=False)
    for _ in range(100):
        one, other = sentence(draw), sentence(draw)
        theirs = scorer.score(other, one)[f"rouge{n}"].fmeasure
        assert ngram_f1(ngrams(one, n), ngrams(other, n)) == pytest.approx(theirs)


def test_rouge_equals_a_computation_by_hand() -> None:
    """3 of 4 words and 1 of 3 pairs; the longest common subsequence is “the cat … mat”."""
    result = Rouge().score(["The cat saw mats."], ["The cat sat, mat."])
    assert result == pytest.approx({"rouge_1": 3 / 4, "rouge_2": 1 / 3, "rouge_l": 3 / 4})
    assert Rouge().score([], ["Nothing."]) == {"rouge_1": 0, "rouge_2": 0, "rouge_l": 0}


def greedy(document: list[str], summary: str, most: int) -> list[int]:
    """The same search, with n-grams counted again at each step."""

    def score(chosen: list[int]) -> float:
        total = 0.0
        for n in (1, 2):
            result = sum((ngrams(document[i], n) for i in chosen), ngrams("", n))
            total += ngram_f1(result, ngrams(summary, n))
        return total

    chosen: list[int] = []
    while len(chosen) < most:
        best = max(
            (i for i in range(len(document)) if i not in chosen), key=lambda i: score([*chosen, i]), default=None
        )
        if best is None or score([*chosen, best]) <= score(chosen):
            break
        chosen.append(best)
    return sorted(chosen)


def test_the_oracle_equals_a_greedy_search() -> None:
    draw = np.random.default_rng(5)
    for most, _ in product((1, 2, 3), range(15)):
        document = [sentence(draw) for _ in range(int(draw.integers(2, 8)))]
        summary = f"{sentence(draw)} {sentence(draw)}"
        assert oracle_sentences(document, summary, most) == greedy(document, summary, most)
    assert oracle_sentences(["One two.", "Three."], "four five", 3) == []


def test_blocking_skips_repeated_trigrams() -> None:
    document = ["The old cat sat down.", "Why?", "Today the old cat sat there.", "Rain fell."]
    assert choose_sentences(document, [3.0, 0.0, 2.0, 1.0], 2, blocking=True) == [0, 3]
    assert choose_sentences(document, [3.0, 0.0, 2.0, 1.0], 2, blocking=False) == [0, 2]
    assert choose_sentences(document, [0.0, 1.0], 5, blocking=True) == [0, 1], "those that were not read are not chosen"


def test_a_document_is_split_into_sentences() -> None:
    assert document_sentences("Dr. Low came. She left!\r\nno stop\n\n  Last one? ") == [
        "Dr. Low came.",
        "She left!",
        "no stop",
        "Last one?",
    ]
    assert document_sentences(" \n ") == []
