"""Handlers: whoever types before the page has opened keeps what was typed; a late answer is not shown."""

from types import SimpleNamespace

import gradio as gr
import pytest

from bertexplorer.settings import Settings
from bertexplorer.store.library import Library
from bertexplorer.ui import page
from bertexplorer.ui.handlers import Handlers, remembered


@pytest.fixture(scope="module")
def handlers() -> Handlers:
    """The handlers of the page that `build` makes."""
    found = []
    wire, page.wire = page.wire, lambda handlers, *rest: found.append(handlers)
    try:
        page.build(Library(), Settings())
    finally:
        page.wire = wire
    return found[0]


def asking(tab: str, **query: str) -> SimpleNamespace:
    return SimpleNamespace(session_hash=tab, query_params=query)


def values(handlers: Handlers, text: str, memory: object = None) -> list[object]:
    settings = [component.value for _, _, component in handlers.settings()]
    return [memory, text, "", "auto", "fill-mask", *settings]


def test_what_is_typed_before_the_page_has_opened_is_kept(handlers: Handlers) -> None:
    shown = handlers.edit(asking("early"), *values(handlers, "A robin is a [MASK]."))
    assert "robin" in shown[handlers.strip]
    (late,) = handlers.open(asking("early"))
    assert late == {handlers.message: gr.skip()}


def test_the_boxes_of_an_unopened_page_ask_nothing(handlers: Handlers) -> None:
    untouched = values(handlers, handlers.opening.text)
    assert handlers.edit(asking("new"), *untouched) == {handlers.message: gr.skip()}
    *_, opened = handlers.open(asking("new", text="A robin is a [MASK].", hidden="0:2-7"))
    assert opened[handlers.text] == "A robin is a [MASK]." and "masked" in opened[handlers.strip]


def test_the_answer_on_the_screen_is_not_asked_again(handlers: Handlers) -> None:
    first = handlers.edit(asking("same"), *values(handlers, "A robin is a [MASK]."))
    memory = first[handlers.memory]
    assert memory == remembered(handlers.turns.asked("same"))
    again = handlers.edit(asking("same"), *values(handlers, "A robin is a [MASK].", memory))
    assert again == {handlers.message: gr.skip()}


def test_a_press_is_kept_when_the_person_types_before_its_answer(handlers: Handlers) -> None:
    event = SimpleNamespace(_data={"hidden": "0:2-7", "fill": "", "press": 1})
    handlers.edit(asking("quick"), *values(handlers, "A robin sings."))
    handlers.press(asking("quick"), event, *values(handlers, "A robin sings."))
    after = handlers.edit(asking("quick"), *values(handlers, "A robin sings well."))
    assert after[handlers.memory]["hidden"] == "0:2-7"


def test_an_answer_that_comes_late_is_not_shown(handlers: Handlers, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = handlers.explore.answer

    def slow(state):
        if state.text.startswith("Slow"):  # another question of the same tab comes first
            handlers.turns.take("late", state)
        return answer(state)

    monkeypatch.setattr(handlers.explore, "answer", slow)
    assert handlers.edit(asking("late"), *values(handlers, "Slow [MASK].")) == {handlers.message: gr.skip()}
