"""Figure and sentence for late interaction, with numbers made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.views.late_interaction import show as figure
from bertexplorer.views.late_interaction.compute import LateInteraction, Passage
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check

PASSAGES = (Passage("better", 2.0), Passage("mine", 1.6, own=True), Passage(EVIL, 0.4))


def hand(**changes: object) -> LateInteraction:
    made = LateInteraction(
        query=(EVIL, "dog"),
        passage=("a", "cat", EVIL),
        cosines=np.array([[0.1, 0.2, 0.9], [-0.2, 0.7, 0.3]]),
        layer=6,
        chance=0.05,
        passages=(),
        first="x",
        shown={1: 0.9},
        caveats=(),
        left_out=0,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_the_best_match_of_each_token_is_framed() -> None:
    drawn = figure.draw(hand())
    check(drawn)
    (cells,) = drawn.panels[0].marks
    assert cells.text == [["0.10", "0.20", "0.90"], ["−0.20", "0.70", "0.30"]]
    assert cells.framed == [(0, 2), (1, 1)] and figure.colours(hand()) == {1: 0.9}


def test_passages_are_bars_that_open_them() -> None:
    drawn = figure.draw(hand(passages=PASSAGES))
    check(drawn)
    bars = drawn.panels[1].marks[0].bars
    assert [bar.value for bar in bars] == [2.0, 1.6, 0.4]
    assert bars[0].door["pair"] == "better" and bars[1].label == "2. mine"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            f"The score is 1.60, the sum over 2 tokens of the query. Best match “{EVIL}” with “{EVIL}” (0.90)",
        ),
        ({}, "least “dog” (0.70). Two random words have 0.05 at layer 6."),
        ({"passages": PASSAGES}, "Of 3 passages the passage is number 2; first is “better”."),
        ({"passages": PASSAGES[1:]}, "Of 2 passages the passage is first."),
        ({"query": ("w",) * 70, "cosines": np.ones((70, 3))}, "The first 60 tokens of each side are drawn."),
        ({"caveats": ("Its files say no.",)}, "Its files say no."),
        ({"left_out": 4}, "4 tokens beyond the checkpoint"),
    ],
)
def test_the_sentence_names_the_best_and_the_least_match(changes: dict[str, object], words: str) -> None:
    assert words in figure.say(hand(**changes))
