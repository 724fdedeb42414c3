"""Every answer is that of the golden files. `python -m tests.golden` shows what changed, and accepts it by name."""

import pytest

from tests.golden.compare import check, differences, last_digit_apart, same_words
from tests.golden.conftest import Asked
from tests.golden.files import FOLDER, NAMES
from tests.golden.normalise import normalised


@pytest.mark.golden
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("views/") and name != "runs"])
def test_answers_are_the_golden_ones(asked: Asked, name: str) -> None:
    check(name, asked)


@pytest.mark.golden
def test_every_answer_has_a_golden_file(asked: Asked) -> None:
    assert sorted(asked) == NAMES


def test_the_files_stay_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.json")) < 5_000_000


def test_long_lists_keep_some_values_and_long_tables_their_first_rows() -> None:
    kept = normalised([i / 1000 for i in range(1000)])
    assert kept["count"] == 1000 and kept["some"][0] == 0 and kept["some"][-1] == kept["most"] == 0.999
    rows = normalised([{"layer": i, "share": i / 1000} for i in range(1000)])
    assert rows["layer"]["some"] == list(range(24)) and rows["share"]["most"] == 0.999
    assert normalised([[1, 2], [3, 4]]) == {"shape": [2, 2], "flat": [1, 2, 3, 4]}
    assert normalised({"dtype": "f8", "bdata": "AAAAAAAA8D8AAAAAAAAAQA=="}) == [1.0, 2.0]


SWAPPED = [{"label": ["b", "a"], "value": [0.9, 0.1]}, {"label": ["a", "b"], "value": [0.1, 0.9]}]


def test_rounding_is_no_difference_but_more_is() -> None:
    table = {"token": ["cat", "dog"], "probability": [0.300010, 0.300001]}
    swapped = {"token": ["dog", "cat"], "probability": [0.300010, 0.300001]}
    assert not list(differences(table, swapped)), "a near tie"
    assert list(differences(table, {**table, "probability": [0.31, 0.3]}))[0] == "/probability/0: 0.30001 -> 0.31"
    assert not list(differences({"a": [0.031, 2.5]}, {"a": [0.032, 2.5]})), "rounded to three decimals"
    assert list(differences({"a": [0.031, 2.5]}, {"a": [0.033, 2.5]}))
    sorted_so, otherwise = ({"difference": {"marks": bars}} for bars in SWAPPED)
    assert not list(differences(sorted_so, otherwise)) and list(differences({"x": ["a", "b"]}, {"x": ["b", "a"]}))
    assert list(differences({**table, "probability": [0.5, 0.3]}, {**swapped, "probability": [0.3, 0.5]}))
    assert list(differences({"a": 1}, {"b": 1})) == ["/a: gone, it was 1", "/b: new, 1"]


def test_numbers_within_sentences_may_be_one_apart_in_their_last_digit() -> None:
    assert same_words("It gives 41 % to “cat”.", "It gives 42 % to “cat”.")
    assert not same_words("It gives 41 % to “cat”.", "It gives 43 % to “cat”.")
    assert not same_words("It gives 41 % to “cat”.", "It gives 41 % to “dog”.")
    assert last_digit_apart("7.1", "7.2") and not last_digit_apart("7.1", "7.3") and not last_digit_apart("6", "7")
