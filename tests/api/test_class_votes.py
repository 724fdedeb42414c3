"""The votes of a class as CSV: for its teacher, of all revealed questions, with both rounds and the changes between
them."""

import csv
import io
from typing import Any

from tests.api.classes import Class, opened, refused
from tests.api.conftest import Served

SUMMARISED = ["Which word is cut into more pieces?"]


def rows(room: Class) -> list[tuple[str, ...]]:
    """The rows as (question, vote, answer before, answer, count)."""
    answer = room.teacher.get(f"/class/{room.code}/votes.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == f'attachment; filename="class-{room.code}.csv"'
    names = ("question", "vote", "before", "answer", "count")
    return [tuple(row[name] for name in names) for row in csv.DictReader(io.StringIO(answer.text))]


def test_the_file_has_all_revealed_questions_with_both_votes_and_the_changes(taught: Served) -> None:
    room = opened(taught, lesson="pieces").until("vote1")
    phones = [room.phone() for _ in range(3)]
    for phone, choice in zip(phones, (0, 0, 1), strict=True):
        room.vote(phone, choice)
    assert rows(room) == [], "its votes are hidden until the answer is shown"
    room.until("vote2")
    for phone, choice in zip(phones[:2], (0, 1), strict=True):
        room.vote(phone, choice, 2)
    room.until("reveal")
    first = [("1", "1", "", "cat", "2"), ("1", "1", "", "xyz", "1"), ("1", "2", "", "cat", "1")]
    first += [("1", "2", "", "xyz", "1"), ("1", "1 to 2", "cat", "cat", "1"), ("1", "1 to 2", "cat", "xyz", "1")]
    assert rows(room) == first
    for _ in range(2):  # the second question gets no votes, the third asks for a number
        assert room.step("next").status_code == 200
        room.until("vote1")
        if room.question == 2:
            for phone, number in zip(phones, ("3", "3", "2,5"), strict=True):
                room.vote(phone, number)
            room.until("vote2")
            room.vote(phones[2], "3", 2)
        room.until("reveal")
    second = [("2", "1", "", text, "0") for text in ("It was rare.", "It is long.", "It is foreign.")]
    third = [("3", "1", "", "2.5", "1"), ("3", "1", "", "3.0", "2"), ("3", "2", "", "3.0", "1")]
    assert rows(room) == [*first, *second, *third, ("3", "1 to 2", "2.5", "3.0", "1")]


def test_phones_cannot_download_the_votes(taught: Served) -> None:
    room = opened(taught, {"prompt": "=1+1?", "choices": ["=A1", "b"]}).until("reveal")
    refused(room.phone().get(f"/class/{room.code}/votes.csv"), "Only the browser that opened this class")
    table = room.teacher.get(f"/class/{room.code}/votes.csv").text
    assert "'=1+1?" in table and ",'=A1,0" in table, "a spreadsheet takes no answer for a formula"


def summary(room: Class) -> list[dict[str, Any]]:
    return list(room.teacher.get(f"/class/{room.code}/summary").json()["questions"])


def marks(room: Class) -> list[tuple[str, ...]]:
    """The rows as (answer, BERT's answer, whether it is right)."""
    table = csv.DictReader(io.StringIO(room.teacher.get(f"/class/{room.code}/votes.csv").text))
    return [(row["answer"], row["bert"], row["right"]) for row in table]


def test_the_file_has_berts_answer_and_who_was_right(taught: Served) -> None:
    room = opened(taught, lesson="pieces").until("vote1")
    room.vote(room.phone(), 1)
    room.until("reveal")
    assert marks(room) == [("cat", "xyz", "no"), ("xyz", "xyz", "yes")]
    for _ in range(2):
        assert room.step("next").status_code == 200
        room.until("vote1")
        if room.question == 2:
            for number in ("3", "3,1", "900"):
                room.vote(room.phone(), number)
        room.until("reveal")
    assert marks(room)[-3:] == [("3.0", "3", "yes"), ("3.1", "3", "no"), ("900.0", "3", "no")]


def test_the_teacher_is_told_whether_a_discussion_pays(taught: Served) -> None:
    room = opened(taught, lesson="pieces").until("vote1")
    assert room.teacher.get(f"/class/{room.code}/advice").json() == {"advice": ""}  # the vote is not closed yet
    phones = [room.phone() for _ in range(4)]
    for phone, choice in zip(phones, (0, 0, 1, 1), strict=True):
        room.vote(phone, choice)
    room.until("closed1")
    refused(phones[0].get(f"/class/{room.code}/advice"), "Only the browser that opened this class")
    said = room.teacher.get(f"/class/{room.code}/advice").json()
    assert said == {"advice": "2 of 4 were right (50 %). A discussion pays."}
    assert "counts" not in room.seen(room.teacher), "the answer stays hidden"
    room.until("vote2")
    for phone in phones[:3]:
        room.vote(phone, 1, 2)
    room.until("closed2")
    said = room.teacher.get(f"/class/{room.code}/advice").json()
    assert said == {"advice": "3 of 3 were right (100 %). In the first vote, 2 of 4 were right (50 %)."}
    room.until("reveal")
    assert summary(room) == [{"text": SUMMARISED, "bert": "xyz", "right": [[2, 4], [3, 3]]}]
    refused(phones[0].get(f"/class/{room.code}/summary"), "Only the browser that opened this class")


def test_a_question_without_a_right_answer_gets_no_advice(taught: Served) -> None:
    room = opened(taught, {"prompt": "Which city?", "choices": ["a", "b"]}).until("vote1")
    room.vote(room.phone(), 0)
    room.until("closed1")
    assert room.teacher.get(f"/class/{room.code}/advice").json() == {"advice": ""}
    room.until("reveal")
    assert summary(room) == [{"text": ["Which city?"], "bert": "", "right": [None, None]}]
