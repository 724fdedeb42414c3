"""The widget of a notebook: what its kernel answers, and the module that the browser gets."""

import json
import re
from typing import Any

import pytest

import bertexplorer as bx
from bertexplorer.errors import ExplorerError
from bertexplorer.web.embedded import KEYFRAMES

pytest.importorskip("anywidget", reason="the widget is an extra: pip install bertexplorer[notebook]")

CAT = "The cat sat on the mat."


@pytest.fixture
def widget() -> Any:
    return bx.widget("attention", CAT, pick="cat", layer=2)


def test_it_shows_what_was_asked_for(widget: Any) -> None:
    assert widget.link == "?view=attention&text=The+cat+sat+on+the+mat.&picked=0%3A4-7&checkpoint=mini&layer=2"
    assert widget.state["view"] == "attention" and widget.state["options"]["layer"] == 2
    asked = bx.attention(CAT, pick="cat", layer=2)
    assert widget.result == asked and widget.result.said == asked.said


def test_the_kernel_answers_as_the_api_does(widget: Any) -> None:
    reply = widget.reply("view", {"link": "?view=tokenization&text=Hello+there"})
    answer = json.loads(reply.body)
    assert reply.status == 200 and answer["said"] == bx.tokenization("Hello there").said
    assert widget.state["view"] == "tokenization" and widget.result == bx.tokenization("Hello there")
    assert json.loads(widget.reply("page", None).body)["opening"]["checkpoint"] == "mini"
    assert "window.Plotly" in json.loads(widget.reply("plotly-cartesian", None).body)["source"]


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("view", {"link": 3}, 422, "link: got 3; wanted the query of a link to the page."),
        ("view", {"state": {"view": "fill-mask", "text": "No mask."}}, 422, "Nothing is hidden"),
        ("runs", None, 404, "There is no 'runs' here. Use the page of `serve` for it."),
        ("../../secret", None, 404, "There is no"),
    ],
)
def test_what_it_cannot_answer_it_says(widget: Any, path: str, body: Any, status: int, said: str) -> None:
    reply = widget.reply(path, body)
    assert reply.status == status and json.loads(reply.body)["detail"].startswith(said)


def test_a_message_gets_its_answer(widget: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(widget, "send", sent.append)
    widget.answer(widget, {"number": "a-1", "path": "view", "body": {"link": "?view=fill-mask&text=A+[MASK]."}}, [])
    assert (sent[0]["number"], sent[0]["status"]) == ("a-1", 200) and json.loads(sent[0]["answer"])["said"]


def test_python_changes_what_it_shows(widget: Any) -> None:
    widget.show(layer=3)
    assert widget.state["options"]["layer"] == 3 and widget.state["picked"] == "0:4-7" and "layer=3" in widget.link
    widget.show("fill_mask", "A [MASK] sat.", top=2)
    assert widget.state["view"] == "fill-mask" and len(widget.result.rows) == 2
    widget.show(pair="It rains.")
    assert (widget.state["text"], widget.state["pair"]) == ("A [MASK] sat.", "It rains.")
    widget.show(text="A [MASK] ran.")
    assert (widget.state["text"], widget.state["pair"]) == ("A [MASK] ran.", "It rains.")
    assert bx.widget("saliency").state["text"] == "The fish swims in the [MASK].", "the first example"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"analysis": "nothing"}, "There is no analysis 'nothing'; wanted one of"),
        ({"analysis": "attention", "text": CAT, "pick": "dog"}, "'dog' does not occur in the text."),
        ({"analysis": "attention", "colour": "red"}, "Unknown setting colour; wanted show, layer"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ExplorerError, match=f"^{re.escape(said)}"):
        bx.widget(**given)


def test_a_checkpoint_that_only_the_notebook_has(widget: Any) -> None:
    control = bx.load("mini").control()
    alone = bx.widget("fill_mask", "A [MASK] sat.", checkpoint=control)
    assert alone.result == control.fill_mask("A [MASK] sat.")
    assert alone.result != bx.fill_mask("A [MASK] sat.")


def test_each_module_comes_after_those_that_it_imports(widget: Any) -> None:
    source = re.search(r"const sources = (\{.*\});\n", widget._esm)
    assert source is not None
    modules = json.loads(source[1])
    before: set[str] = set()
    for name, text in modules.items():
        assert set(re.findall(r'(?:from|import) "\./(\w+\.js)"', text)) <= before, name
        before.add(name)
    assert list(modules)[-1] == "widget.js"


def test_its_styles_reach_nothing_else(widget: Any) -> None:
    moves, _, rules = widget._css.partition(".bx-embedded {")
    assert not KEYFRAMES.sub("", moves).strip() and "@keyframes" not in rules
    assert widget._css.count("{") == widget._css.count("}")
    assert not re.search(r"#explore|#learn\b|:root|\bbody:", widget._css)
