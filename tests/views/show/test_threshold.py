"""Figure, sentence and table of the threshold, with results made by hand."""

from dataclasses import replace

import numpy as np

from bertexplorer.answers.bootstrap import Interval
from bertexplorer.charts.marks import Bars, Rule
from bertexplorer.diagnosis.pairs import Pair
from bertexplorer.training.data.rows import RowProblem
from bertexplorer.views.threshold import show as figure
from bertexplorer.views.threshold.compute import Threshold
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check

HAND = Threshold(
    name="uploaded rows",
    pairs=tuple(Pair(line, EVIL, f"text {line}", line <= 10) for line in range(1, 21)),
    similarity=np.linspace(1, 0, 20),
    measure="cosine",
    wanted=0.0,
    threshold=0.5,
    interval=Interval(0.4, 0.6),
    held_out=np.arange(20) % 10 < 8,  # eight of each kind
    unrelated=np.array([0.1, 0.2, 0.3, 0.6]),
    area=0.9,
    area_by_words=0.75,
)


def test_each_kind_of_pairs_and_the_threshold_are_drawn() -> None:
    drawn = figure.draw(HAND)
    check(drawn)
    *kinds, shares = drawn.panels
    assert [panel.title.split(": ")[1] for panel in kinds] == ["10", "10", "4"]
    assert all(isinstance(panel.marks[1], Rule) and panel.marks[1].at == 0.5 for panel in kinds)
    bars = shares.marks[0]
    assert isinstance(bars, Bars) and [bar.value for bar in bars.bars] == [0.5, 0.8, 0.25]
    alike = replace(HAND, similarity=np.ones(20), unrelated=np.empty(0), threshold=None, interval=None)
    check(figure.draw(alike))
    assert len(figure.draw(alike).panels) == 2


def test_the_sentence_says_what_holds_on_other_pairs() -> None:
    said = figure.say(replace(HAND, unusable=(RowProblem(7, "lacks one of its two texts"),)))
    for words in ("Of 20 pairs, 10 match", "0.500", "0.400 to 0.600", "50 % (28 % to 72 %)", "80 % (49 % to 94 %)"):
        assert words in said
    assert "1 pass: in a search, 2,500 of 10,000 passages" in said and "line 7" in said
    assert "No threshold reaches a precision of 90 %" in figure.say(replace(HAND, threshold=None, wanted=0.9))
    assert "none passes" in figure.say(replace(HAND, held_out=np.zeros(20, bool)))
    assert "less than by chance" in figure.say(replace(HAND, area=0.3))
    assert "too few to say" in figure.say(
        replace(HAND, pairs=HAND.pairs[5:], similarity=HAND.similarity[5:], held_out=HAND.held_out[5:])
    )
    far = figure.say(replace(HAND, measure="euclidean", threshold=-0.5, interval=None))
    assert "Two texts pass up to a distance of 0.500" in far


def test_the_table_has_the_pairs_on_the_wrong_side() -> None:
    """Of the threshold that is shown: 0.3 lets four pairs pass that do not match, 0.7 misses four that do."""
    rows = figure.cases(replace(HAND, threshold=0.3), HAND, replace(HAND, pairs=HAND.pairs[:-1]))["rows"]
    assert [row["line"] for row in rows] == [11, 12, 13, 14]
    assert {row["category"] for row in rows} == {"false alarm"}
    assert rows[0]["state"]["view"] == "sentence-similarity" and rows[0]["state"]["text"] == EVIL
    assert all(row["others"][0]["right"] and row["others"][1] is None for row in rows)
    missed = figure.cases(replace(HAND, threshold=0.7))["rows"]
    assert [row["line"] for row in missed] == [7, 8, 9, 10] and missed[0]["answer"] == "no match"


def test_two_checkpoints_are_compared_pair_by_pair() -> None:
    said = figure.compare(HAND, replace(HAND, held_out=np.arange(20) < 10))
    assert "only the second 10: the second is right more often" in said
    assert "may be chance" in figure.compare(HAND, HAND)
    assert figure.compare(HAND, replace(HAND, wanted=0.9)) == ""
