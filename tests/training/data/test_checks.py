"""Checks of rows before a run: labels, duplicates, and the split into train and dev."""

import random
from collections import Counter

import pytest

from bertexplorer.csv_safety import escape_formula
from bertexplorer.errors import ExplorerError
from bertexplorer.training.data import checks
from bertexplorer.training.data.checks import split_rows
from bertexplorer.training.data.rows import Row


def rows(*pairs: tuple[object, object], start: int = 2) -> list[Row]:
    return [Row(line, {"text": text, "label": label}) for line, (text, label) in enumerate(pairs, start)]


def test_labels_are_counted_by_frequency_and_similar_ones_reported() -> None:
    result = checks.label_counts(rows(("a", "y"), ("b", "x"), ("c", "x"), ("d", " "), ("e", ["x", "y"])), "label")
    assert list(result.items()) == [("x", 2), ('["x", "y"]', 1), ("y", 1)]
    assert checks.similar_labels(["Pos", "neg", "pos ", "Neg ", "x", "p os"]) == [
        ("Pos", "pos ", "p os"),
        ("neg", "Neg "),
    ]


def test_labels_are_compared_as_they_are_trained() -> None:
    """Without the spaces around them; several labels of a cell one by one, in any order."""
    given = rows(("a", "y"), ("b", "y "), ("c", "x"), ("d", " x"), ("a", " y"))
    assert checks.label_counts(given, "label") == {"y": 3, "x": 2}
    findings = checks.row_findings(given, [], ["text"], "label")
    assert [finding.what for finding in findings] == ["1 row duplicates an earlier row: line 6 (as line 2)."]
    for seed in range(9):
        assert {row.cells["label"].strip() for row in split_rows(given, 0.1, seed, "label", ["text"])[1]} == {"x", "y"}
    sets = rows(("a", "x|y"), ("a", "y| x"), ("b", ["x", "z"]), ("c", ""))
    assert checks.label_counts(sets, "label", several=True) == {"x": 3, "y": 2, "z": 1}
    assert checks.contradictions(sets, ["text"], "label", several=True) == []
    rare = checks.label_findings(sets, rows(("d", "new|x")), "label", several=True)
    assert [finding.lines for finding in rare[:2]] == [(4,), (2,)] and "“z” has only one example." in rare[0].what


def test_commas_that_may_separate_thousands_are_reported() -> None:
    (found,) = checks.comma_findings(rows(("a", "950"), ("b", "1,234"), ("c", "12,345")), ["label"])
    assert "“1,234” is read as 1.234. If commas separate thousands, remove them." in found.what
    assert found.lines == (3, 4) and not found.stops
    for other in ("3,5", "0,125", "1,2345"):  # a decimal comma
        assert not checks.comma_findings(rows(("a", other), ("b", "1,234")), ["label"])
    assert not checks.comma_findings(rows(("a", "0.5"), ("b", 2), ("c", "")), ["label"])


def test_duplicates_are_reported_with_their_first_row() -> None:
    given = rows(("a cat", 1), ("b", 1), ("A  Cat ", 2), ("a cat", 1), (["a"], 1), (["a"], 2))
    assert checks.duplicates(given, ["text"]) == [(4, 2), (5, 2), (7, 6)]
    assert checks.duplicates(given, ["text", "label"]) == [(5, 2)]
    assert checks.contradictions(given, ["text"], "label") == [(4, 2), (7, 6)]
    assert checks.overlap(given, rows(("x", 1), ("A CAT", 1)), ["text"]) == [(3, 2)]


def test_duplicates_equal_those_of_a_brute_force_search() -> None:
    draw = random.Random(0)
    given = rows(*((draw.choice("abcdefgh"), "") for _ in range(60)))
    brute = [
        (row.line, next(other.line for other in given if other.cells["text"] == row.cells["text"]))
        for i, row in enumerate(given)
        if any(other.cells["text"] == row.cells["text"] for other in given[:i])
    ]
    assert checks.duplicates(given, ["text"]) == brute


def test_all_findings_name_their_lines() -> None:
    train = rows(("a", "x"), ("A", "y"), ("b", "x"), ("b", "x"), ("c", "X"), ("", "y"), ("d", ""))
    dev = rows(("b", "x"), ("q", "z"))
    result = checks.row_findings(train, dev, ["text"], "label")
    message = " ".join(finding.what for finding in result)
    assert "“X” has only one example." in message and "“z”: only in the validation data." in message
    assert "“x”, “X” differ by case or spaces only" in message
    assert "with another label: line 3 (as line 2)." in message and "an earlier row: line 5 (as line 4)." in message
    assert "of the 2 validation rows is among the training rows too: line 2 (as line 4)." in message
    assert "lack" not in message and not any(finding.stops for finding in result)
    assert checks.row_findings(rows(("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")), [], ["text"], "label") == []


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["x"] * 4, "Every row has the label “x”; at least two"),
        ([""] * 4, "No row has a label"),
        ([str(i) for i in range(10_000)], "10,000 different labels; the limit is 1,000"),
    ],
)
def test_unusable_labels_stop_a_run(labels: list[str], message: str) -> None:
    first = checks.row_findings(rows(*((f"t{i}", label) for i, label in enumerate(labels))), [], ["text"], "label")[0]
    assert first.stops and message in first.what


def test_training_rows_of_one_label_are_told_from_a_file_of_one_label() -> None:
    dev = rows(("q", "y"))
    for train, start in (
        (rows(("a", "x")), "The only training row has the label “x”"),
        (rows(("a", "x"), ("b", "x")), "All training rows have the label “x”"),
        (rows(("a", "")), "No training row has a label"),
    ):
        first = checks.row_findings(train, dev, ["text"], "label")[0]
        assert first.stops and first.what == (
            f"{start}; at least two different ones are needed. Other labels are only in the validation rows. "
            "Add rows of each label."
        )


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_the_split_is_stratified_and_reproducible(share: float) -> None:
    given = rows(*((f"text {i}", "xyz"[min(i % 10, 2)]) for i in range(200)))
    train, dev = split_rows(given, share, 7, "label")
    assert sorted([*train, *dev], key=lambda row: row.line) == given and abs(len(dev) - share * 200) <= 2
    for name, count in Counter(row.cells["label"] for row in given).items():
        assert abs(sum(row.cells["label"] == name for row in dev) - share * count) <= 0.5
    assert (train, dev) == split_rows(given, share, 7, "label") != split_rows(given, share, 8, "label")


def test_texts_that_repeat_stay_on_one_side() -> None:
    draw = random.Random(1)
    given = rows(*((draw.choice(["a", "A ", "b", "c", "D", "d", "e"]), draw.choice("xy")) for _ in range(80)))
    for seed in range(20):
        for label in (None, "label"):
            train, dev = split_rows(given, 0.3, seed, label, keys=["text"])
            assert train and dev and not checks.overlap(train, dev, ["text"])


def test_passages_without_a_query_are_never_validation_rows() -> None:
    given = rows(*((f"query {n}", "passage") for n in range(18)), ("", "another"), (" ", "a third"))
    for seed in range(20):
        train, dev = split_rows(given, 0.1, seed, keys=["text"])
        assert len(dev) == 2 and all(str(row.cells["text"]).strip() for row in dev)
        assert len(train) == 18


def test_each_class_is_on_both_sides() -> None:
    given = rows(("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "once"))
    for seed in range(20):
        train, dev = split_rows(given, 0.1, seed, "label")
        assert {row.cells["label"] for row in dev} == {"x", "y"}
        assert {row.cells["label"] for row in train} == {"x", "y", "once"}
    train, dev = split_rows(rows(("a", "x"), ("b", "y")), 0.1, 0, "label")
    assert len(train) == len(dev) == 1
    assert all(split_rows(rows(("a", "x"), ("b", "x"), ("c", "x")), 0.99, 0))
    assert [len(side) for side in split_rows(rows(*[("a", "x")] * 9, ("b", "x")), 0.1, 0)] == [9, 1]


def test_many_classes_do_not_exceed_the_share() -> None:
    """400 rows of 200 classes: one row of each class would be half of the rows, not a tenth."""
    given = rows(*((f"text {i}", f"class {i % 200:03}") for i in range(400)))
    train, dev = split_rows(given, 0.1, 0, "label")
    assert len(dev) == 40 and len(train) == 360 and len({row.cells["label"] for row in dev}) == 40
    assert (train, dev) == split_rows(given, 0.1, 0, "label") != split_rows(given, 0.1, 1, "label")
    text = " ".join(finding.what for finding in checks.row_findings(train, dev, ["text"], "label"))
    assert "160 of 200 labels have no validation row" in text


def test_of_many_classes_the_largest_are_validated() -> None:
    given = rows(*((f"text {i}", "large" if i < 100 else f"class {i % 100:03}") for i in range(300)))
    _, dev = split_rows(given, 0.1, 0, "label")
    assert 30 <= len(dev) <= 31 and sum(row.cells["label"] == "large" for row in dev) == 10


@pytest.mark.parametrize("given", [rows(), rows(("a", "x")), rows(("a", "x"), ("A ", "y"))])
def test_too_few_rows_cannot_be_split(given: list[Row]) -> None:
    with pytest.raises(ExplorerError, match="different texts; wanted at least 2"):
        split_rows(given, 0.2, 0, "label")


@pytest.mark.parametrize("share", [0, 1, -1, 2, float("nan")])
def test_an_invalid_share_is_rejected(share: float) -> None:
    with pytest.raises(ExplorerError, match="between 0 and 1"):
        split_rows(rows(("a", "x"), ("b", "y")), share, 0)


@pytest.mark.parametrize("cell", ["a=b", "1-2", "", " a", "<b>", -2, -0.5, None, True])
def test_other_cells_are_unchanged(cell: object) -> None:
    assert escape_formula(cell) is cell


def test_validation_rows_that_nearly_repeat_a_training_row_are_named() -> None:
    def of(*texts: str) -> list[Row]:
        return [Row(line, {"text": text}) for line, text in enumerate(texts, 1)]

    train = of("I enjoyed the film and its music.", "The food was cold.", "The staff was rude to us all evening.")
    dev = of("I enjoyed the film and its musics.", "The staff was rude to us all evening!", "the food was COLD.")
    assert checks.near_overlap(train, dev, ["text"]) == [(1, 1), (2, 3)]
    (finding,) = [one for one in checks.row_findings(train, dev, ["text"]) if "nearly" in one.what]
    assert finding.what.startswith("2 of the 3 validation rows nearly repeat") and finding.lines == (1, 2)
    assert checks.near_overlap(train, [], ["text"]) == []
    many = of("x" * 1_000_001)
    assert checks.near_overlap(many, many, ["text"]) == []
