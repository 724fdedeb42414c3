"""The route of the Explore page: each state gets a complete answer, including what a person typed, hid and set."""

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from copy import deepcopy
from threading import Timer
from typing import Any

import pytest
from starlette.testclient import TestClient

from bertexplorer.api.admission import Reply, TaskResponse
from bertexplorer.api.page_models import PageModel, ViewAnswerModel
from bertexplorer.core.ask import DEFAULTS, VIEWS, Answerer
from bertexplorer.core.state import State
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny
from tests.server.conftest import Api
from tests.server.talk import LINES, VIEW, read_lines, state

FRANCE = "The capital of France is [MASK]."
OPENING = State(FRANCE, checkpoint="small", precision="fp32")


@pytest.fixture(scope="module")
def api(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Api:
    folder = tmp_path_factory.mktemp("view")
    shutil.copytree(tiny("bert"), folder / "models" / "small")
    return Api(Answerer(CheckpointRegistry(Settings(models_dir=folder / "models", data_dir=folder / "data"))), OPENING)


def chips(shown: dict[str, Any], kind: str = "masked") -> list[str]:
    """The labels of the tokens of a kind, or the words hidden by masks."""
    return [chip["title"] if kind == "masked" else chip["label"] for chip in shown["strip"]["chips"] if chip[kind]]


def same(shown: dict[str, Any]) -> dict[str, Any]:
    """An answer without the time that it took."""
    result = deepcopy(shown)
    short, times = re.subn(r"· [\d,]+ ms$", "", result["receipt"]["short"])
    assert times == 1
    result["receipt"]["short"] = short
    return result


STATES = [
    state(FRANCE, hidden="0:4-11", against="another text", other="A [MASK]."),
    state(FRANCE, view="bertviz"),
    state("", view="suite"),
]


def undocumented(given: Any, model: Any) -> list[str]:
    """The fields of *given*, at any depth, that *model* does not have."""
    known = model.model_validate(given).model_dump(mode="json")

    def more(given: Any, known: Any, path: str) -> Iterator[str]:
        if isinstance(given, dict):
            for name, value in given.items():
                yield from more(value, known[name], f"{path}/{name}") if name in known else [f"{path}/{name}"]
        elif isinstance(given, list):
            for one, other in zip(given, known, strict=True):
                yield from more(one, other, path)

    return list(more(given, known, ""))


@pytest.mark.parametrize("asked", STATES, ids=lambda asked: asked["state"].get("view", "compared"))
def test_all_that_an_answer_has_is_in_the_openapi_document(api: Api, asked: dict[str, Any]) -> None:
    assert undocumented(api.shown(asked), ViewAnswerModel) == []


def test_all_that_the_page_is_told_is_in_the_openapi_document(api: Api) -> None:
    assert undocumented(api.client.get("/api/v1/page").json(), PageModel) == []


def test_omitted_fields_have_the_values_of_the_opening_page(api: Api) -> None:
    back = api.shown(state(FRANCE))["state"]
    assert (back["view"], back["checkpoint"], back["precision"]) == ("fill-mask", "small", "fp32")
    empty = api.problem({"state": {}})
    assert empty["detail"].startswith("The text is empty.") and empty["state"] == {**back, "text": ""}


def test_a_returned_state_gives_the_same_answer(api: Api) -> None:
    question = state(
        FRANCE, view="layers", options={"top": 4}, hidden="0:4-11", against="another text", other="A [MASK]."
    )
    first = api.shown(question)
    second = api.shown({"state": first["state"]})
    assert same(second) == same(first) and first["state"]["options"]["top"] == 4


@pytest.mark.parametrize(
    "asked",
    [
        state(FRANCE),
        state(FRANCE, view="attention"),
        state(FRANCE, against="random weights"),
        state("The cat sat. " * 20, view="tokenization"),
        {"link": "?view=layers&text=Paris+is+[MASK]."},
    ],
    ids=str,
)
def test_two_identical_questions_get_the_same_answer(api: Api, asked: dict[str, Any]) -> None:
    result = []
    for owner in ("a" * 32, "b" * 32):
        api.owner = owner
        result.append(same(api.shown(asked)))
    api.owner = "a" * 32
    assert result[0] == result[1]


def test_spans_refer_to_the_text_in_which_they_were_counted(api: Api) -> None:
    before = {"text": FRANCE, "pair": ""}
    typed = state(f"Look: {FRANCE}", hidden="0:4-11", view="tokenization")
    shown = api.shown({**typed, "counted_in": before})
    assert shown["state"]["hidden"] == "0:10-17" and "hidden: capital" in chips(shown)[0]
    edited = state(FRANCE.replace("capital", "city"), hidden="0:4-11,0:15-21")
    assert api.shown({**edited, "counted_in": before})["state"]["hidden"] == "0:12-18", "what was edited shows again"
    shown = api.shown(state(FRANCE, hidden="0:4-11"))
    assert shown["state"]["hidden"] == "0:4-11" and "hidden: capital" in chips(shown)[0]
    assert [chip["span"] for chip in shown["strip"]["chips"] if chip["on"]] == ["0:4-11", "0:25-31"]
    question = state("A cat sat.", pair="It is good.", hidden="0:0-3,1:3-5", view="tokenization")
    shown = api.shown({**question, "counted_in": {"text": "cat sat.", "pair": "So it is good."}})
    assert shown["state"]["hidden"] == "0:2-5", "the word of the second text was edited"


def test_a_pressed_mask_is_replaced_by_the_best_word(api: Api) -> None:
    (best,) = json.loads(api.post(state(FRANCE, options={"top": 1}), f"{VIEW}/json").text)["rows"]
    filled = api.post({**state(FRANCE), "fill": "0:25-31"}).json()["state"]["text"]
    assert filled == FRANCE.replace("[MASK]", best["token"].removeprefix("##"))
    shown = api.shown({**state(f"{FRANCE} A cat.", hidden="0:35-38"), "fill": "0:25-31"})
    span = re.fullmatch(r"0:(\d+)-(\d+)", shown["state"]["hidden"])
    assert span and shown["state"]["text"][int(span[1]) : int(span[2])] == "cat", "it moves along"


def test_a_press_refers_to_a_mask_of_the_text_on_the_screen(api: Api) -> None:
    # The mask was pressed while more text was typed before it.
    message = {**state(f"Look: {FRANCE}", hidden="0:4-11"), "counted_in": {"text": FRANCE}, "fill": "0:31-37"}
    shown = api.shown({**message, "state": {**message["state"], "view": "tokenization"}})
    assert shown["state"]["text"].startswith("Look: The capital of France is ")
    assert "[MASK]" not in shown["state"]["text"] and shown["state"]["hidden"] == "0:10-17"
    assert api.shown({**state(FRANCE), "fill": "0:0-3"})["state"]["text"] == FRANCE


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_keeps_the_text_and_has_its_own_settings(api: Api, view: str) -> None:
    """Even if it cannot use them: it then says so and still shows the tokens."""
    answer = api.post(state(FRANCE, pair="It is big.", view=view)).json()
    returned = answer["state"]
    assert (returned["view"], returned["text"], returned["pair"]) == (view, FRANCE, "It is big.")
    assert returned["options"] == DEFAULTS[view] and (not VIEWS[view].text or answer["strip"]["chips"])
    assert answer.get("said") or len(answer["detail"]) > 10


def test_a_view_without_its_input_names_it_and_shows_no_figure(api: Api) -> None:
    message = api.problem(state(FRANCE, view="next-sentence"))
    assert message["missing"] == "pair" and "no second sentence" in message["detail"] and "figure" not in message
    assert message["state"]["text"] == FRANCE and message["strip"]["chips"] and message["checkpoint"]["layers"] == 3
    assert api.shown(state(FRANCE, view="next-sentence", pair="It is big."))["figure"]
    assert api.problem(state("A cat."))["missing"] == "mask"
    message = api.problem(state(FRANCE, checkpoint="no/where"))
    assert message["missing"] == "checkpoint" and "no/where is not on this disk" in message["detail"]
    assert message["state"]["text"] == FRANCE and message["strip"] is None


def test_an_unexpected_error_is_reported_only_by_its_number(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(VIEWS["template"].analysis, "run", broken)
    with caplog.at_level(logging.ERROR):
        answer = api.post(state("A {b|c} [MASK].", view="template"))
    assert answer.status_code >= 400 and "secret" not in answer.text
    number = answer.json()["detail"].split("number ")[1].split()[0]
    assert caplog.records[-1].id == number and "secret detail" in caplog.text
    assert answer.json()["state"]["text"] == "A {b|c} [MASK]." and answer.json()["strip"]


def test_a_client_that_accepts_lines_gets_the_same_answer(api: Api) -> None:
    body = api.post(state(FRANCE, view="referee"), **LINES).text
    last = json.loads(body.splitlines()[-1])
    answer = last["answer"] if set(last) == {"status", "answer"} else last
    assert same(answer) == same(api.shown(state(FRANCE, view="referee")))


class LongTask:
    """Reports progress once, and then answers with a table."""

    def start(self, send_line: Callable[[dict[str, Any]], None]) -> Future[Reply]:
        done: Future[Reply] = Future()
        send_line({"done": 0.5})
        Timer(1.0, done.set_result, [Reply(b"a,b\r\n", "text/csv", headers={"x-file-name": "rows.csv"})]).start()
        return done

    def progress(self) -> dict[str, Any]:
        return {}

    def stop(self) -> None: ...


def test_a_slow_file_arrives_complete() -> None:
    """After lines about the progress, the last line is JSON for every kind of file."""
    client = TestClient(TaskResponse(LongTask(), lines=True))
    first, last = read_lines(client.get("/"))
    assert first == {"done": 0.5}
    assert last == {"status": 200, "answer": {"content": "a,b\r\n", "name": "rows.csv"}}


def test_the_page_receives_its_views_and_its_opening_state(api: Api) -> None:
    page = api.client.get("/api/v1/page").json()
    assert api.shown({"state": page["opening"]})["state"]["text"] == FRANCE
    assert all(len(view["examples"]) == 5 and view["question"].endswith("?") for view in page["views"].values())


@pytest.mark.parametrize("view", VIEWS)
def test_an_example_is_returned_unchanged(api: Api, view: str) -> None:
    """Its text and settings are returned as given, even if this small checkpoint cannot use them."""
    for example in api.client.get("/api/v1/page").json()["views"][view]["examples"][: 1 if VIEWS[view].slow else 2]:
        given = {name: example[name] for name in ("text", "pair", "picked", "options")}
        answer = api.post({"state": {**given, "view": view}}).json()
        back = answer["state"]
        assert {**given, "options": {**DEFAULTS[view], **given["options"]}} == {name: back[name] for name in given}


def test_an_example_pressed_by_many_is_drawn_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[State] = []
    answer = Answerer.answer
    monkeypatch.setattr(Answerer, "answer", lambda self, given: computed.append(given) or answer(self, given))
    example = "The cat sat on the [MASK] today."
    first, second = (api.shown(state(example)) for _ in range(2))
    assert first == second and len(computed) == 1
    assert api.shown(state(example, options={"top": 3}))["state"] != first["state"] and len(computed) == 2
    for _ in range(2):  # an answer that depends on more than its text is computed again
        api.shown(state(example, against="another text", other="A cat is a [MASK]."))
    assert len(computed) == 4
    for _ in range(2):
        api.problem(state("no mask here"))
    assert len(computed) == 6


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"link": 5}, "link: got 5; wanted the query of a link to the page."),
        ({"counted_in": "Paris"}, "counted_in: got 'Paris'; wanted an object"),
        ({"counted_in": {"text": 5}}, "counted_in: got {'text': 5}; wanted an object"),
        ({"counted_in": {"words": "a"}}, "counted_in: got {'words': 'a'}; wanted an object"),
    ],
)
def test_wrong_fields_next_to_the_state_are_rejected(sent: dict[str, Any], message: str, api: Api) -> None:
    assert message in api.problem({**state("A [MASK]."), **sent})["detail"]


def test_an_answer_describes_its_checkpoint(api: Api) -> None:
    shown = api.shown(state(FRANCE))
    assert shown["checkpoint"]["label"].startswith("small · ") and shown["checkpoint"]["layers"] == 3
    assert dict(shown["checkpoint"]["facts"])["Family"] and shown["checkpoint"]["series"] == []
    assert shown["receipt"]["short"].startswith("small · fp32 · ") and "beside" not in shown
