"""Figure for counterfactuals: bars hold the result's own numbers, words are marked and escaped, and the sentences are
true."""

import math
from dataclasses import replace

import pytest

from bertexplorer.answers.kinds.label import LabelReadout
from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.marks import Figure, TextLines
from bertexplorer.charts.style import percent
from bertexplorer.views.counterfactuals import show as figure
from bertexplorer.views.counterfactuals.compute import Change, Counterfactuals, Edit
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check

WORDS = ("The", "man", "saw", EVIL, "on", "the", "[MASK]", ".")
NAN = math.nan


def edit(*changes: tuple[int, str], words: tuple[str, ...] = WORDS, answer: str = "dog", kept: float = 0.1) -> Edit:
    new = tuple(dict(changes).get(i, word) for i, word in enumerate(words))
    changes_made = tuple(Change(i, 0, words[i], word) for i, word in changes)
    return Edit(changes_made, (" ".join(new), ""), (new, ()), answer, 0.6, 0.05, kept, NAN, answer != "cat")


def result(*edits: Edit, words: tuple[str, ...] = WORDS, found: int = 3, **more: object) -> Counterfactuals:
    base = Counterfactuals("mask", "gradient", (" ".join(words), ""), (words, ()), "", "cat", 0.4, "", NAN, edits,
                           found, 40, 2, 0, 1, 0, 0)  # fmt: skip
    return replace(base, **more)  # type: ignore[arg-type]


def reduction(steps: int) -> Counterfactuals:
    words = tuple(f"w{i}" for i in range(steps + 1)) + (EVIL, "[MASK]")
    edits = []
    for i in range(steps):
        change = (Change(i, 0, words[i], ""),)
        left = words[i + 1 :]
        edits.append(Edit(change, (" ".join(left), ""), (left, ()), "cat", 0.5, 0.4, 0.5 / (i + 1), NAN, False))
    return result(*edits, words=words, found=0, method="reduction", most=0)


TWO = result(edit((1, EVIL), (5, "a")), edit((1, "girl")), edit((3, "it"), kept=0.2))
LONG = tuple(f"word{i}" for i in range(200))
CASES = [
    TWO,
    result(edit((100, EVIL), words=LONG), words=LONG),
    result(*[edit((1, f"x{i}")) for i in range(20)]),
    result(edit((1, "boy"), answer="cat"), found=0),
    result(found=0),
    reduction(1),
    reduction(60),
    reduction(0),
    replace(TWO, wanted=EVIL, wanted_before=0.1, edits=tuple(replace(one, wanted=0.3) for one in TWO.edits)),
]


def texts(fig: Figure) -> list[str]:
    """The changed text of each edit."""
    keys = [mark for panel in fig.panels for mark in panel.marks[1:] if isinstance(mark, TextLines)]
    return ["".join(part.text for part in line) for key in keys for line in key.lines]


@pytest.mark.parametrize("one", CASES)
def test_figures_are_valid_and_escaped(one: Counterfactuals) -> None:
    fig = figure.draw(one)
    check(fig)
    assert chart(fig).settings["height"] <= 4000
    assert figure.say(one).endswith(".")


def test_a_third_answer_has_its_own_bar() -> None:
    first = figure.draw(CASES[-1]).panels[1].marks[0].bars
    assert [(bar.behind, bar.value) for bar in first] == [(0.4, 0.1), (0.1, 0.3), (0.05, 0.6)]


def test_steps_of_a_reduction_are_bars() -> None:
    (panel,) = figure.draw(reduction(60)).panels
    bars = panel.marks[0].bars
    assert len(bars) == 1 + figure.STEPS and bars[0].label.startswith("the whole text\nw0 w1")
    assert bars[-1].label == f"−w59\nw60 {EVIL} [MASK]" and bars[-1].text == percent(bars[-1].value)


def test_new_words_are_marked() -> None:
    (line,) = figure.draw(TWO).panels[1].marks[1].lines
    assert [part.text for part in line if part.bold] == [EVIL, "a"]
    assert "".join(part.text for part in line) == f"The {EVIL} saw {EVIL} on a [MASK]."
    assert figure.draw(TWO).panels[1].title == f"man → {EVIL} and the → a"
    (long,) = texts(figure.draw(CASES[1]))
    assert long.startswith("… word96 word97 word98 word99") and long.endswith("word104 …") and "word0 " not in long


def test_the_two_texts_of_a_pair_stay_apart() -> None:
    one = replace(edit((1, "girl")), words=(("The", "girl", "."), ("She", "ran", ".")))
    (line,) = texts(figure.draw(result(one)))
    assert line == "The girl. | She ran."


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (CASES[3], "40 edits of up to 2 words were tried, and none changes the answer"),
        (CASES[3], "The one that comes closest, man → boy, leaves it 10 %."),
        (CASES[-1], "lead to “<img"),
        (replace(TWO, other_masks=2), "the first of 3 masks"),
        (replace(TWO, untried=7, left_out=1234), "7 words were not tried. 1,234 tokens"),
        (replace(TWO, tagged="Paris", answer="B-LOC"), "The tag of “Paris”, B-LOC, has 40 %."),
        (reduction(0), "No word can be left out"),
        (reduction(60), "The last 24 of 60 steps are drawn."),
        (replace(reduction(3), group=4), "up to 4 neighbouring words"),
    ],
)
def test_the_sentence_says_what_was_tried(one: Counterfactuals, words: str) -> None:
    assert words in figure.say(one)


def test_each_row_of_the_table_opens_its_edit() -> None:
    table = figure.cases(TWO, TWO)
    assert [row["wanted"] for row in table["rows"]] == [f"man → {EVIL}; the → a", "man → girl", f"{EVIL} → it"]
    first = table["rows"][0]
    assert first["state"] == {"view": "fill-mask", "text": TWO.edits[0].texts[0], "pair": "",
                              "options": {"words": "cat, dog"}}  # fmt: skip
    assert (first["right"], first["score"], first["others"][0]["answer"]) == (None, 0.1, "dog")
    assert figure.cases(replace(TWO, readout=LabelReadout))["rows"][0]["state"]["view"] == "answer"
    assert figure.cases(reduction(2))["title"] == "Steps"


def test_the_comparison_counts_the_shared_edits() -> None:
    other = replace(TWO, edits=TWO.edits[1:])
    assert figure.compare(TWO, other) == "2 of the listed edits change both answers, first man → girl."
    assert "No listed edit" in figure.compare(TWO, replace(TWO, edits=(edit((1, "boy")),)))
    assert figure.compare(TWO, reduction(2)) == ""
