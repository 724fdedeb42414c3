"""The plain Gradio app: it builds for every view, answers as the package does, and nothing leaves the machine."""

import os
import re
import runpy
import subprocess
import sys
from typing import Any

import gradio as gr
import pytest

import bertexplorer as bx
from bertexplorer.gradio_app import BOXES, ROWS, ask, can_be_typed, escape, field, filled, shown
from bertexplorer.views import VIEWS
from bertexplorer.views.view import Example, View
from tests.conftest import ROOT

FRANCE = "Paris is the [MASK] of France."
CLIENTS = "## From Gradio's clients"  # whose examples need a server: see tests/server/test_endpoints.py
DOCUMENT = (ROOT / "docs" / "gradio.md").read_text("utf-8").partition(CLIENTS)[0]
WATCHED = """
import socket
asked = []
real = socket.getaddrinfo
def watch(host, *more, **other):
    asked.append(host)
    return real(host, *more, **other)
socket.getaddrinfo = watch
import bertexplorer as bx
app = bx.app("fill-mask", "Paris is the [MASK] of France.")
_, url, _ = app.launch(prevent_thread_lock=True, quiet=True)
import httpx
page = httpx.get(url)
assert page.status_code == 200 and app.run_history is False and app.share is False
app.close()
print(sorted({str(host) for host in asked} - {"127.0.0.1", "localhost", "0.0.0.0", "None"}))
"""


def opening(app: gr.Blocks) -> dict[str, Any]:
    """What an app opens with."""
    (state,) = [block for block in app.blocks.values() if isinstance(block, gr.State)]
    return dict(state.value)


def question(view: View, example: Example) -> dict[str, Any]:
    """What the form gives to the analysis for an example."""
    values = filled(example)
    taken = {*view.takes, *(setting.name for setting in view.settings)}
    return {name: value for name, value in values.items() if name in taken}


def test_the_example_is_short_and_uses_what_is_public() -> None:
    example = (ROOT / "examples" / "gradio_app.py").read_text("utf-8")
    assert len(example.splitlines()) <= 80
    imported = re.findall(r"^(?:import|from) (\S+)", example, re.MULTILINE)
    assert imported == ["html", "os", "gradio", "bertexplorer", "bertexplorer.blocks", "bertexplorer.views"]


@pytest.fixture(scope="module")
def short_app() -> dict[str, Any]:
    """What the example of the documents defines."""
    return runpy.run_path(str(ROOT / "examples" / "gradio_app.py"), run_name="example")


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.slug)
def test_the_example_has_a_field_for_each_setting(view: View, short_app: dict[str, Any]) -> None:
    with gr.Blocks(analytics_enabled=False):
        made = [short_app["field"](setting) for setting in view.settings]
    assert [component.value for component in made] == [setting.default for setting in view.settings]


@pytest.mark.parametrize("name", ["fill_mask", "attention", "answer"])
def test_it_opens_a_view_with_its_first_example(name: str) -> None:
    start, view = opening(bx.app(name)), VIEWS[name.replace("_", "-")]
    assert start == {"view": view.slug, "checkpoint": "mini", "values": filled(view.examples[0])}


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.slug)
def test_it_has_a_field_for_each_setting(view: View) -> None:
    with gr.Blocks(analytics_enabled=False):
        made = [field(setting, setting.default) for setting in view.settings]
    assert [component.label for component in made] == [setting.option.label for setting in view.settings]
    assert set(filled(view.examples[0])) - set(BOXES) <= {setting.name for setting in view.settings}


ASKED = (  # views with a setting, words, pairs, words to look at, a page of their own, a checkpoint of their own
    "fill-mask", "template", "next-sentence", "word-in-context", "attention", "bertviz", "answer", "search", "saliency",
)  # fmt: skip


@pytest.mark.parametrize("slug", ASKED)
def test_the_first_example_of_a_view_is_answered_as_by_the_package(slug: str) -> None:
    view, example = VIEWS[slug], VIEWS[slug].examples[0]
    name = view.checkpoint or "mini"
    result = ask(view.name, name, **question(view, example))
    text = [example.text, example.pair] if view.text else []
    words = [word for word in filled(example)["pick"].split(", ") if word]
    assert result.rows == bx.load(name).analyse(view.name, *text, pick=words, **example.options).rows

    said, plot, page, table = shown(result)
    assert said.replace("\\", "").startswith(result.said[:20])
    is_page = isinstance(result.figure, str)
    assert (plot.visible, page.visible) == (not is_page, is_page)
    assert not is_page or page.value.startswith('<iframe sandbox="allow-scripts" ')
    assert len(table.value["data"]) == min(ROWS, len(result.rows))
    assert table.value["headers"] == list(dict.fromkeys(name for row in result.rows for name in row))


def test_it_opens_at_a_text_with_settings() -> None:
    text = "The animal didn't cross the street because it was too tired."
    start = opening(bx.app("attention", text, layer=4, head=2))
    assert start["values"] == {"text": text, "layer": 4, "head": 2}
    assert opening(bx.app("template", words=["he", "she"]))["values"]["words"] == "he, she"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"view": "heads"}, "There is no view 'heads'; wanted one of forward-pass, fill-mask, "),
        ({"view": "fill-mask", "tops": 3}, "Unknown setting tops; wanted top, words."),
        ({"view": "fill-mask", "top": 0}, "^top: got 0; wanted a whole number from 1 to 100."),
    ],
)
def test_what_a_program_gives_wrongly_is_reported(given: dict[str, Any], message: str) -> None:
    with pytest.raises(bx.ExplorerError, match=message):
        bx.app(**given)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"analysis": "fill_mask", "text": "Paris."}, r"Put \[MASK\] where a word is missing"),
        ({"analysis": "next_sentence", "text": "Paris."}, "Give it as pair."),
        ({"analysis": "attention", "text": "Paris.", "pick": "<img src=x>"}, "&lt;img src=x&gt;.* does not occur in"),
        ({"analysis": "fill_mask", "text": FRANCE, "checkpoint": "no such name!"}, "is not a checkpoint name"),
    ],
)
def test_what_a_person_types_wrongly_becomes_a_sentence(asked: dict[str, Any], message: str) -> None:
    """The message is read as HTML, so what was typed is escaped."""
    with pytest.raises(gr.Error) as error:
        ask(**{"checkpoint": "mini", **asked})
    assert re.search(message, error.value.message) and not error.value.print_exception


def test_words_to_look_at_are_separated_by_commas() -> None:
    text = "A good start and a bad end."
    assert ask("nearest_pieces", "mini", text=text, pick=" good ,bad,") == bx.nearest_pieces(text, pick=["good", "bad"])


def test_typed_markup_is_escaped() -> None:
    typed = '<img src=x onerror=alert(1)> *a* _b_ `c` [d](http://e) $$f$$ # g & "h" é “i”'
    assert "é “i”" in escape(typed) and escape(typed).replace("\\", "") == typed
    assert not re.search(r"(?<!\\)[<>*_`\[\]($#&:/]", escape(typed))


def test_examples_that_the_form_cannot_ask_are_left_out() -> None:
    left_out = {example.label for example in VIEWS["input-vectors"].examples if not can_be_typed(example)}
    assert left_out == {"[CLS]"}
    assert {"A good film", "Negation"} <= {e.label for e in VIEWS["answer"].examples if can_be_typed(e)}


def test_a_form_has_the_fields_that_its_view_takes() -> None:
    assert VIEWS["fill-mask"].takes == ("text",)
    assert VIEWS["next-sentence"].takes == ("text", "pair")
    assert VIEWS["attention"].takes == ("text", "pair", "pick")
    assert VIEWS["suite"].takes == ()
    settings = [setting.name for setting in VIEWS["suite"].settings]
    assert settings == ["suite", "pairs", "pairs_mean", "scoring", "most"], "rows is an upload"


@pytest.mark.parametrize("code", re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE))
def test_the_examples_of_the_documentation_run(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gr.Blocks, "launch", lambda self: None)
    names: dict[str, Any] = {}
    exec(code, names)
    if "fill" in names:
        assert names["fill"](FRANCE)[0].data
        with pytest.raises(gr.Error, match="MASK"):
            names["fill"]("Paris.")


def test_nothing_is_asked_of_another_host() -> None:
    quiet = ("GRADIO_ANALYTICS_ENABLED", "GRADIO_RUN_HISTORY")
    environment = {name: value for name, value in os.environ.items() if name not in quiet}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stdout + done.stderr


def test_the_package_does_not_import_gradio() -> None:
    there = "print('gradio' in sys.modules)"
    code = f"import bertexplorer as bx, sys; dir(bx); {there}; bx.app; {there}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False", "True"], done.stderr
