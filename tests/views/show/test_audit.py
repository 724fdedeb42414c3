"""Figure, sentence and table of an audit, with results made by hand."""

from bertexplorer.answers.vectors import LabelledLine
from bertexplorer.charts.marks import Bars
from bertexplorer.views.audit import show as figure
from bertexplorer.views.audit.compute import Audit, Finding, Script, Shattered
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check

HAND = Audit(
    name="uploaded lines",
    texts=(LabelledLine(EVIL), LabelledLine("b"), LabelledLine("c", EVIL), LabelledLine("d")),
    findings=(Finding(0, "cut", 0.25), Finding(2, "cut", 0.75), Finding(3, "repeats", 1.0, 1)),
    tokens=20,
    longest=700,
    limit=512,
    unknown=0.125,
    pieces=1.5,
    shattered=tuple(Shattered(f"{EVIL} {i}", 3, i) for i in range(1, 20)),
    scripts=tuple(Script(f"{EVIL} {i}", 1, 1.0, 0.0) for i in range(20)),
)


def test_each_kind_of_finding_has_a_bar_and_long_lists_are_cut() -> None:
    drawn = figure.draw(HAND)
    check(drawn)
    texts, words, scripts = (panel.marks[0] for panel in drawn.panels)
    assert isinstance(texts, Bars) and isinstance(words, Bars) and isinstance(scripts, Bars)
    assert {bar.label: bar.text for bar in texts.bars if bar.value} == {"cut": "2 of 4", "repeats": "1 of 4"}
    assert len(words.bars) == figure.WORDS and len(scripts.bars) == figure.SCRIPTS


def test_the_sentence_says_how_many_and_what_is_lost() -> None:
    said = figure.say(HAND)
    assert "2 are cut and 1 repeats an earlier one" in said and "50 %" in said and "700" in said and "12 %" in said
    assert "Nothing odd" in figure.say(Audit("", HAND.texts, (), 4, 3, 512, 0.0, 1.0, (), ()))


def test_the_table_names_the_line_that_is_repeated() -> None:
    rows = figure.cases(HAND, HAND)["rows"]
    assert rows[-1]["line"] == 4 and rows[-1]["answer"] == "as line 2" and rows[-1]["state"]["text"] == "d"
    assert [row["others"][0]["score"] for row in rows] == [0.25, 0.75, 1.0]


def test_two_tokenizers_are_compared_on_the_same_texts() -> None:
    fewer = Audit("", HAND.texts, (), 4, 3, 512, 0.0, 1.25, (), ())
    assert "1.5 against 1.25" in figure.compare(HAND, fewer).replace("1.50", "1.5")
    assert figure.compare(HAND, HAND) == ""
