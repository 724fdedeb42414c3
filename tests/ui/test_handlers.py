"""Handlers: whoever types before the page has opened keeps what was typed; a late answer is not shown."""

from dataclasses import replace
from types import SimpleNamespace

import gradio as gr
import pytest

from bertexplorer.model.text import Span
from bertexplorer.settings import Settings
from bertexplorer.store.library import Library
from bertexplorer.ui import page, pieces
from bertexplorer.ui.handlers import Handlers
from bertexplorer.ui.screen import remembered


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
    settings = [component.value for _, _, component in handlers.screen.settings()]
    return [memory, text, "", "auto", "", "", *settings]


def test_what_is_typed_before_the_page_has_opened_is_kept(handlers: Handlers) -> None:
    shown = handlers.edit(asking("early"), *values(handlers, "A robin is a [MASK]."))
    assert "robin" in shown[handlers.screen.strip]
    (late,) = handlers.open(asking("early"))
    assert late == {handlers.screen.message: gr.skip()}


def test_the_boxes_of_an_unopened_page_ask_nothing(handlers: Handlers) -> None:
    untouched = values(handlers, handlers.opening.text)
    assert handlers.edit(asking("new"), *untouched) == {handlers.screen.message: gr.skip()}
    *_, opened = handlers.open(asking("new", text="A robin is a [MASK].", hidden="0:2-7"))
    assert opened[handlers.screen.text] == "A robin is a [MASK]." and "masked" in opened[handlers.screen.strip]


def test_the_answer_on_the_screen_is_not_asked_again(handlers: Handlers) -> None:
    first = handlers.edit(asking("same"), *values(handlers, "A robin is a [MASK]."))
    memory = first[handlers.screen.memory]
    assert memory == remembered(handlers.turns.asked("same"))
    again = handlers.edit(asking("same"), *values(handlers, "A robin is a [MASK].", memory))
    assert again == {handlers.screen.message: gr.skip()}


def test_a_press_is_kept_when_the_person_types_before_its_answer(handlers: Handlers) -> None:
    event = SimpleNamespace(_data={"hidden": "0:2-7", "fill": "", "press": 1})
    handlers.edit(asking("quick"), *values(handlers, "A robin sings."))
    handlers.press(asking("quick"), event, *values(handlers, "A robin sings."))
    after = handlers.edit(asking("quick"), *values(handlers, "A robin sings well."))
    assert after[handlers.screen.memory]["hidden"] == "0:2-7"


def test_an_answer_that_comes_late_is_not_shown(handlers: Handlers, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = handlers.explore.answer

    def slow(state):
        if state.text.startswith("Slow"):  # another question of the same tab comes first
            handlers.turns.take("late", state)
        return answer(state)

    monkeypatch.setattr(handlers.explore, "answer", slow)
    assert handlers.edit(asking("late"), *values(handlers, "Slow [MASK].")) == {handlers.screen.message: gr.skip()}


def test_a_press_that_arrives_after_a_later_one_changes_nothing(handlers: Handlers) -> None:
    """Requests of one browser may change places on their way; each press tells all that is hidden by then."""
    later = SimpleNamespace(_data={"hidden": "0:2-7,0:8-13", "fill": "", "press": 2})
    early = SimpleNamespace(_data={"hidden": "0:2-7", "fill": "", "press": 1})
    handlers.edit(asking("swap"), *values(handlers, "A robin sings."))
    shown = handlers.press(asking("swap"), later, *values(handlers, "A robin sings."))
    assert shown[handlers.screen.strip].count("masked") == 2
    assert handlers.press(asking("swap"), early, *values(handlers, "A robin sings.")) == {
        handlers.screen.message: gr.skip()
    }
    assert handlers.turns.asked("swap").hidden == later_spans()


def later_spans() -> tuple[Span, ...]:
    return (Span(0, 2, 7), Span(0, 8, 13))


def test_a_point_of_the_figure_leads_where_it_says_and_nowhere_else(handlers: Handlers) -> None:
    handlers.edit(asking("jump"), *values(handlers, "A robin is a [MASK]."))
    event = SimpleNamespace(_data={"view": "layers", "set": {"top": 5, "evil": "x"}, "picked": ""})
    shown = handlers.jump(asking("jump"), event, *values(handlers, "A robin is a [MASK]."))
    state = handlers.turns.asked("jump")
    assert state.view == "layers" and state.options == {"words": "", "top": 5}
    assert shown[handlers.screen.forms["layers"].components["top"]] == 5
    odd = SimpleNamespace(_data={"view": "../x", "set": "no", "picked": 7})
    handlers.jump(asking("jump"), odd, *values(handlers, "A robin is a [MASK]."))
    assert handlers.turns.asked("jump").view == "layers"


def test_what_arrives_late_does_not_undo_what_was_done_later(handlers: Handlers) -> None:
    """A view was pressed, then a text typed; the server hears of the text first."""
    screen, tab = handlers.screen, asking("late")
    handlers.edit(tab, *values(handlers, "Typed [MASK] later.", {"sent": 200.0}))
    pressed = SimpleNamespace(_data={"view": "decoding"})
    *_, out = handlers.switch(tab, pressed, *values(handlers, handlers.opening.text, {"sent": 100.0}))
    assert (out[screen.memory]["text"], out[screen.memory]["view"]) == ("Typed [MASK] later.", "decoding")
    pressed = SimpleNamespace(_data={"view": "pseudo-likelihood"})
    *_, out = handlers.switch(tab, pressed, *values(handlers, "Typed last.", {"sent": 300.0}))
    assert (out[screen.memory]["text"], out[screen.memory]["view"]) == ("Typed last.", "pseudo-likelihood")


def test_what_an_example_put_there_is_told_after_the_next_was_pressed(handlers: Handlers) -> None:
    """The page tells of the first example's text when the second is already asked for: the second stands."""
    tab = asking("examples")
    shown = handlers.pick(tab, SimpleNamespace(_data={"example": 1}), *values(handlers, handlers.opening.text))
    first = shown[handlers.screen.text]
    assert first != handlers.opening.text
    handlers.turns.take("examples", replace(handlers.turns.asked("examples"), text="A second example [MASK]."))
    assert handlers.edit(tab, *values(handlers, first)) == {handlers.screen.message: gr.skip()}
    assert handlers.turns.asked("examples").text == "A second example [MASK]."


def test_switching_to_no_view_says_so(handlers: Handlers) -> None:
    event = SimpleNamespace(_data={"view": "<b>"})
    (shown,) = handlers.switch(asking("s"), event, *values(handlers, "A [MASK]."))
    assert "There is no view" in shown[handlers.screen.message]


def test_another_view_asks_its_question_before_it_is_answered(handlers: Handlers) -> None:
    event = SimpleNamespace(_data={"view": "layers"})
    around, answer = handlers.switch(asking("q"), event, *values(handlers, "A robin is a [MASK]."))
    assert "make up its mind" in around[handlers.screen.question] and handlers.screen.plot not in around
    assert answer[handlers.screen.plot] is not None


def test_boxes_that_an_example_fills_one_after_the_other_ask_nothing(handlers: Handlers) -> None:
    """The browser tells each change of a box, and while the first is told the others may still be as before."""
    screen, tab = handlers.screen, asking("fill")
    list(handlers.switch(tab, SimpleNamespace(_data={"view": "saliency"}), *values(handlers, "A [MASK] sings.")))
    examples = page.VIEWS["saliency"].EXAMPLES
    number = next(i for i, example in enumerate(examples) if example.pair and example.options)
    before = values(handlers, "A [MASK] sings.")
    shown = handlers.pick(tab, SimpleNamespace(_data={"example": number}), *before)
    assert shown[screen.text] == examples[number].text
    halfway = [shown[screen.memory], examples[number].text, examples[number].pair, *before[3:]]
    assert handlers.edit(tab, *halfway) == {screen.message: gr.skip()}
    own = {id(c): value for c, value in shown.items() if c in screen.forms["saliency"].components.values()}
    done = [*halfway[:6], *(own.get(id(c), v) for (_, _, c), v in zip(screen.settings(), halfway[6:], strict=True))]
    assert handlers.edit(tab, *done) == {screen.message: gr.skip()}
    typed = handlers.edit(tab, *halfway)  # now it is a person who sets the old settings again
    assert screen.memory in typed


def test_a_press_that_leads_to_another_view_leaves_its_old_settings_behind(handlers: Handlers) -> None:
    held = {"view": "attention", "set": {"direction": "B to A"}}
    handlers.edit(asking("lead"), *values(handlers, "A robin is a [MASK]."))
    handlers.jump(asking("lead"), SimpleNamespace(_data=held), *values(handlers, "A robin is a [MASK]."))
    handlers.jump(asking("lead"), SimpleNamespace(_data={"view": "layers"}), *values(handlers, "A robin is a [MASK]."))
    seen = values(handlers, "A robin is a [MASK].")
    seen = [
        "B to A" if name == "direction" else v
        for (_, name, _), v in zip([("", "", "")] * 6 + handlers.screen.settings(), seen, strict=True)
    ]
    back = handlers.jump(asking("lead"), SimpleNamespace(_data={"view": "attention", "set": {"heads": "5·1"}}), *seen)
    assert handlers.turns.asked("lead").options["direction"] == page.VIEWS["attention"].analysis.Options().direction
    assert back[handlers.screen.message] == pieces.message("")


def test_what_is_typed_while_a_view_opens_is_newer_than_the_view(handlers: Handlers) -> None:
    event = SimpleNamespace(_data={"view": "layers"})
    opening = handlers.switch(asking("typing"), event, *values(handlers, "A robin is a [MASK]."))
    next(opening)
    typed = handlers.edit(asking("typing"), *values(handlers, "A crow is a [MASK]."))
    assert typed[handlers.screen.memory]["view"] == "layers" and "crow" in typed[handlers.screen.strip]
    assert next(opening) == {handlers.screen.message: gr.skip()}
