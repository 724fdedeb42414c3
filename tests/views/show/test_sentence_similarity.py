"""Figure and sentence for the similarity of two sentences, with numbers made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.charts.marks import Button
from bertexplorer.views.sentence_similarity import show as figure
from bertexplorer.views.sentence_similarity.compute import MARKS, MASKS, Part, SentenceSimilarity
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def hand(**changes: object) -> SentenceSimilarity:
    made = SentenceSimilarity(
        texts=(f"{EVIL} sat.", "dogs"),
        similarity=0.6,
        measure="cosine",
        matrix=np.array([[0.4, 0.05], [-0.1, 0.0], [0.15, 0.1]]),
        total=0.6,
        gap=0.0,
        rows=(Part(EVIL, 1), Part(".", 2), Part(MARKS, None)),
        columns=(Part("dogs", 1), Part(MARKS, None)),
        is_sum=True,
        exact=True,
        chance=np.array([-0.1, 0.1, 0.2, 0.7]),
        own_lines=False,
        pipeline="the mean over all tokens",
        prompts=("", ""),
        cut=(0, 0),
        shown={1: 0.45, 2: -0.1, 4: 0.45},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_the_figure_shows_the_cells_and_what_chance_gives() -> None:
    drawn = figure.draw(hand())
    check(drawn)
    (cells,), (pairs, line) = (panel.marks for panel in drawn.panels)
    assert cells.text == [["40", "5"], ["−10", ""], ["15", "10"]] and sum(pairs.values) == 4
    assert cells.hover[2][0] == "special and dogs: +0.1500" and line.at == hand().similarity
    assert drawn.buttons == [Button("Which words brought it there?", {"set": {"terms": "input words"}})]
    assert not figure.draw(hand(exact=False, is_sum=False)).buttons
    assert figure.draw(hand(exact=False)).buttons[0].door["set"] == {"terms": "last layer"}
    many = hand(matrix=np.ones((3, 20)), columns=(Part("w", 1),) * 20)
    assert figure.draw(many).panels[0].marks[0].text[0][0] == "", "no room for numbers"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "The cosine is 0.60. Of 4 pairs of unrelated sentences, whose mean is 0.22, one is at least as similar."),
        ({}, f"Of the words, most is added by “{EVIL}” with “dogs” (+0.400). The cells sum to the cosine exactly."),
        ({"similarity": 0.05}, "3 (75 %) are at least as similar."),
        ({"own_lines": True, "similarity": 0.8}, "Of 4 pairs of your lines, whose mean is 0.22, none is"),
        ({"similarity": -2.0, "measure": "euclidean", "chance": np.array([-4.0, -2.5])}, "The distance is 2.00. Of 2"),
        ({"exact": False, "gap": 0.004, "rows": (Part(EVIL, 1), Part(".", 2), Part(MASKS, None))}, "error of −0.004."),
        ({"exact": False, "gap": 0.2}, "too much to rely on small cells."),
        ({"matrix": -np.ones((3, 2))}, "No two words add to it."),
        ({"prompts": ("query: ", "")}, "Before the first text stands “query: ”, before the second nothing."),
        ({"cut": (0, 12)}, "12 tokens of the second text are beyond the limit and not read."),
        ({"measure": "dot"}, "The dot product is 0.60."),
    ],
)
def test_the_sentence_says_the_number_its_words_and_what_they_are(changes: dict[str, object], words: str) -> None:
    assert words in figure.say(hand(**changes))
