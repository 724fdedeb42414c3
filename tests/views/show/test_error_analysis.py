"""Figure, sentence and table of error analysis, with results made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.answers.bootstrap import Interval
from bertexplorer.charts.marks import Bars, Cells, Lines
from bertexplorer.diagnosis.calibration import Calibration, Temperature
from bertexplorer.diagnosis.slices import Slice
from bertexplorer.training.calibration import Bin
from bertexplorer.training.data.rows import RowProblem
from bertexplorer.views.error_analysis import show as figure
from bertexplorer.views.error_analysis.compute import Answered, ErrorAnalysis, LabelledRow
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check

BINS = (Bin(0.5, 0.6, 0.5, 10), Bin(0.9, 0.95, 0.8, 30))
TEMPERATURE = Temperature(2.0, 0.1, Interval(0.05, 0.15), 0.02, BINS)


def answered(line: int, label: str, said: str, **more: object) -> Answered:
    row = LabelledRow(line, EVIL if line == 2 else f"text {line}", "", label, "")
    return Answered(row, said, 0.9, -2.0 - line, said, 0.8, bool(more.get("doubtful")), int(more.get("repeats", 0)))


def piece(kind: str, name: str, p: float, named: int = 0, right: float = 0.5) -> Slice:
    return Slice(kind, name, tuple(range(20)), right, Interval(0.3, 0.7), 0.9, p, named)


ANSWERS = (
    *(answered(line, EVIL, EVIL) for line in range(2, 32)),
    answered(40, EVIL, "b", doubtful=True),
    answered(41, EVIL, "b"),
    answered(42, EVIL, EVIL, repeats=7),
    *(answered(line, "b", "b") for line in range(50, 57)),
)
HAND = ErrorAnalysis(
    name="uploaded rows",
    labels=("a", "b", EVIL),
    answers=ANSWERS,
    interval=Interval(0.84, 0.99),
    baseline=33 / 40,
    calibration=Calibration(BINS, 0.13, 0.05, 0.001, 0.1, Interval(0.05, 0.15), 0.7, TEMPERATURE),
    slices=(piece("word", f"“{EVIL}”", 0.001, 2), piece("number", "a number", 0.002, 1), piece("label", EVIL, 0.9)),
    neighbours=4,
    unusable=(),
    left_out=0,
    caveats=(),
)


def test_slices_calibration_and_labels_are_drawn() -> None:
    drawn = figure.draw(HAND)
    check(drawn)
    slices, curve, labels = (panel.marks[0] for panel in drawn.panels)
    assert isinstance(slices, Bars) and isinstance(curve, Lines) and isinstance(labels, Cells)
    assert [bar.tone for bar in slices.bars] == ["blue", "orange", "orange", "grey"]
    assert slices.bars[1].label == "Rows with a number" and slices.bars[1].ticks[0].value == 0.9
    assert (slices.bars[1].low, slices.bars[1].high) == (0.3, 0.7)
    even, with_temperature, own = curve.lines
    assert list(even.values) == list(even.at) == [0, 1] and with_temperature.name == "with a temperature"
    assert list(own.values) == [0.5, 0.8] and list(own.at) == [0.6, 0.95]
    assert own.low is not None and 0.6 < own.low[1] < 0.8
    assert tuple(labels.rows) == ("b", EVIL), "in the order of the checkpoint"


def test_what_does_not_help_is_not_drawn() -> None:
    useless = replace(TEMPERATURE, interval=Interval(-0.01, 0.15))
    for temperature in (useless, None):
        alone = replace(HAND, calibration=replace(HAND.calibration, temperature=temperature))
        [curve] = figure.draw(alone).panels[1].marks
        assert isinstance(curve, Lines) and [line.name for line in curve.lines] == ["as often as it says", "as it is"]
        assert "lower the log loss by" not in figure.say(alone)
    assert "No temperature lowers the log loss by more than chance" in figure.say(
        replace(HAND, calibration=replace(HAND.calibration, temperature=useless))
    )


def test_the_sentence() -> None:
    said = figure.say(HAND)
    for words in (
        "95 % of 40 rows",
        "always the same label would get 82 %",
        "Rows with a number: 50 % of 20 are right, against 90 % of the others (p = 0.002",
        "Among the rest, so are rows with “",
        "It is too sure:",
        "a temperature of 2.00 lower the log loss by 0.10 of 0.70 nats",
        "1 label is doubtful: line 40.",
        "1 row repeats an earlier text with another label",
    ):
        assert words in said, words
    more = replace(
        HAND, unusable=(RowProblem(9, "has no text"),), left_out=60, caveats=("The run also reads the date.",)
    )
    assert "40 of 100 rows were drawn at random" in figure.say(more) and "line 9 has no text" in figure.say(more)
    assert "The run also reads the date." in figure.say(more)


@pytest.mark.parametrize(
    ("excess", "interval", "p", "words"),
    [
        (-0.1, Interval(-0.2, -0.05), 0.01, "It is not sure enough: 85 % on average, where 95 % are right"),
        (0.01, Interval(-0.02, 0.05), 0.5, "as sure as it is right: 96 % on average (calibration error"),
        (
            0.01,
            Interval(-0.02, 0.05),
            0.01,
            "Answers of some probabilities are right more or",
        ),
    ],
)
def test_how_sure_it_is(excess: float, interval: Interval, p: float, words: str) -> None:
    found = replace(HAND.calibration, excess=excess, interval=interval, p=p)
    assert words in figure.say(replace(HAND, calibration=found))


def test_what_is_not_significant_is_not_called_worse() -> None:
    plain = replace(HAND, slices=tuple(replace(one, named=0, p=0.2) for one in HAND.slices))
    said = figure.say(plain)
    assert "No kind of rows is wrong more often than the others by more than chance (3 kinds compared)" in said
    bars = figure.draw(plain).panels[0].marks[0]
    assert isinstance(bars, Bars) and {bar.tone for bar in bars.bars[1:]} == {"grey"}
    assert len(bars.bars) == 3, "words that do not differ are not drawn"
    assert "too few rows to compare" in figure.say(replace(HAND, slices=()))


def test_the_table_has_wrong_and_contradicted_rows_the_most_wrong_first() -> None:
    other = replace(HAND, answers=tuple(one._replace(said="a") for one in HAND.answers[:32]))
    table = figure.cases(HAND, other)
    assert [(row["line"], row["category"], row["right"]) for row in table["rows"]] == [
        (42, "another label", True),
        (41, "wrong", False),
        (40, "doubtful label", False),
    ]
    assert table["rows"][2]["others"] == [{"answer": "a", "right": False, "score": -42.0}]
    assert table["rows"][0]["others"] == [None]
    assert table["rows"][2]["answer"] == "b 90 %, like 80 % of its neighbours"
    assert table["rows"][2]["state"] == {"view": "answer", "text": "text 40"}


def test_a_pair_is_opened_as_a_pair() -> None:
    one = ANSWERS[31]
    pair = one._replace(row=one.row._replace(pair="second"))
    [*_, row] = figure.cases(replace(HAND, answers=(pair,)))["rows"]
    assert row["state"] == {"view": "answer", "text": "text 41", "pair": "second"} and row["texts"][1] == "second"


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("label", "good", "rows labelled “good”"),
        ("category", "mail", "rows of the category “mail”"),
        ("length", "3 to 9 tokens", "rows of 3 to 9 tokens"),
        ("cut", "longer than is read", "rows longer than is read"),
        ("unknown", "unknown tokens", "rows with unknown tokens"),
        ("name", "a name", "rows with a name"),
        ("word", "“film”", "rows with “film”"),
    ],
)
def test_kinds_in_words(kind: str, name: str, words: str) -> None:
    assert figure.phrase(piece(kind, name, 0.1)) == words


def test_the_matrix_counts_every_row() -> None:
    labels, counts = figure.confusion_matrix(HAND)
    assert labels == ("b", EVIL) and np.array(counts).tolist() == [[7, 0], [2, 31]]
