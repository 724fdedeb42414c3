"""Kinds of rows: planted errors are found, random ones are not, and tests and corrections are those of others."""

import csv

import numpy as np
import pytest
from scipy.stats import hypergeom

from bertexplorer.diagnosis.slices import FEWEST, Members, Traits, by_length, find_slices, fisher, members_of
from bertexplorer.settings import ASSETS

with (ASSETS / "data" / "classification.csv").open(encoding="utf-8") as opened:
    REVIEWS = list(csv.DictReader(opened))
TEXTS = [row["text"] + (f" It was number {i}." if i % 6 == 0 else "") for i, row in enumerate(REVIEWS)]
ROWS = [Traits(text, row["label"], "", len(text.split()), 0, 0) for text, row in zip(TEXTS, REVIEWS, strict=True)]
NUMBERS = np.array(["number" in text for text in TEXTS])
MEMBERS = members_of(ROWS)


def test_planted_errors_are_named_once() -> None:
    named = 0
    for seed in range(10):
        right = np.random.default_rng(seed).random(len(ROWS)) >= np.where(NUMBERS, 0.5, 0.08)
        found = find_slices(MEMBERS, right)
        first, *rest = sorted((one for one in found if one.named), key=lambda one: one.named)
        assert first.kind == "number" and first.worse and first.rows == tuple(np.flatnonzero(NUMBERS))
        assert first.right == pytest.approx(right[NUMBERS].mean())
        assert first.others == pytest.approx(right[~NUMBERS].mean())
        named += len(rest)
    assert named <= 1, "words that stand beside numbers are no further cause"


def test_random_errors_have_no_kind() -> None:
    """In 60 files no more than the level of the tests, one in 20."""
    alarms = 0
    for seed in range(60):
        right = np.random.default_rng(seed).random(len(ROWS)) >= 0.15
        alarms += any(one.named or one.worse or one.better for one in find_slices(MEMBERS, right))
    assert alarms <= 3


def test_a_second_cause_is_named_among_the_rest() -> None:
    film = np.array(["film" in text for text in TEXTS])
    right = np.random.default_rng(0).random(len(ROWS)) >= np.where(NUMBERS | film, 0.7, 0.02)
    named = sorted((one for one in find_slices(MEMBERS, right) if one.named), key=lambda one: one.named)
    assert [one.name for one in named] == ["a number", "“film”"]


def test_p_is_the_sum_over_tables_that_are_as_unlikely() -> None:
    inside = np.arange(40) < 12
    right = np.array([True] * 4 + [False] * 8 + [True] * 22 + [False] * 6)
    tables = hypergeom(40, int(right.sum()), 12).pmf(np.arange(13))
    wanted = tables[tables <= tables[4] * (1 + 1e-7)].sum()
    assert fisher(inside, right) == pytest.approx(wanted, abs=1e-12)
    [found] = find_slices([Members("number", "a number", inside)], right)
    assert found.p == pytest.approx(wanted), "one test needs no correction"
    more = [Members("word", str(i), np.random.default_rng(i).permutation(inside)) for i in range(4)]
    corrected = {one.name: one.p for one in find_slices([Members("number", "a number", inside), *more], right)}
    assert corrected["a number"] == pytest.approx(5 * wanted), "Holm: the least p times the number of tests"


def test_a_kind_that_is_better_is_not_named() -> None:
    inside = np.arange(60) < 30
    [found] = find_slices([Members("word", "“x”", inside)], inside)
    assert found.better and not found.worse and found.named == 0


def test_small_kinds_and_what_is_left_of_large_ones_are_not_tested() -> None:
    right = np.arange(60) % 2 == 0
    sizes = (FEWEST - 1, FEWEST, 60 - FEWEST, 60 - FEWEST + 1)
    found = find_slices([Members("word", str(size), np.arange(60) < size) for size in sizes], right)
    assert {one.name for one in found} == {str(FEWEST), str(60 - FEWEST)}


def test_kinds_with_the_same_rows_are_one_test_and_of_opposites_the_worse_is_kept() -> None:
    inside = np.arange(60) < 30
    right = ~inside
    kinds = [Members("label", "a", inside), Members("label", "b", ~inside), Members("word", "“x”", inside)]
    for order in (kinds, [kinds[1], kinds[0]]):
        [found] = find_slices(order, right)
        assert found.name == "a" and found.right == 0 and found.others == 1


def test_kinds_of_rows() -> None:
    rows = [
        Traits("He met Anna at 9.", "a", "x", 7, 0, 0),
        Traits("She likes it. They do too.", "b", "", 9, 2, 0),
        Traits("the end", "a", "x", 3, 0, 5),
    ]
    found = {(one.kind, one.name): one.inside.tolist() for one in members_of(rows)}
    assert found["label", "a"] == [True, False, True] and found["category", "x"] == [True, False, True]
    assert found["number", "a number"] == found["name", "a name"] == [True, False, False]
    assert found["unknown", "unknown tokens"] == [False, True, False]
    assert found["cut", "longer than is read"] == [False, False, True]
    assert ("category", "") not in found


@pytest.mark.parametrize("tokens", [[5] * 8, [1, 2, 3, 4], [1] * 7 + [9], list(range(100))])
def test_quarters_by_length_have_each_row_once(tokens: list[int]) -> None:
    found = by_length(np.array(tokens))
    assert np.array([one.inside for one in found]).sum(axis=0).tolist() == [1] * len(tokens)
    assert len(found) <= 4


def test_words_of_the_same_rows_are_one_kind() -> None:
    texts = ["Fish and chips 7"] * 12 + ["soup"] * 12
    rows = [Traits(text, "", "", 3, 0, 0) for text in texts]
    assert [one.name for one in members_of(rows) if one.kind == "word"] == ["“and”, “chips”, “fish”", "“soup”"]
