"""Components for a Gradio app, without a browser: their values, what they answer, and what they refuse."""

import json
import re
import runpy
import threading
import time
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

import bertexplorer as bx
from bertexplorer.blocks import Explorer, TokenStrip, View, components
from bertexplorer.views import VIEWS
from tests.conftest import ROOT

FRANCE = "Paris is the [MASK] of France."
STATE = {"view", "text", "pair", "hidden", "picked", "checkpoint", "precision", "against", "other", "options"}


@pytest.fixture(scope="module")
def view() -> View:
    with gr.Blocks(analytics_enabled=False):
        return View("fill-mask", text=FRANCE)


def asked(component: Any, path: str, body: Any) -> dict[str, Any]:
    return json.loads(component.ask({"path": path, "body": body}))


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_opens_with_its_first_example(name: str) -> None:
    value = View(name, render=False).value
    assert value.keys() == STATE and value["view"] == name
    assert value["text"] == (VIEWS[name].examples[0].text if VIEWS[name].text else "")


def test_it_answers_as_the_package_does(view: View) -> None:
    answer = asked(view, "view", {"state": view.value})
    result = bx.fill_mask(FRANCE)
    assert answer["status"] == 200 and answer["answer"]["said"] == result.said
    assert asked(view, "rows", {"state": view.value})["answer"]["rows"] == result.rows
    assert view.result({**view.value, "text": "A [MASK]."}) == bx.fill_mask("A [MASK].")


def test_a_person_s_own_model_is_a_checkpoint(tiny: Any) -> None:
    own = bx.load(tiny("bert"))
    one = View("attention", text="A quiet river.", checkpoint=own, render=False)
    assert one.value["checkpoint"] == own.name
    assert one.result(one.value) == own.attention("A quiet river.")


@pytest.mark.parametrize(
    "question",
    [None, "view", [], {}, {"path": "view"}, {"path": "view", "body": {"state": 3}}, {"path": ["view"], "body": {}},
     {"path": "../../etc/passwd"}, {"path": "export"}, {"path": "view", "body": {"state": {"text": "x" * 30_000}}},
     {"path": "rows"}, {"path": "rows", "body": {"state": {"view": "attention", "text": ""}}},
     {"path": "view", "body": {"state": {"text": "a", "view": "no such view"}}},
     {"path": "view", "body": {"state": {"text": "a [MASK]", "checkpoint": "/etc/passwd"}}}],
)  # fmt: skip
@pytest.mark.parametrize("kind", [View, TokenStrip])
def test_no_question_raises_or_opens_a_file(kind: Any, question: Any) -> None:
    reply = json.loads(kind(text=FRANCE, render=False).ask(question))
    assert reply["status"] in (400, 404, 422) and len(reply["answer"]["detail"]) < 300 + sum(
        len(name) + 2 for name in VIEWS
    )
    assert "root:" not in str(reply)


def test_a_listener_gives_a_text_or_a_part_of_a_state(view: View) -> None:
    assert view.postprocess("A [MASK].") == {"text": "A [MASK]."}
    assert view.postprocess({"options": {"top": 3}}) == {"options": {"top": 3}}
    assert view.postprocess(None) is None and view.preprocess({"text": "a"}) == {"text": "a"}
    with pytest.raises(bx.ExplorerError, match="'colour'; wanted view, text"):
        view.postprocess({"colour": "red"})
    with pytest.raises(bx.ExplorerError, match="hidden: got 'cat'; wanted spans"):
        view.postprocess({"hidden": "cat"})
    with pytest.raises(bx.ExplorerError, match="'view'; wanted text, pair, hidden, picked"):
        TokenStrip(FRANCE, render=False).postprocess({"view": "attention"})


def test_a_strip_has_the_tokens_of_the_page() -> None:
    strip = TokenStrip("The cats sat.", mask="cats", render=False)
    assert strip.value == {"text": "The cats sat.", "pair": "", "hidden": "0:4-8", "picked": ""}
    reply = asked(strip, "strip", {"state": strip.value, "counted_in": {"text": "The cats sat.", "pair": ""}})
    chips = reply["answer"]["strip"]["chips"]
    assert [chip["label"] for chip in chips] == ["[CLS]", "the", "[MASK]", "sat", ".", "[SEP]"]
    moved = asked(strip, "strip", {"state": {**strip.value, "text": "All the cats sat."},
                                   "counted_in": {"text": "The cats sat.", "pair": ""}})  # fmt: skip
    assert moved["answer"]["state"]["hidden"] == "0:8-12", "the word stays hidden where it is now"
    with pytest.raises(bx.ExplorerError, match="press: got 'eat'"):
        TokenStrip("A cat.", press="eat", render=False)


def test_the_explorer_offers_what_it_is_told_to() -> None:
    assert Explorer(render=False).props["offered"] == list(VIEWS)
    assert Explorer("attention", views=["fill_mask"], render=False).props["offered"] == ["fill-mask", "attention"]
    topic = VIEWS["search"].topic
    assert {"search", "fill-mask"} < set(Explorer(topics=[topic], render=False).props["offered"])
    with pytest.raises(bx.ExplorerError, match="no topic 'Cats'"):
        Explorer(topics=["Cats"], render=False)


def test_two_answers_are_computed_at_once(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = [], []

    def slowly(self: Any, path: str, body: Any) -> components.Reply:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.05)
        inside.pop()
        return components.Reply(b"{}")

    monkeypatch.setattr(components.Component, "reply", slowly)
    callers = [threading.Thread(target=view.ask, args=({"path": "view"},)) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert max(most) == 2


def test_the_templates_are_constants_and_no_file_is_written() -> None:
    evil = "${alert(1)} `x` {{value}} <img src=x onerror=alert(2)>"
    plain, typed = (View("fill-mask", text=text, render=False).get_config() for text in (FRANCE, evil))
    for name in ("html_template", "css_template", "js_on_load", "head"):
        assert plain[name] == typed[name]
    assert typed["value"]["text"] == evil and View(render=False).as_example({"text": evil}).startswith(
        "${alert(1)} `x`"
    )
    assert "<img" not in View(render=False).as_example(evil)
    assert not list(Path(components.__file__).parent.glob("*.pyi"))


def test_a_change_is_an_event_of_whole_values() -> None:
    """Gradio's own "change" comes with the part of a value that a listener gave."""
    with gr.Blocks(analytics_enabled=False) as demo:
        view = View("fill-mask", text=FRANCE)
        view.change(lambda state: state["text"], view, None)
        gr.on([view.change], lambda state: state["text"], view, None)
        view.answered(lambda: None)
    targets = [target[1] for function in demo.fns.values() for target in function.targets]
    assert targets == ["changed", "changed", "answered"]


def test_a_listener_hears_also_what_comes_while_it_runs() -> None:
    """Gradio drops it for all events but its own "change"."""
    with gr.Blocks(analytics_enabled=False) as demo:
        view, strip = View("fill-mask", text=FRANCE), TokenStrip(FRANCE)
        view.change(lambda state: None, view, None)
        view.answered(lambda: None)
        strip.select(lambda value: None, strip, None)
        view.answered(lambda: None, trigger_mode="once")
    assert [function.trigger_mode for function in demo.fns.values()] == ["always_last", "multiple", "multiple", "once"]


DOCUMENT = (ROOT / "docs" / "components.md").read_text("utf-8")


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL))
def test_the_programs_of_the_document_run(code: str) -> None:
    program: dict[str, Any] = {}
    exec(code, program)
    shown = [block for block in program["demo"].blocks.values() if isinstance(block, components.Component)]
    assert shown and all(json.loads(one.ask({"path": "page"}))["status"] == 404 for one in shown)
    view = next(block for block in shown if isinstance(block, View))
    assert asked(view, "view", {"state": view.value})["status"] == 200


def test_the_space_of_the_document_has_the_gradio_of_the_tests() -> None:
    version = re.search(r"^sdk_version: (.*)$", DOCUMENT, re.MULTILINE)
    assert version and f"gradio=={version[1]}\n" in (ROOT / "requirements.txt").read_text("utf-8")


def test_the_example_has_listeners_in_both_directions() -> None:
    program = runpy.run_path(str(ROOT / "examples" / "gradio_components.py"), run_name="example")
    heard = {target[1] for function in program["demo"].fns.values() for target in function.targets}
    assert heard == {"submit", "changed", "release", "answered"}
