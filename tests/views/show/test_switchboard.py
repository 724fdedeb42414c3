"""Figure for switchboard: the effect of a press on a cell, the sentence, and odd tokens."""

from typing import Any

import numpy as np
import pytest

from bertexplorer.answers.candidates import Candidate
from bertexplorer.answers.heads import Head
from bertexplorer.charts.adaptors import chart
from bertexplorer.views.switchboard import show as switchboard
from bertexplorer.views.switchboard.compute import BoardOutcome, Switchboard
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check

CHANGE = np.array([[-0.1, 0.2], [-2.5, 0.05], [0.0, 1.5]])
CANDIDATES = (Candidate("a", 0, 0.5, 1), Candidate("b", 1, 0.25, 2))


def board(off: tuple[Head, ...] = (Head(1, 0),), how: str = "zero", **more: object) -> Switchboard:
    states = np.zeros((3, 2), bool)
    for head in off:
        states[head] = True
    fields = {
        "target": "paris",
        "off": off,
        "how": how,
        "before": BoardOutcome(CANDIDATES, 0.6, None),
        "after": BoardOutcome(CANDIDATES, 0.1 if off else 0.6, None),
        "controls": np.array([0.5, 0.55]) if off else np.zeros(0),
        "change": CHANGE,
        "states": states,
        "other_masks": 0,
    }
    return Switchboard(**{**fields, **more})


def leads(result: Switchboard) -> list[list[str]]:
    """The value of "off" that each cell would set."""
    doors = switchboard.draw(result).panels[0].marks[0].doors
    return [[door["set"]["off"] for door in line] for line in doors]


def test_a_press_switches_one_head_and_keeps_the_others() -> None:
    assert leads(board(())) == [["1·1", "1·2"], ["2·1", "2·2"], ["3·1", "3·2"]]
    off = leads(board((Head(1, 0), Head(0, 1))))
    assert off[1][0] == "1·2" and off[0][1] == "2·1" and off[2][1] == "1·2, 2·1, 3·2"


def test_the_sentence_says_what_was_done_to_the_heads() -> None:
    assert "patching 3·2 raises it most" in switchboard.say(board(how="patch"))
    none = switchboard.say(board(()))
    assert none.startswith("With all heads on, “paris” has 60 %.") and "random" not in none
    # Four of six heads are off, so a set of four cannot avoid them.
    many = board((Head(0, 0), Head(0, 1), Head(1, 0), Head(1, 1)))
    assert "2 random sets of 4 heads leave it" in switchboard.say(many)
    assert "2 random sets of 1 other head leave it" in switchboard.say(board())


@pytest.mark.parametrize("how", ["zero", "mean", "patch"])
def test_one_bar_and_one_list_are_drawn_while_all_heads_are_on(how: str) -> None:
    assert len(drawn(board((), how), "bars")[0].bars) == 1 and len(drawn(board(how=how), "bars")[0].bars) == 3
    assert written(board((), how)).count("a  50 %") == 1 and written(board(how=how)).count("a  50 %") == 2


def written(result: Switchboard) -> list[str]:
    return [words.text for mark in drawn(result, "text") for words in mark.lines]


def drawn(result: Switchboard, kind: str) -> list[Any]:
    """The marks of one kind."""
    return [mark for panel in switchboard.draw(result).panels for mark in panel.marks if mark.kind == kind]


def test_odd_tokens_are_shown_as_typed() -> None:
    fig = switchboard.draw(board(target=EVIL, before=BoardOutcome((Candidate(EVIL, 3, 0.5, 1),), 0.6, 0.7)))
    check(fig)
    assert EVIL in fig.to_json() and "<img" not in chart(fig).to_json()
