"""Lessons over HTTP: sent without their answers, each kind of question graded, invalid answers rejected with advice."""

import csv
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bertexplorer.learn import check
from bertexplorer.learn.catalogue import BUNDLED, LessonCatalogue
from bertexplorer.learn.lesson import ParsedLesson
from bertexplorer.learn.prose import plain
from tests.api.conftest import OPENING, Served
from tests.api.teaching import EVIL, LESSON, VIEW, elements, words

OWN = "/lessons/pieces"
CATALOGUE = LessonCatalogue((BUNDLED,))
SHOWN = {"kind", "id", "prompt", "link", "choices", "text", "class"}  # of a part, before it is answered
RULES = {"when", "value", "key", "accept", "holds"}  # expressions


@pytest.fixture
def pupil(taught: Served) -> Iterator[httpx.Client]:
    with taught.browser() as browser:
        yield browser


def judged(pupil: httpx.Client, part: str, answer: Any = None, **more: Any) -> dict[str, Any]:
    """The reply to an accepted answer."""
    result = pupil.post(f"{OWN}/{part}", json={"answer": answer, **more})
    assert result.status_code == 200, result.text
    return dict(result.json())


def refused(answer: httpx.Response, said: str, status: int = 422) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    detail = answer.json()["detail"]
    assert said in detail and detail.endswith((".", "…")) and len(detail) < 700, detail


def test_the_list_has_the_bundled_lessons_before_the_teachers(pupil: httpx.Client) -> None:
    listed = pupil.get("/lessons").json()
    assert [item["slug"] for item in listed] == [*CATALOGUE.files, "pieces", "markup"]
    own = next(item for item in listed if item["slug"] == "pieces")
    assert own == {
        "slug": "pieces",
        "title": "Pieces",
        "question": ["How many pieces?"],
        "topic": "What goes in",
        "minutes": 3,
        "can": ["count pieces"],
        "language": "en",
        "views": ["tokenization"],
        "questions": 8,
    }


def test_the_list_is_shown_without_markdown(pupil: httpx.Client) -> None:
    for item in pupil.get("/lessons").json():
        words = json.dumps(item["question"] + item["can"])
        assert "*" not in words and "`" not in words, item


@pytest.mark.parametrize(
    ("slug", "message"), [("folder", "Is a directory."), ("gone", "No such file"), ("latin", "UTF-8")]
)
def test_an_unreadable_file_is_unlisted_and_reports_the_reason(slug: str, message: str, pupil: httpx.Client) -> None:
    assert pupil.get("/page").status_code == 200 and f'"{slug}"' not in pupil.get("/lessons").text
    (problem,) = pupil.get(f"/lessons/{slug}").json()["problems"]
    assert problem.startswith("Line 1: ") and message in problem and "/" not in problem


def test_the_parts_of_a_lesson_keep_their_order(pupil: httpx.Client) -> None:
    lesson = pupil.get(OWN).json()
    kinds = ["prose", "predict", "choice", "number", "number", "find", "click", "say", "share", "claim", "claim"]
    assert [part["kind"] for part in lesson["parts"]] == [*kinds, "figure"]
    assert lesson["parts"][0]["text"] == [["p", {}, ["Words are ", ["em", {}, ["cut"]], "."]]]
    guess, picture = lesson["parts"][1], lesson["parts"][-1]
    assert guess["choices"] == [[["em", {}, ["cat"]]], [["em", {}, ["xyz"]]]] and guess["link"] == VIEW
    assert words(picture["text"]) == "A strip."
    assert (words(lesson["misreading"]), words(lesson["instead"])) == ("A word is a piece.", "It may be several.")


def secrets(lesson: ParsedLesson) -> Iterator[str]:
    """Everything that gives an answer away: feedback, hints, expressions, solutions, closing remarks."""
    for block in lesson.blocks:
        yield from (value for name, value in block.fields.items() if name in RULES | {"after", "hint", "example"})
        yield from (block.fields[name] for name in ("model", "otherwise") if name in block.fields)
        yield from (entry for pair in block.near for entry in pair)
        yield from (block.fields["text"] for _ in "1" if block.kind == "claim")
        for item in block.items:
            yield from (item.feedback, item.when, item.value)
            yield from (item.text for _ in "1" if block.kind in ("say", "number"))  # a criterion, a range


@pytest.mark.parametrize("slug", CATALOGUE.files)
def test_a_lesson_is_sent_without_its_answers(slug: str, pupil: httpx.Client) -> None:
    """What is sent contains no feedback, key, tick, value, hint, model answer or solution of a bundled lesson."""
    answer = pupil.get(f"/lessons/{slug}")
    result, lesson = answer.json(), CATALOGUE.lesson(slug)
    for part in result["parts"]:
        assert set(part) <= SHOWN and (part["kind"] == "figure") >= ("text" in part and "id" in part), part
    message, hidden = " ".join(words(result).split()), [item for item in secrets(lesson) if item.strip()]
    assert len(hidden) > 8
    leaked = [item for item in hidden if item in answer.text or plain(item) in message]
    assert not leaked
    assert "ticked" not in answer.text and '"right"' not in answer.text


def test_a_guess_is_answered_with_berts_answer(pupil: httpx.Client) -> None:
    wrong, right = judged(pupil, "guess", 0), judged(pupil, "guess", 1)
    assert (wrong["right"], wrong["key"], wrong["done"]) == (False, 1, True)
    assert words(wrong["text"]) == "No: cat has a row of its own." and words(wrong["answer"]) == "xyz"
    assert right["right"] and words(right["after"]) == "xyz has 3 pieces."


def test_a_choice_has_two_attempts(pupil: httpx.Client) -> None:
    first = judged(pupil, "why", 1)
    assert (first["right"], first["done"], first["key"], first["answer"]) == (False, False, None, [])
    assert words(first["text"]) == "Some long words have a row."
    last = judged(pupil, "why", 2, attempt=2)
    assert (last["right"], last["done"], last["key"], words(last["answer"])) == (False, True, 0, "It was rare.")
    assert judged(pupil, "why", 0)["right"]


def test_a_number_gets_a_hint_and_then_the_answer(pupil: httpx.Client) -> None:
    low, high = judged(pupil, "count", "1"), judged(pupil, "count", "7")
    assert words(low["text"]) == "You take it for a known word." and words(high["text"]) == "Too high."
    assert not low["done"] and low["answer"] == [] and low["after"] == []
    last = judged(pupil, "count", "7", attempt=2)
    assert last["done"] and words(last["answer"]) == "3" and words(last["after"]) == "Each letter is one."
    assert judged(pupil, "count", "3,0")["right"] and judged(pupil, "count", 3)["right"]


@pytest.mark.parametrize("typed", ["30", "30 %", "0.3", "30,4", 30])
def test_a_percentage_is_accepted_with_or_without_its_sign(typed: Any, pupil: httpx.Client) -> None:
    assert judged(pupil, "share", typed)["right"]
    assert not judged(pupil, "share", "3 %")["right"]


def test_a_find_is_graded_by_the_state_of_the_view(pupil: httpx.Client) -> None:
    state = {"view": "tokenization", "text": "The cat."}
    start, near = judged(pupil, "longer"), judged(pupil, "longer", state={**state, "text": "A wxyz."})
    assert (start["right"], start["done"], words(start["text"]), start["answer"]) == (False, False, "", [])
    assert words(near["text"]) == "Only 4 pieces: one more."
    second = judged(pupil, "longer", state=state, attempt=2)
    assert (words(second["text"]), words(second["answer"]), second["done"]) == ("Make a word up.", "qqqqq", False)
    result = judged(pupil, "longer", state={**state, "text": "The qqqqqq."}, attempt=3)
    assert result["right"] and result["done"] and words(result["after"]) == "It has 6."


def test_a_find_in_another_view_is_rejected(pupil: httpx.Client) -> None:
    state = {"view": "fill-mask", "text": "A [MASK]."}
    refused(pupil.post(f"{OWN}/longer", json={"answer": None, "state": state}), "longest")
    refused(pupil.post(f"{OWN}/longer", json={"state": {"view": "nonsense", "text": "a"}}), "view: got 'nonsense'")
    refused(pupil.post(f"{OWN}/longer", json={"state": {"no": 1}}), "The state has 'no'")
    refused(pupil.post(f"{OWN}/longer", json={"state": [1]}), "no state")


def test_a_press_is_graded(pupil: httpx.Client) -> None:
    wrong, last = judged(pupil, "odd", "cat"), judged(pupil, "odd", "cat", attempt=2)
    assert not wrong["right"] and not wrong["done"] and words(wrong["text"]) == "It has two signs in front."
    assert last["done"] and not last["right"]
    assert judged(pupil, "odd", "##y")["right"]


def test_a_free_text_answer_is_returned_with_the_criteria(pupil: httpx.Client) -> None:
    reply = judged(pupil, "words", "Some letters.")
    assert reply["right"] is None and words(reply["answer"]) == "A part of a word that was frequent."
    assert [words(item) for item in reply["criteria"]] == ["says that frequency counts", "says that a piece is a part"]


def test_points_are_compared_with_the_probabilities_of_bert(pupil: httpx.Client) -> None:
    reply = judged(pupil, "points", [50, 50])
    assert reply["shares"] == [0.75, 0.25] and words(reply["text"]).startswith("75 of your 100 points")


def test_claims_hold_on_this_checkpoint(pupil: httpx.Client) -> None:
    assert judged(pupil, "holds") == {"holds": True, "text": [["em", {}, ["xyz"]], " has 3 pieces."]}
    fails = judged(pupil, "fails")
    assert not fails["holds"] and words(fails["text"]) == "xyz is cut into 3 here."


HUGE = "9" * 400
UNFIT = [  # part, body, message
    ("guess", {"answer": 2}, "wanted the number of a choice, 0 to 1"),
    ("guess", {"answer": -1}, "wanted the number of a choice"),
    ("guess", {"answer": True}, "Got True"),
    ("guess", {"answer": "1"}, "Got '1'"),
    ("guess", {"answer": 0.0}, "Got 0.0"),
    ("guess", {}, "Got None"),
    ("guess", {"answer": int(HUGE)}, "wanted the number of a choice"),
    ("guess", {"answer": 0, "state": {}, "mark": 1}, "The request has 'mark'"),
    ("guess", {"answer": 0, "attempt": 0}, "attempt: got 0; wanted a whole number, 1 or more."),
    ("guess", {"answer": 0, "attempt": True}, "attempt: got True"),
    ("guess", {"answer": 0, "attempt": "1"}, "attempt: got '1'"),
    ("guess", {"answer": 0, "checkpoint": 7}, "checkpoint: got 7; wanted text."),
    ("guess", {"answer": 0, "checkpoint": "../../etc"}, "etc"),
    ("count", {"answer": "many"}, "'many' is not a number; wanted one such as 0.13 or 13 %."),
    ("count", {"answer": [3]}, "is not a number"),
    ("count", {"answer": "x" * 9000}, "is not a number"),
    ("odd", {"answer": ""}, "Nothing is pressed"),
    ("odd", {"answer": "a" * 101}, "Nothing is pressed"),
    ("words", {"answer": "  "}, "Nothing is written yet"),
    ("words", {"answer": 3}, "Nothing is written yet"),
    ("points", {"answer": [50]}, "wanted 2 numbers of points"),
    ("points", {"answer": [50, "50"]}, "wanted 2 numbers of points"),
    ("points", {"answer": [60, 60]}, "The points add up to 120"),
    ("points", {"answer": [-10, 110]}, "share out exactly 100"),
    ("points", {"answer": [int(HUGE), 0]}, "wanted 2 numbers of points"),
    ("picture", {"answer": 0}, "picture is a figure and has no question"),
    ("nowhere", {"answer": 0}, "The lesson pieces has no part 'nowhere'; reload the page."),
]


@pytest.mark.parametrize(("part", "sent", "message"), UNFIT, ids=[f"{item[0]}-{item[2][:30]}" for item in UNFIT])
def test_an_unsuitable_answer_is_rejected(part: str, sent: Any, message: str, pupil: httpx.Client) -> None:
    refused(pupil.post(f"{OWN}/{part}", json=sent), message)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 422, "not a JSON object"),
        (b"{", 422, "not a JSON object"),
        (b"[1]", 422, "not a JSON object"),
        (b"null", 422, "not a JSON object"),
        (b"[" * 100_000, 422, "not a JSON object"),
        (b'{"answer": ' + b"9" * 5000 + b"}", 422, "not a JSON object"),
        (b'{"answer": [NaN, 50]}', 422, "wanted 2 numbers of points"),
        (b'{"answer": [1e999, 0]}', 422, "wanted 2 numbers of points"),
        (b'{"answer": "' + b"a" * 10_000_000 + b'"}', 413, "1,000 kB"),
    ],
)
def test_invalid_json_and_oversized_bodies_are_rejected(
    body: bytes, status: int, message: str, pupil: httpx.Client
) -> None:
    kind = {"content-type": "application/json"}
    refused(pupil.post(f"{OWN}/points", content=body, headers=kind), message, status)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/lessons/nowhere", "There is no lesson 'nowhere'; there are welcome"),
        ("/lessons/..pieces", "There is no lesson"),
        ("/lessons/nowhere/gift", "There is no lesson"),
        ("/lessons/pieces/pdf", "There is no export 'pdf'; wanted one of gift, moodle, qti, csv, keys."),
        ("/lessons/runs/nowhere", "There is no recorded run 'run:nowhere'; there are classification"),
        ("/lessons/runs/Classification", "There is no recorded run"),
    ],
)
def test_missing_lessons_and_parts_are_reported(path: str, message: str, pupil: httpx.Client) -> None:
    answer = pupil.get(path)
    refused(answer, message)
    assert "/lessons/" not in answer.json()["detail"], "a folder of the server is told"


def test_a_recorded_run_comes_with_its_figure(pupil: httpx.Client) -> None:
    result = pupil.get("/lessons/runs/classification").json()
    assert set(result) == {"title", "card", "command", "said", "figure"}
    assert result["figure"]["panels"] and result["said"].endswith(".") and result["command"].startswith("bertexplorer ")


def test_markup_in_a_lesson_stays_text(pupil: httpx.Client) -> None:
    lesson = pupil.get("/lessons/markup").json()
    assert lesson["title"] == EVIL and not elements(lesson) & {"script", "img"}
    assert not [item for item in json.dumps(lesson).split('"href": "')[1:] if not item.startswith(("/", "http"))]
    assert EVIL in words(lesson["parts"][0]["text"]) and EVIL in words(lesson["parts"][1]["choices"][0])
    assert EVIL in words(lesson["parts"][1]["prompt"])
    assert len(lesson["problems"]) == 1 and lesson["problems"][0].startswith("Line ")
    reply = pupil.post("/lessons/markup/evil", json={"answer": 0}).json()
    assert words(reply["text"]) == f"Said {EVIL}" and not elements(reply) & {"script", "img"}
    evil = pupil.post(f"/lessons/markup/{'evil'}", json={"answer": EVIL})
    assert evil.headers["content-type"] == "application/problem+json"


def test_questions_are_exported_as_gift(pupil: httpx.Client) -> None:
    answer = pupil.get(f"{OWN}/gift")
    assert answer.headers["content-type"].startswith("text/plain") and answer.headers["x-file-name"] == "pieces.gift"
    message = answer.text
    assert message.startswith("// Pieces: the answers are those of the checkpoint little.\n")
    assert "::pieces-guess:: Which word is cut into more pieces? {\n  ~cat # No\\: cat" in message
    assert "\n  =xyz # Yes\\: nobody" in message and "{\n  #3:0\n}" in message and "{\n  #30:1\n}" in message
    assert "pieces-longer" not in message and "pieces-words" not in message


def test_questions_are_exported_as_csv(pupil: httpx.Client) -> None:
    answer = pupil.get(f"{OWN}/csv")
    assert answer.status_code == 200 and answer.headers["x-file-name"] == "pieces.csv"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(row["question"], row["answer"]) for row in rows] == [
        ("guess", "xyz"),
        ("why", "It was rare."),
        ("count", "3"),
        ("share", "30.0 %"),
    ]
    assert rows[1]["choices"] == "It was rare. | It is long. | It is foreign." and rows[0]["checkpoint"] == "little"


def uploaded(pupil: httpx.Client, lesson: str, checkpoint: str = "") -> dict[str, Any]:
    """The reply to an upload of *lesson*."""
    given = {"file": ("own.md", lesson.encode())}
    result = pupil.post("/lessons/own", files=given, params={"checkpoint": checkpoint})
    assert result.status_code == 200, result.text
    return dict(result.json())


def test_an_uploaded_lesson_is_evaluated_as_by_lesson_check(pupil: httpx.Client, taught: Served) -> None:
    answer = uploaded(pupil, LESSON)
    lesson = LessonCatalogue.of(taught.settings).lesson(answer["slug"])
    expected = [vars(line) for line in check.check(taught.answerer, lesson, OPENING)]
    assert answer["checked"] == expected
    assert "answer: *xyz*" in " ".join(line["text"] for line in expected)


def test_a_lesson_that_no_student_could_answer_is_named_to_the_teacher(pupil: httpx.Client) -> None:
    """Its syntax is right; but no choice is what the checkpoint does."""
    answer = uploaded(pupil, LESSON.replace('pieces("cat") < pieces("xyz")', 'pieces("cat") == 99'))
    assert answer["problems"] == []
    before = uploaded(pupil, LESSON)["checked"]
    (wrong,) = [line for line in answer["checked"] if line["wrong"] and line not in before]
    assert wrong["block"] == "predict guess" and wrong["line"] == LESSON[: LESSON.index("```predict")].count("\n") + 1
    assert wrong["text"].startswith("None of the choices is what this checkpoint does")


def test_an_uploaded_lesson_is_checked_on_the_checkpoint_in_use(pupil: httpx.Client) -> None:
    checked = uploaded(pupil, LESSON, "absent")["checked"]
    assert {line["block"] for line in checked if line["wrong"]} >= {"predict guess", "number count", "find longer"}
    assert all("absent" in line["text"] for line in checked if line["wrong"])


def test_an_uploaded_lesson_is_checked_in_the_slow_queue(
    pupil: httpx.Client, taught: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a thread of the answers, not in the event loop, and with a place in the queue."""
    seen: list[tuple[str, int]] = []

    def look(*given: Any) -> Iterator[check.CheckLine]:
        seen.append((threading.current_thread().name, len(taught.queues.slow.active)))
        yield from ()

    monkeypatch.setattr(check, "check", look)
    assert uploaded(pupil, LESSON)["checked"] == []
    ((thread, running),) = seen
    assert thread.startswith("answer") and running == 1
