"""What a class answered: the share that was right decides whether a discussion pays."""

from pathlib import Path

import pytest

from bertexplorer.classroom.room import ClassQuestion, Room
from bertexplorer.classroom.votes import advice, bert_answer, is_right, vote_table

NUMBER = ClassQuestion("How sure is BERT, in %?", ())
REVEAL = {"right": [0]}


def room_of(*votes: float, phase: str = "closed1", second: tuple[float, ...] = ()) -> Room:
    """A class with one question of two choices, and these votes."""
    room = Room("ABCDEF", "teacher", "", (ClassQuestion("Which?", ("*this*", "that")),), Path("unused"), phase=phase)
    for round, cast in ((1, votes), (2, second)):
        room.votes[0, round] = {f"voter {i}": choice for i, choice in enumerate(cast)}
    return room


@pytest.mark.parametrize(
    ("right", "of", "said"),
    [
        (1, 4, "1 of 4 were right (25 %). So few that a discussion helps little: explain it."),
        (1, 3, "1 of 3 were right (33 %). A discussion pays."),
        (2, 3, "2 of 3 were right (67 %). A discussion pays."),
        (3, 4, "3 of 4 were right (75 %). Go on."),
    ],
)
def test_between_a_third_and_two_thirds_a_discussion_pays(right: int, of: int, said: str) -> None:
    assert advice(room_of(*[0] * right, *[1] * (of - right)), REVEAL) == said


def test_after_the_second_vote_both_are_named() -> None:
    room = room_of(0, 1, phase="closed2", second=(0, 0))
    assert advice(room, REVEAL) == "2 of 2 were right (100 %). In the first vote, 1 of 2 were right (50 %)."


def test_nothing_is_said_without_votes_or_without_a_right_answer() -> None:
    assert advice(room_of(), REVEAL) == ""
    assert advice(room_of(0, 1), {"shares": [0.5, 0.5]}) == ""


def test_berts_answer_is_the_right_choice_the_number_or_the_likeliest() -> None:
    (choices,) = room_of().questions
    assert bert_answer(choices, {"right": [0, 1], "shares": [0.1, 0.9]}) == "this, that"
    assert bert_answer(choices, {"shares": [0.1, 0.9]}) == "that"
    assert bert_answer(choices, {"problem": "no head"}) == ""
    assert bert_answer(NUMBER, {"number": 0.125, "tolerance": 0.01}) == "12.5 %"


def test_a_number_within_the_tolerance_is_right() -> None:
    reveal = {"number": 0.5, "tolerance": 0.05}
    assert [is_right(reveal, number) for number in (0.45, 0.55, 0.56)] == [True, True, False]
    assert is_right({"number": 0.5}, 0.5) is None, "kept by an earlier version"


def test_a_class_kept_without_answers_still_makes_a_table() -> None:
    table = vote_table(room_of(0, phase="reveal"))
    assert [(row["answer"], row["bert"], row["right"]) for row in table] == [("this", "", ""), ("that", "", "")]
