"""What a class rejects: steps by other browsers, votes when none is open, invalid votes, browsers without a cookie or
a code."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from bertexplorer.classroom import classroom
from tests.api.classes import OWN, Class, opened, refused
from tests.api.conftest import Served
from tests.api.teaching import lessons

CODE = "class of 26"
BEARER = {"authorization": f"Bearer {CODE}"}


@pytest.mark.parametrize("phase", ["lobby", "closed1", "discuss", "vote2", "closed2", "reveal"])
def test_a_vote_outside_an_open_vote_is_rejected(phase: str, taught: Served) -> None:
    room = opened(taught).until(phase)
    phone = room.phone()
    refused(room.vote(phone, 0), "This vote is closed")
    assert room.seen(phone)["own"][1] is None


BIG = int("9" * 400)
UNFIT = [
    ({"choice": 3}, "Got the choice 3; there are 3, counted from 0."),
    ({"choice": -1}, "Got the choice -1"),
    ({"choice": BIG}, "Got the choice 9"),
    ({"choice": "1"}, "choice: got '1'; wanted a whole number."),
    ({"choice": True}, "choice: got True"),
    ({"choice": None}, "choice: got None"),
    ({"question": "0"}, "question: got '0'"),
    ({"question": 1}, "This vote is closed"),
    ({"round": [1]}, "round: got [1]"),
    ({"voter": "x"}, "Send an object with question, round, choice."),
]


@pytest.mark.parametrize(("sent", "message"), UNFIT)
def test_an_unsuitable_vote_is_rejected(sent: Any, message: str, taught: Served) -> None:
    room = opened(taught).until("vote1")
    phone = room.phone()
    refused(room.vote(phone, 0, **{"round": 1, **sent}) if "choice" not in sent else room.vote(phone, **sent), message)
    assert room.seen(room.teacher)["voted"] == 0


@pytest.mark.parametrize("typed", ["", "many", "9" * 400, "1e5", [1], None, {"a": 1}, "\ud800", BIG])
def test_an_invalid_number_is_rejected(typed: Any, taught: Served) -> None:
    room = opened(taught, {"prompt": "How many?"}).until("vote1")
    refused(room.vote(room.phone(), typed), "number")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"[" * 100_000, b'{"question": 0}'])
def test_a_malformed_vote_is_rejected(body: bytes, taught: Served) -> None:
    room = opened(taught).until("vote1")
    for browser, path in ((room.phone(), "vote"), (room.teacher, "step")):
        refused(browser.post(f"/class/{room.code}/{path}", content=body), "Send an object with")


def test_an_oversized_vote_is_rejected(taught: Served) -> None:
    room = opened(taught).until("vote1")
    huge = b'{"question": "' + b"a" * 10_000_000 + b'"}'
    refused(room.phone().post(f"/class/{room.code}/vote", content=huge), "1,000 kB", 413)


def test_only_the_browser_that_opened_a_class_moves_or_ends_it(taught: Served) -> None:
    room = opened(taught)
    phone, other = room.phone(), opened(taught)
    for browser in (phone, other.teacher):
        refused(room.step("vote1", browser), "Only the browser that opened this class can do that.")
        refused(browser.post(f"/class/{room.code}/end"), "Only the browser that opened")
    assert room.seen(phone)["phase"] == "lobby"
    room.until("closed1")
    refused(room.step("reveal", phone), "Only the browser that opened")
    assert room.teacher.post(f"/class/{room.code}/end").json() == {"ended": room.code}
    refused(phone.get(f"/class/{room.code}"), "its teacher ended it")
    assert other.seen(other.phone())["phase"] == "lobby"


def test_a_forged_cookie_counts_as_another_voter(taught: Served) -> None:
    room = opened(taught).until("vote1")
    phone = room.phone()
    room.vote(phone, 0)
    (cookie,) = phone.cookies.jar
    for forged in (f"{'0' * 32}.{cookie.value[33:]}", f"{cookie.value[:-1]}{'0' if cookie.value[-1] != '0' else '1'}"):
        with taught.browser(cookies={cookie.name: forged}) as thief:
            refused(room.vote(thief, 2), "blocks cookies")
    with taught.browser(cookies={"session": cookie.value}) as thief:
        refused(room.vote(thief, 2), "blocks cookies")
        assert room.vote(thief, 2).status_code == 200, "the cookie that it was given is its own"
    assert room.seen(phone)["own"][1] == 0 and room.seen(room.teacher)["voted"] == 2


def test_a_browser_without_cookies_gets_an_error(taught: Served) -> None:
    room = opened(taught).until("vote1")
    for _ in range(2):
        bare = httpx.get(f"{taught.url}/api/v1/class/{room.code}")
        refused(bare, "This browser blocks cookies")
        assert "samesite" in bare.headers["set-cookie"].lower() and "httponly" in bare.headers["set-cookie"].lower()
    refused(httpx.post(f"{taught.url}/api/v1/class/{room.code}/vote", json={}), "This browser blocks cookies")
    assert room.seen(room.teacher)["here"] == 0


def test_other_classes_are_not_revealed(taught: Served) -> None:
    room, other = opened(taught), opened(taught)
    phone = room.phone()
    answers = [phone.get(f"/class/{room.code}"), room.teacher.get(f"/class/{room.code}"), phone.get("/class/ZZZZ")]
    answers += [
        phone.get("/class"),
        phone.get("/class/"),
        room.step("vote1"),
        phone.get("/page"),
        phone.get("/class/A*"),
    ]
    assert not [item.text for item in answers if other.code in item.text]
    refused(answers[2], "There is no class 'ZZZZ'. Compare the letters")
    assert {item.status_code for item in (answers[3], answers[4], answers[7])} <= {404, 405}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, 'Send {"lesson"'),
        ([], 'Send {"lesson"'),
        ({"lesson": "pieces", "question": OWN}, 'Send {"lesson"'),
        ({"lesson": "nowhere"}, "There is no lesson 'nowhere'"),
        ({"question": "What?"}, "wanted an object with prompt, choices and link."),
        ({"question": {**OWN, "key": 1}}, "wanted an object with prompt, choices and link."),
        ({"question": {"prompt": 1}}, "wanted a prompt, a list of choices, and a link."),
        ({"question": {**OWN, "choices": [1, 2]}}, "wanted choices that are strings."),
        ({"question": {**OWN, "choices": ["a"]}}, "Got 1 choices"),
        ({"question": {"prompt": " "}}, "A question is empty"),
        ({"question": {**OWN, "link": "https://evil.example/"}}, "is not the link of a view"),
        ({"question": {**OWN, "link": "/?view=nonsense&text=a"}}, "nonsense"),
    ],
)
def test_an_invalid_class_is_rejected(given: Any, message: str, taught: Served) -> None:
    with taught.browser() as teacher:
        answer = teacher.post("/class", json=given)
        assert answer.status_code == 422 and message in answer.json()["detail"], answer.text


def test_only_the_teacher_needs_the_access_code(models: Path, tmp_path: Path) -> None:
    server = Served(models, tmp_path / "data", code=CODE, lessons_dir=lessons(tmp_path / "lessons"))
    try:
        room = opened_with_code(server)
        phone = room.phone()
        assert room.seen(phone)["phase"] == "lobby"
        assert room.step("vote1").status_code == 200
        saved = room.vote(phone, 1).json()
        assert (saved["saved"], saved["number"]) == (1, 1)
        requests = [
            ("GET", "/lessons"),
            ("GET", "/lessons/pieces"),
            ("POST", "/lessons/pieces/guess"),
            ("POST", "/class"),
        ]
        requests += [
            ("POST", "/class/suggest"),
            ("POST", f"/class/{room.code}/step"),
            ("POST", f"/class/{room.code}/end"),
        ]
        requests += [("GET", f"/class/{room.code}/qr.svg"), ("GET", "/page"), ("POST", "/view")]
        for method, path in requests:
            refused(
                phone.request(method, path, json={} if method == "POST" else None), "The access code is required", 401
            )
        assert phone.get("/lessons", headers=BEARER).status_code == 200
        wrong = phone.get("/lessons", headers={"authorization": "Bearer no"})
        refused(wrong, "Wrong access code", 401)
    finally:
        server.close()


def opened_with_code(served: Served) -> Class:
    teacher = served.browser(headers=BEARER)
    assert teacher.post("/class", json={"question": OWN}).status_code == 200
    code = teacher.post("/class", json={"question": OWN}).json()["code"]  # by now it has its cookie
    return Class(served, teacher, code)


def test_a_closed_door_and_another_code_keep_strangers_out(taught: Served) -> None:
    room = opened(taught).until("vote1")
    pupil, stranger = room.phone(), room.phone()
    assert room.vote(pupil, 0).status_code == 200
    refused(stranger.post(f"/class/{room.code}/door", json={"open": False}), "Only the browser that opened this class")
    refused(room.teacher.post(f"/class/{room.code}/door", json={"open": "no"}), "wanted true or false")
    assert room.teacher.post(f"/class/{room.code}/door", json={"open": False}).json() == {"open": False}
    refused(room.vote(stranger, 1), "The door of this class is closed")
    assert room.seen(room.teacher)["door"] is False and room.vote(pupil, 1).status_code == 200
    refused(stranger.post(f"/class/{room.code}/code"), "Only the browser that opened this class")
    old, room.code = room.code, room.teacher.post(f"/class/{room.code}/code").json()["code"]
    assert len(room.code) == 6
    refused(pupil.get(f"/class/{old}"), "its code was changed")
    assert room.teacher.post(f"/class/{room.code}/door", json={"open": True}).json() == {"open": True}
    assert room.seen(pupil)["own"][1] is None and room.vote(pupil, 2).status_code == 200


def test_a_phone_is_told_how_often_to_poll(taught: Served) -> None:
    room = opened(taught)
    phone = room.phone()
    changes = phone.get(f"/class/{room.code}")
    unchanged = phone.get(f"/class/{room.code}", params={"v": changes.json()["v"]})
    assert unchanged.status_code == 204 and changes.headers["poll-ms"] == unchanged.headers["poll-ms"] == "1500"


def test_one_address_opens_a_bounded_number_of_classes_with_any_number_of_browsers(
    taught: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(taught)
    monkeypatch.setattr(classroom, "MAX_NETWORK_ROOMS", 1)
    refused(taught.browser().post("/class", json={"question": OWN}), "open from your network, the most for one")
