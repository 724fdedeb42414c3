"""Lessons in Python: answers are graded as on the page, including those that are settings of a view."""

import pytest

import bertexplorer as bx
from bertexplorer.errors import ExplorerError


def test_a_find_is_answered_by_settings_or_a_link():
    lesson = bx.lesson("roll-again")
    assert not lesson.check("roll-lower").right
    assert lesson.check("roll-lower", options={"roll": 10}).right
    assert lesson.check("roll-lower", link="/?view=sentence-pairs&roll=10").right
    with pytest.raises(ExplorerError, match="sentence-pairs has no setting 'rolls'; its settings are not_next"):
        lesson.check("roll-lower", options={"rolls": 6})
    last = lesson.check("roll-lower", attempt=2)
    assert str(last).endswith("Answer: /?view=sentence-pairs&roll=10")


def test_a_revealed_answer_is_not_asked_for_again():
    lesson = bx.lesson("next-sentence")
    assert str(lesson.check("first-guess", 0)).startswith("Not quite. ")
    assert "Answer: The train was not late." in str(lesson.check("first-guess", 0))


def test_words_quoted_in_italics_get_quotation_marks():
    question = bx.lesson("sure-and-wrong").questions["not-an-animal"]
    assert question.endswith("What does “not” do to the probability of “animal”?")
