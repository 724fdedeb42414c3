"""A class over HTTP: what the teacher's browser and each phone receive, and when."""

from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from starlette.datastructures import URL
from starlette.requests import Request

from bertexplorer.api.classroom import join_fields
from bertexplorer.classroom.room import Room
from bertexplorer.settings import Settings
from tests.api.classes import OWN, STEPS, opened, refused
from tests.api.conftest import Served
from tests.api.teaching import EVIL, VIEW, words

MASKED = {**OWN, "link": "/?view=fill-mask&text=The+capital+of+france+is+[MASK]."}
HIDDEN = {"counts", "numbers", "moves", "here", "voted", "reveal", "right", "feedback", "after", "shares", "teacher"}


def names(value: Any) -> set[str]:
    """All names of fields, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*(names(item) for item in value.values()))
    return set().union(*(names(item) for item in value)) if isinstance(value, list) else set()


def test_three_phones_vote_twice_and_see_the_class_next_to_bert(taught: Served) -> None:
    room = opened(taught, MASKED)
    phones = [room.phone() for _ in range(3)]
    for phone in phones:
        assert room.seen(phone)["phase"] == "lobby"
    room.until("vote1")
    for phone, choice in zip(phones, (0, 0, 1), strict=True):
        assert room.vote(phone, choice).json()["saved"] == choice
    assert {room.seen(room.teacher)[name] for name in ("here", "voted")} == {3}
    room.until("vote2")
    for phone, choice in zip(phones, (0, 1, 1), strict=True):
        assert room.vote(phone, choice, 2).status_code == 200
    room.until("reveal")
    seen = room.seen(phones[1])
    assert seen["counts"] == [[2, 1, 0], [1, 2, 0]] and seen["moves"] == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert seen["own"] == [None, 0, 1]
    shares = seen["reveal"]["shares"]
    answer = phones[0].post("/fill-mask", json={"text": "The capital of france is [MASK].", "top": 100}).json()
    given = {row["token"]: row["probability"] for row in answer["rows"]}
    assert shares[:2] == pytest.approx([given["paris"], given["london"]], rel=1e-3) and sum(shares) == pytest.approx(1)


def test_a_lesson_asks_its_questions_in_order(taught: Served) -> None:
    room = opened(taught, lesson="pieces")
    phone, asked = room.phone(), []
    for question, choice in enumerate((1, 0, "3", "30", 4)):
        room.until("vote1")
        seen = room.seen(phone)
        assert (seen["question"], seen["of"], seen["round"]) == (question, 5, 1)
        asked.append(len(seen["choices"]))
        assert room.vote(phone, choice).status_code == 200
        room.step("closed1")
        room.step("reveal")
        shown = room.seen(phone)
        if question == 0:
            assert shown["reveal"]["right"] == [1] and shown["reveal"]["link"] == VIEW
            assert shown["reveal"]["feedback"][0] == [["p", {}, ["No: cat has a row of its own."]]]
        if question == 2:
            assert (shown["numbers"], shown["reveal"]["number"]) == ([[3.0], []], 3)
        if question == 3:
            assert shown["numbers"] == [[pytest.approx(0.3)], []] and shown["percent"]
        room.step("next")
    assert asked == [2, 3, 0, 0, 9], "tokens to press are choices"
    assert room.phase == "reveal" and room.question == 4
    refused(room.step("next"), "After reveal comes next")


def test_the_checkpoint_of_a_lesson_answers_its_questions(taught: Served) -> None:
    room = opened(taught, lesson="pieces", checkpoint="little")
    room.until("reveal")
    assert room.seen(room.teacher)["reveal"]["link"] == f"{VIEW}&checkpoint=little"
    response = taught.browser().post("/class", json={"lesson": "pieces", "checkpoint": "nobody's"})
    assert response.status_code == 422 and "nobody's" in response.json()["detail"]


def test_a_lesson_is_asked_and_answered_in_its_language(taught: Served) -> None:
    room = opened(taught, lesson="welcome", language="de").until("vote1")
    phone = room.phone()
    seen = room.seen(phone)
    assert seen["language"] == "de" and words(seen["prompt"]).startswith("Du verdeckst milk")
    assert words(seen["choices"][1]) == "Ein anderes Wort"
    room.until("reveal")
    assert "an die erste Stelle" in words(room.seen(phone)["reveal"]["after"])
    english = opened(taught, lesson="welcome", language="xx").until("vote1")
    seen = english.seen(english.phone())
    assert seen["language"] == "en" and words(seen["prompt"]).startswith("You hide milk")


@pytest.mark.parametrize(
    ("typed", "share"), [("1", 0.01), ("1 %", 0.01), ("100", 1), ("0.3", 0.003), ("30,5", 0.305), ("1,234", 0.01234)]
)
def test_votes_in_per_cent_need_no_sign(typed: str, share: float, taught: Served) -> None:
    room = opened(taught, {"prompt": "How many %?"}).until("vote1")
    phone = room.phone()
    room.vote(phone, typed)
    assert room.seen(phone)["own"][1] == pytest.approx(share)


def test_votes_are_hidden_until_the_answer_is_revealed(taught: Served) -> None:
    """In each phase a phone receives the same bytes, regardless of the other votes."""
    sent: list[list[bytes]] = []
    for others in ((0, 0, 0), (2, 1, 2)):
        room = opened(taught)
        own, *phones = [room.phone() for _ in range(4)]
        sent.append([])
        for to in (None, *STEPS[:-1]):
            assert to is None or room.step(to).status_code == 200
            if room.phase in ("vote1", "vote2"):
                for phone, choice in zip(phones, others, strict=True):
                    room.vote(phone, choice, 1 + (room.phase == "vote2"))
            answer = own.get(f"/class/{room.code}")
            assert not names(answer.json()) & HIDDEN, answer.text
            board = room.seen(room.teacher)
            assert not names(board) & {"counts", "numbers", "moves", "reveal"}, board
            sent[-1].append(answer.content.replace(room.code.encode(), b"CODE"))
    assert sent[0] == sent[1]


def test_only_the_teacher_sees_counts_early_and_only_of_a_closed_vote(taught: Served) -> None:
    room = opened(taught).until("vote1")
    phone = room.phone()
    room.vote(phone, 1)
    assert "counts" not in room.seen(room.teacher, peek=True)
    room.until("closed1")
    assert room.seen(room.teacher, peek=True)["counts"] == [[0, 1, 0], [0, 0, 0]]
    assert not names(room.seen(phone, peek=True, v=-1)) & HIDDEN
    room.until("vote2")
    assert "counts" not in room.seen(room.teacher, peek=True)


def test_late_voters_join_the_current_question(taught: Served) -> None:
    room = opened(taught).until("vote2")
    late = room.phone()
    assert (room.seen(late)["round"], room.seen(late)["own"]) == (2, [None, None, None])
    assert room.vote(late, 2, 2).status_code == 200
    room.until("reveal")
    assert room.seen(late)["counts"] == [[0, 0, 0], [0, 0, 1]]
    assert room.seen(room.phone())["own"] == [None, None, None], "and after the votes one still sees the answer"


def test_a_second_vote_replaces_the_first(taught: Served) -> None:
    room = opened(taught).until("vote1")
    phone = room.phone()
    for choice in (0, 2, 1, 1):
        room.vote(phone, choice)
    assert room.seen(room.teacher)["voted"] == 1
    room.until("reveal")
    assert room.seen(phone)["counts"][0] == [0, 1, 0]


def test_a_double_press_and_an_old_page_change_nothing(taught: Served) -> None:
    room = opened(taught)
    for _ in range(2):
        assert room.step("vote1", phase="lobby").json()["phase"] == "vote1"
    assert room.step("closed1", question=1).json()["phase"] == "vote1"
    refused(room.step("reveal"), "After vote1 comes closed1, not 'reveal'.")
    refused(room.step("vote1", question=True), "question: got True")


def test_nothing_is_sent_while_nothing_changes(taught: Served) -> None:
    room = opened(taught)
    phone, other = room.phone(), room.phone()
    first = room.seen(phone)["v"]
    same = phone.get(f"/class/{room.code}", params={"v": first})
    assert (same.status_code, same.content, same.headers["cache-control"]) == (204, b"", "no-store")
    room.until("vote1")
    voting = room.seen(phone, v=first)["v"]
    room.vote(other, 0)
    room.vote(phone, 0)
    assert phone.get(f"/class/{room.code}", params={"v": voting}).status_code == 204, (
        "a vote changes nothing to be seen"
    )
    room.until("closed1")
    assert room.seen(phone, v=voting)["phase"] == "closed1"
    refused(phone.get(f"/class/{room.code}", params={"v": "x"}), "v")


def test_the_code_is_drawn_as_a_qr_code(taught: Served) -> None:
    room = opened(taught)
    picture = room.teacher.get(f"/class/{room.code}/qr.svg")
    assert picture.headers["content-type"] == "image/svg+xml" and picture.text.startswith("<?xml")
    assert "<svg" in picture.text and "script" not in picture.text and len(picture.content) < 20_000
    board = room.seen(room.teacher)
    assert board["address"] == f"{taught.url}/j/{room.code}" and all(
        words in board["note"] for words in ("--host 0.0.0.0", "BERTEXPLORER_CODE")
    )


@pytest.mark.parametrize(
    ("page", "address", "note"),
    [
        ("http://localhost:7860/learn", "http://localhost:7860/j/abcd", "Open the page as bert.example"),
        ("https://bert.example/learn", "https://bert.example/j/abcd", ""),
    ],
)
def test_behind_a_proxy_phones_get_its_address(page: str, address: str, note: str) -> None:
    settings = Settings("127.0.0.1", hosts=("bert.example",))
    answerer: Any = SimpleNamespace(registry=SimpleNamespace(settings=settings))
    fields = join_fields(
        answerer, cast(Request, SimpleNamespace(url=URL(page))), cast(Room, SimpleNamespace(code="abcd"))
    )
    assert fields["address"] == address and note in fields["note"] and bool(note) == bool(fields["note"])


def test_markup_in_a_question_stays_text(taught: Served) -> None:
    question = {"prompt": f"What? {EVIL} [a](javascript:window.__pwn=3)", "choices": [EVIL, f"`{EVIL}`", "[b](data:x)"]}
    room = opened(taught, question).until("vote1")
    seen = room.seen(room.phone())
    assert seen["choices"][0] == [EVIL] and seen["choices"][1] == [["code", {"translate": "no"}, [EVIL]]]
    assert "href" not in names(seen) and seen["prompt"][0][2][0].startswith(f"What? {EVIL}")


def test_a_question_is_suggested_without_its_answer(taught: Served) -> None:
    with taught.browser() as teacher:
        masked = teacher.post("/class/suggest", json={"link": MASKED["link"]}).json()
        assert masked["choices"][-1] == "something else" and masked["choices"][:-1] == sorted(masked["choices"][:-1])
        assert len(masked["choices"]) == 6 and masked["link"] == MASKED["link"]
        pair = teacher.post("/class/suggest", json={"link": "/?view=next-sentence&text=A+cat.&pair=A+dog."}).json()
        assert pair["choices"] == ["yes", "no"] and "A cat." in pair["prompt"] and "A dog." in pair["prompt"]
        look = teacher.post("/class/suggest", json={"link": "/?view=attention&text=The+cat+saw+the+cat."}).json()
        assert look["choices"] == ["`the`", "`cat`", "`s`", "`##a`", "`##w`", "`.`"] and "The cat saw" in look["prompt"]
        assert not teacher.post("/class/suggest", json={"link": "/?view=layers&text=A+[MASK]."}).json()["prompt"]
        refused(teacher.post("/class/suggest", json={"link": 7}), "is not the link of a view")
        refused(teacher.post("/class/suggest", json={}), "Send an object with link.")


def test_after_a_change_of_address_a_phone_is_told_and_rejoins_by_its_number(taught: Served) -> None:
    room = opened(taught)
    first = room.phone()
    room.seen(room.teacher)
    room.until("vote1")
    saved = room.vote(first, 0).json()
    assert saved == {"saved": 0, "number": 1, "letters": room.seen(first)["letters"]} and len(saved["letters"]) == 4
    assert "moved" not in room.seen(first)
    port = taught.url.rpartition(":")[2]
    answer = room.teacher.get(f"/class/{room.code}", headers={"host": f"localhost:{port}"}).json()
    assert answer["address"] == f"http://localhost:{port}/j/{room.code}" and answer["moved"]
    late = room.phone()
    seen = room.seen(late)
    assert seen["moved"] and seen["number"] is None and seen["letters"] is None and room.seen(first)["number"] == 1

    def rejoin(**given: Any) -> httpx.Response:
        return late.post(f"/class/{room.code}/rejoin", json=given)

    refused(rejoin(number=1, letters=saved["letters"]), "The phone with the number 1 is still here.")
    refused(rejoin(number="1", letters="ABCD"), "number: got '1'; wanted a whole number.")
    refused(rejoin(number=1, letters="AAAA"), "The letters beside the number are others.")
    refused(rejoin(number=1), "Send an object with number, letters.")
