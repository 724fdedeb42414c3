"""Figure and sentence for term weights, with numbers made by hand."""

from dataclasses import replace

import pytest

from bertexplorer.views.term_weights import show as figure
from bertexplorer.views.term_weights.compute import Term, Terms, TermWeights
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def term(word: str, weight: float, *sources: str, own: bool = False) -> Term:
    return Term(word, weight, own, sources, tuple(range(len(sources))))


ONE = Terms((term("cat", 3.0, "cat", own=True),), (term(EVIL, 2.5, "cat"), term("pet", 2.0, "[SEP]")), 9000, {1: 2.5})


def hand(pair: bool = False, **changes: object) -> TermWeights:
    common = (term(EVIL, 7.5, "cat", "dog"), term("cat", 6.0, "cat", "cat", own=True)) if pair else ()
    score = 120.0 if pair else float("nan")
    made = TermWeights((ONE, ONE) if pair else (ONE,), common, score, 6.0, 30_000, {1: 1.0}, 0, 12)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_text_has_its_own_words_and_the_added_ones() -> None:
    drawn = figure.draw(hand())
    check(drawn)
    own, added = (panel.marks[0].bars for panel in drawn.panels)
    assert [bar.value for bar in own] == [3.0] and [bar.value for bar in added] == [2.5, 2.0]
    assert added[1].hover == "pet: 2.00, from [SEP]"
    assert figure.colours(hand()) == {1: 1.0}


def test_two_texts_begin_with_what_they_share() -> None:
    drawn = figure.draw(hand(pair=True))
    check(drawn)
    shared = drawn.panels[0].marks[0].bars
    assert len(drawn.panels) == 5 and [bar.value for bar in shared] == [7.5, 6.0]
    assert "from cat and dog" in shared[0].hover
    assert len(figure.draw(hand(pair=True, common=())).panels) == 4


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (hand(), f"To the words of the text BERT adds “{EVIL}” (from “cat”) and “pet” (from “[SEP]”)."),
        (hand(), "This checkpoint was not trained for such a search, so the weights are nearly alike: 9,000 of 30,000"),
        (hand(texts=(replace(ONE, above_zero=150),)), "150 of 30,000 pieces have a weight, few enough for a search"),
        (hand(texts=(replace(ONE, added=()),)), "To the words of the text BERT adds none."),
        (hand(pair=True), f"The score is 120: most is added by “{EVIL}” (7.5, from cat and dog) and “cat” (6.0, from"),
        (hand(pair=True), "Pieces that both texts have are 5.0 % of it. To the first text BERT adds"),
        (hand(pair=True, common=()), "The two texts share no piece: their score is 0."),
        (hand(left_out=3), "3 tokens beyond the checkpoint"),
    ],
)
def test_the_sentence_names_the_words_and_where_they_come_from(result: TermWeights, words: str) -> None:
    assert words in figure.say(result)
