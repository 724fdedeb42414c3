"""Grading: each kind of question with each kind of answer."""

from functools import partial

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.learn.grading import UNEXPECTED, claim, grade
from bertexplorer.learn.lesson import read_lesson
from bertexplorer.learn.numbers import read_number
from tests.learn.test_lesson import HEAD

FACTS = {"p": {"paris": 0.7, "rome": 0.2}.__getitem__, "top": lambda: "Paris"}


def block(source: str):
    lesson = read_lesson(f"{HEAD}```{source}\n```", "x")
    assert not lesson.problems, lesson.problems
    return lesson.blocks[0]


PREDICT = block("""predict a
Which?
- [ ] *Rome*
  > Rome has {p('rome'):%}.
- [ ] Paris.
view: v
key: top()
after: It is {top()}.""")
CHOICE = block("choice a\nWhich?\n- [ ] x\n  > No.\n- [x] y\nafter: So it is.")
NUMBER = block("""number a
How much, in %?
view: v
key: p('paris')
tolerance: 0.05
- below 0.3
  > Far too low.
- 0.9 to 1
  > Too sure.
after: {p('paris'):%}.""")
FIND = block("""find a
Find.
start: v
accept: p("paris") > 0.9
near: p("paris") > 0.5 -> "Close: {p('paris'):%}."
hint: Try.
example: Paris""")
CLICK = block("click a\nPress.\nview: v\naccept: clicked() == top()\nhint: Look.\nafter: Yes.")
SHARE = block("share a\nShare.\n- Paris\n  value: p('paris')\n- Rome\n  value: p('rome')\n- another\nview: v")
SAY = block("say a\nWhy?\nmodel: Because.\n- names it")


def facts(**given):
    return {**FACTS, **{name: partial(always, value) for name, value in given.items()}}


def always(value, *_):
    return value


def test_feedback_for_another_checkpoint_is_left_out():
    written = block("predict a\nWhich?\n- [x] Paris\n  > Yes.\n- [ ] Rome\n  > No.\nview: v\nkey: top()")
    assert grade(written, 0, FACTS).text == "Yes." and grade(written, 1, FACTS).text == "No."
    other = grade(written, 1, {"top": lambda: "rome"})
    assert other.right and other.text == UNEXPECTED and other.answer == "Rome"


def test_predictions_have_one_attempt_and_the_key_of_the_view():
    feedback = grade(PREDICT, 0, FACTS)
    assert (feedback.right, feedback.done, feedback.key, feedback.answer) == (False, True, 1, "Paris.")
    assert (feedback.text, feedback.after) == ("Rome has 20 %.", "It is Paris.")
    with pytest.raises(ExplorerError, match="None of the choices"):
        grade(PREDICT, 0, facts(top="London"))


def test_predictions_are_graded_by_conditions():
    by = block(
        "predict a\nWhich?\n- [ ] x\n  > a\n  when: p('rome') > 0.5\n- [ ] y\n  > b\n  when: p('rome') <= 0.5\nview: v"
    )
    assert grade(by, 1, FACTS).right
    assert grade(by, 1, facts(p=0.9)).key == 0


def test_a_choice_has_two_attempts_before_the_answer():
    first, second = (grade(CHOICE, 0, {}, attempt) for attempt in (1, 2))
    assert (first.right, first.done, first.answer, first.key, first.after) == (False, False, "", None, "")
    assert (second.right, second.done, second.answer, second.key, second.after) == (False, True, "y", 1, "So it is.")
    assert grade(CHOICE, 1, {}).right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("0.7", True),
        (".66", True),
        ("0,74", True),
        ("68 %", True),
        ("68", True),
        (0.7, True),
        ("64%", False),
        ("0.76", False),
    ],
)
def test_numbers_are_accepted_as_people_type_them(answer, right):
    assert grade(NUMBER, answer, FACTS).right is right


def test_a_wrong_number_gets_the_feedback_of_its_range():
    assert grade(NUMBER, "0.1", FACTS).text == "Far too low."
    assert grade(NUMBER, "95 %", FACTS).text == "Too sure."
    assert grade(NUMBER, "0.5", FACTS).text == "Too low."
    last = grade(NUMBER, "0.8", FACTS, 2)
    assert (last.text, last.answer, last.after) == ("Too high.", "70.0 %", "70 %.")


SMALL = block("""number a
How much, in %?
view: v
key: p('paris') / 100
tolerance: 0.003
- above 0.3
  > Far too much.""")
RANK = block("number a\nWhat rank?\nview: v\nkey: p('paris') * 10000\ntolerance: 10 %")
ODDS = block("number a\nWhat odds?\nview: v\nkey: p('paris') * 2 + 0.012\ntolerance: 0.1")  # 1.412


@pytest.mark.parametrize("answer", ["0.7", "0.5", "0,9", "0.7 %", ".7", 0.7, "0.007"])
def test_a_number_below_1_in_a_question_in_per_cent_is_in_per_cent_or_a_share(answer):
    feedback = grade(SMALL, answer, FACTS)
    assert (feedback.right, feedback.text) == (True, "")
    assert not grade(SMALL, "0.3", FACTS).right and grade(SMALL, "40", FACTS).text == "Far too much."


@pytest.mark.parametrize(
    ("block", "answer"),
    [(RANK, "7,000"), (RANK, "7000"), (RANK, "+7,100"), (ODDS, "1,412"), (ODDS, "1.4"), (ODDS, "1,4")],
)
def test_a_comma_separates_thousands_or_decimals(block, answer):
    assert grade(block, answer, FACTS).right


def test_a_percentage_tolerance_is_relative_to_the_key():
    of_key = block("number a\nHow many?\nview: v\nkey: p('paris') * 1000\ntolerance: 10 %")
    assert grade(of_key, "635", FACTS).right and not grade(of_key, "625", FACTS).right
    assert grade(of_key, "1", FACTS, 2).answer == "700"


def test_a_find_says_what_was_found_and_what_was_wanted():
    assert grade(FIND, None, FACTS).found == ("`p('paris')` is 0.7; wanted: more than 0.9.",)
    assert grade(FIND, None, facts(p=0.95)).found == ()
    several = block(
        "find a\nFind.\nstart: v\n"
        "accept: p('rome') >= 2 * p('paris') and top() != 'Paris' and p('rome') < 1 and not p('rome') < 1"
    )
    assert grade(several, None, FACTS).found == (
        "`p('rome')` is 0.2; wanted: at least `2 * p('paris')`, which is 1.4.",
        "`top()` is “Paris”; wanted: other than “Paris”.",
        "`not p('rome') < 1` does not hold.",
    )


def test_a_lesson_may_say_what_was_found_in_its_own_words():
    own = block(
        "find a\nFind.\nstart: v\naccept: p('rome') > 0.2\n"
        "found: *Rome* has {p('rome'):%}, *Oslo* {p('oslo'):%}; more than 20 % is wanted."
    )
    assert grade(own, None, facts(p=0.1996)).found == ("*Rome* has 19.96 %, *Oslo* 19.96 %; more than 20 % is wanted.",)
    assert grade(own, None, {"p": {"rome": 0.1}.__getitem__}).found == ("`p('rome')` is 0.1; wanted: more than 0.2.",)


def test_a_number_near_a_limit_has_enough_digits_to_tell_them_apart():
    near = block(
        "find a\nFind.\nstart: v\naccept: p('paris') > 0.5\nnear: p('paris') > 0.4 -> \"Closer: {p('paris'):%}.\"\n"
        "after: {p('paris'):%} and {p('rome'):.1}."
    )
    assert grade(near, None, facts(p=0.502)).after == "50.2 % and 0.502."
    assert grade(near, None, facts(p=0.4996)).text == "Closer: 49.96 %."
    assert grade(near, None, facts(p=0.4996)).found == ("`p('paris')` is 0.4996; wanted: more than 0.5.",)
    assert grade(near, None, facts(p=0.55)).after == "55 % and 0.6."
    assert grade(near, None, facts(p=0.5)).text == "Closer: 50 %.", "exactly at the limit"
    held = block("claim a\ntext: {p('paris'):%}.\nview: v\nholds: p('paris') > 0.5")
    assert claim(held, facts(p=0.502)).text == "50.2 %."


def test_a_condition_that_makes_no_sense_yet_is_left_out_of_what_was_found():
    depends = block("find a\nFind.\nstart: v\naccept: p('paris') > 1 and p('rome') / (p('paris') - p('paris')) > 1")
    assert grade(depends, None, FACTS).found == ("`p('paris')` is 0.7; wanted: more than 1.",)


def test_a_find_gives_hints_until_it_is_solved():
    first, second = (grade(FIND, None, FACTS, attempt) for attempt in (1, 2))
    assert (first.right, first.done, first.text, first.answer) == (False, False, "Close: 70 %.", "")
    assert (second.done, second.answer) == (False, "Paris")
    assert grade(FIND, None, facts(p=0.1), 1).text == ""
    assert grade(FIND, None, facts(p=0.1), 2).text == "Try."
    assert grade(FIND, None, facts(p=0.95)).right


def test_a_press_on_a_token_has_two_attempts():
    assert grade(CLICK, "Paris", FACTS).right
    first, second = (grade(CLICK, "Rome", FACTS, attempt) for attempt in (1, 2))
    assert (first.text, first.done, second.done) == ("Look.", False, True)


def test_points_are_compared_with_the_checkpoints_shares():
    feedback = grade(SHARE, [50, 50, 0], FACTS)
    assert feedback.shares == pytest.approx((0.7, 0.2, 0.1))
    assert feedback.text == "70 of your 100 points are where BERT puts them." and feedback.right is None


def test_free_text_answers_are_not_graded():
    feedback = grade(SAY, "It does.", {})
    assert (feedback.right, feedback.answer, feedback.criteria) == (None, "Because.", ("names it",))


@pytest.mark.parametrize(
    ("block", "answer", "message"),
    [
        (PREDICT, 2, "0 to 1"),
        (PREDICT, True, "the number of a choice"),
        (PREDICT, "0", "the number of a choice"),
        (CHOICE, None, "the number of a choice"),
        (NUMBER, "many", "'many' is not a number"),
        (NUMBER, "1e999", "is not a number"),
        (NUMBER, None, "is not a number"),
        (CLICK, "", "Nothing is pressed"),
        (CLICK, "x" * 101, "Nothing is pressed"),
        (SHARE, [50, 40, 0], "add up to 90"),
        (SHARE, [150, -50, 0], "exactly 100"),
        (SHARE, [100], "3 numbers"),
        (SHARE, ["a", 0, 0], "3 numbers"),
        (SAY, "  ", "Nothing is written"),
    ],
)
def test_invalid_answers_are_rejected(block, answer, message):
    with pytest.raises(ExplorerError, match=message):
        grade(block, answer, FACTS)


def test_a_false_claim_gives_its_alternative():
    source = "claim a\ntext: It is {p('paris'):%}.\nview: v\nholds: p('paris') > 0.5\notherwise: Only {p('paris'):%}."
    assert claim(block(source), FACTS).text == "It is 70 %."
    other = claim(block(source), facts(p=0.3))
    assert not other.holds and other.text == "Only 30 %."


def test_numbers_are_read_in_every_notation():
    read = {"1": 1, "-2.5": -2.5, "0,5": 0.5, ".5": 0.5, "50 %": 0.5, 3: 3, "\u22120.3": -0.3, "0,125": 0.125}
    read |= {"1,595": 1595, "12,345,678": 12_345_678, "1,59": 1.59, "1,5951": 1.5951}
    assert {item: read_number(item) for item in read} == read


@pytest.mark.parametrize("item", ["1,23,456", "1,234,56", "0,123,456", "1,234.5.6", "--1", "1_000"])
def test_a_malformed_number_is_rejected(item):
    with pytest.raises(ExplorerError, match="is not a number"):
        read_number(item)
