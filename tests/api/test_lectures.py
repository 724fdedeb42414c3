"""Lectures over HTTP: their list, their steps, and a class that votes in one."""

from tests.api.classes import opened, refused
from tests.api.conftest import Served
from tests.api.teaching import words


def test_a_lecture_with_its_notes(taught: Served) -> None:
    with taught.browser() as browser:
        listed = browser.get("/lectures").json()
        assert [(one["slug"], one["minutes"], one["votes"]) for one in listed][0] == ("pieces-aloud", 7, 2)
        lecture = browser.get("/lectures/pieces-aloud").json()
        assert lecture["problems"] == [] and words(lecture["opening"]) == "Bring chalk."
        view, vote, again = lecture["steps"]
        assert (view["title"], words(view["notes"]), view["minutes"]) == ("What goes in?", "Type a name.", 3)
        titles = [vote["title"], again["title"]]
        assert titles == ["Vote: Which word is cut into more pieces?", "Vote: Why is a word cut?"]
        refused(browser.get("/lectures/nothing"), "There is no lecture 'nothing'; there are pieces-aloud")


def test_one_class_votes_in_a_whole_lecture(taught: Served) -> None:
    room = opened(taught, lecture="pieces-aloud")
    phone = room.phone()
    seen = room.seen(room.teacher)
    assert (seen["lecture"], seen["lesson"], seen["of"]) == ("pieces-aloud", "", 2)
    assert room.step("next", at=1).json()["question"] == 1  # the first is not asked
    assert room.vote(phone, 0).status_code == 200
    room.step("closed1")
    advice = room.teacher.get(f"/class/{room.code}/advice").json()["advice"]
    assert advice == "1 of 1 were right (100 %). Go on."
    assert room.step("reveal").json()["reveal"]["right"] == [0]  # from the lesson of the question
    refused(room.step("next", at="two"), "at: got 'two'; wanted a whole number.")
    refused(room.step("next", at=1), "at: got 1; wanted a question after 1")
    questions = room.teacher.get(f"/class/{room.code}/summary").json()["questions"]
    assert len(questions) == 1 and "Why is a word cut?" in words(questions[0]["text"])


def test_a_lecture_without_votes_opens_no_class(taught: Served) -> None:
    with taught.browser() as browser:
        refused(browser.post("/class", json={"lecture": "nothing"}), "There is no lecture 'nothing'")
        refused(browser.post("/class", json={"lecture": "silent"}), "The lecture silent has no question for the class.")
