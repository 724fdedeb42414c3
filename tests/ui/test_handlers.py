"""Handlers: a tab's events in the order they were sent, each adding to what was asked; late answers are not shown."""

import time
from threading import Thread
from types import SimpleNamespace

import pytest

from bertexplorer.engine.lanes import Ticket
from bertexplorer.model.text import Span
from bertexplorer.ui import page, pieces
from bertexplorer.ui.handlers import Handlers
from tests.ui.steps import asking, nothing, open_page, told, typing, values


def test_what_is_typed_before_the_page_has_opened_is_kept(handlers: Handlers) -> None:
    shown = typing(handlers, "early", "A robin is a [MASK].")
    assert "robin" in shown[handlers.screen.strip]
    assert open_page(handlers, "early") == nothing(handlers)


def test_what_is_typed_while_the_page_opens_is_newer_than_its_link(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(name: str):
        typing(handlers, "opening", "A robin is a [MASK].")
        yield "fetching"

    monkeypatch.setattr(handlers.explore, "fetch", fetch)
    late = open_page(handlers, "opening", text="A piano is a [MASK].")
    assert late == nothing(handlers) and handlers.turns.asked("opening").text == "A robin is a [MASK]."


def test_every_answer_says_whose_it_is(handlers: Handlers) -> None:
    """So that the browser can tell when an older one reaches it later."""
    shown = [open_page(handlers, "whose"), typing(handlers, "whose", "A robin is a [MASK].")]
    shown.append(handlers.switch(asking("whose"), told(view="layers"), *values(handlers, "A robin.")))
    assert [out[handlers.screen.typed] for out in shown] == [pieces.turn(number) for number in (2, 3, 4)]


def test_a_page_opens_as_its_link_says(handlers: Handlers) -> None:
    opened = open_page(handlers, "new", text="A robin is a [MASK].", hidden="0:2-7")
    assert opened[handlers.screen.text]["value"] == "A robin is a [MASK]."
    assert "masked" in opened[handlers.screen.strip]
    assert opened[handlers.screen.memory]["turn"] == handlers.turns.filled("new")


def test_typing_leaves_the_box_that_is_typed_in_alone(handlers: Handlers) -> None:
    """Its answer may come when more was typed."""
    open_page(handlers, "alone")
    on_screen = {"turn": handlers.turns.filled("alone"), "event": 1}
    shown = typing(handlers, "alone", "A robin is a [MASK].", on_screen)
    assert handlers.screen.strip in shown and handlers.screen.text not in shown


def test_typing_in_a_box_that_an_answer_is_about_to_fill_wins(handlers: Handlers) -> None:
    """The example's text may arrive after the typing; so the answer to the typing puts it back."""
    open_page(handlers, "box")
    on_screen = {"turn": handlers.turns.filled("box")}
    handlers.pick(asking("box"), told(example=1), *values(handlers, handlers.opening.text, {**on_screen, "event": 1}))
    shown = typing(handlers, "box", "A robin is a [MASK].", {**on_screen, "event": 2})
    assert shown[handlers.screen.text]["value"] == "A robin is a [MASK]."


def test_a_press_is_kept_when_the_person_types_before_its_answer(handlers: Handlers) -> None:
    typing(handlers, "quick", "A robin sings.")
    handlers.press(asking("quick"), told(hidden="0:2-7", fill="", press=1), *values(handlers, "A robin sings."))
    after = typing(handlers, "quick", "A robin sings well.")
    assert after[handlers.screen.memory]["hidden"] == "0:2-7"


def test_a_press_on_words_of_the_screen_finds_them_in_what_was_typed_since(handlers: Handlers) -> None:
    shown = typing(handlers, "moved", "A robin sings.")
    typing(handlers, "moved", "Look: a robin sings.")
    handlers.press(asking("moved"), told(hidden="0:2-7"), *values(handlers, "", shown[handlers.screen.memory]))
    assert handlers.turns.asked("moved").hidden == (Span(0, 8, 13),)


def test_an_answer_that_comes_late_is_not_shown(handlers: Handlers, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = handlers.explore.answer

    def slow(state):
        if state.text.startswith("Slow"):  # another question of the same tab comes first
            handlers.turns.take("late", lambda asked, _: asked)
        return answer(state)

    monkeypatch.setattr(handlers.explore, "answer", slow)
    assert typing(handlers, "late", "Slow [MASK].") == nothing(handlers)


def test_a_full_line_is_told_at_once_and_what_was_typed_is_kept(handlers: Handlers) -> None:
    typing(handlers, "full", "A robin is a [MASK].")
    lane = handlers.lanes.quick
    lane.inside, most, lane.most_waiting = [Ticket("", "", since=time.monotonic())] * lane.at_once, lane.most_waiting, 0
    try:
        shown = typing(handlers, "full", "A crow is a [MASK].")
    finally:
        lane.inside, lane.most_waiting = [], most
    assert "Busy" in shown[handlers.screen.message] and handlers.screen.plot not in shown
    assert "crow" in typing(handlers, "full", "A crow is a [MASK] bird.")[handlers.screen.strip]


def test_events_count_in_the_order_they_were_sent(handlers: Handlers) -> None:
    """A view was pressed, then an example of it: the server hears of the example first."""
    open_page(handlers, "order")
    second = Thread(target=handlers.pick, args=(asking("order"), told(example=2), *values(handlers, "", {"event": 2})))
    second.start()
    handlers.switch(asking("order"), told(view="layers"), *values(handlers, "", {"event": 1}))
    second.join()
    state = handlers.turns.asked("order")
    assert (state.view, state.text) == ("layers", page.VIEWS["layers"].EXAMPLES[2].text)
    again = handlers.pick(asking("order"), told(example=1), *values(handlers, "", {"event": 1}))
    assert again == nothing(handlers) and handlers.turns.asked("order") == state


def test_what_answers_overtaken_by_others_would_have_filled_is_filled(handlers: Handlers) -> None:
    """An example was pressed and at once another view: the answer to the view brings the example's text."""
    open_page(handlers, "both")
    example = page.VIEWS["fill-mask"].EXAMPLES[1].text
    handlers.pick(asking("both"), told(example=1), *values(handlers, handlers.opening.text))
    out = handlers.switch(asking("both"), told(view="layers"), *values(handlers, handlers.opening.text))
    assert out[handlers.screen.text]["value"] == example and out[handlers.screen.memory]["view"] == "layers"


def test_a_setting_adds_to_what_was_asked_meanwhile(handlers: Handlers) -> None:
    """A setting is changed while the answer to an example is on its way: its text and settings stay."""
    screen, tab = handlers.screen, "settings"
    handlers.switch(asking(tab), told(view="attention"), *values(handlers, "A robin sings."))
    shown = typing(handlers, tab, "A robin sings.")
    on_screen = shown[screen.memory]
    held = {"view": "attention", "set": {"direction": "B to A"}}
    handlers.jump(asking(tab), told(**held), *values(handlers, "A robin sings.", on_screen))
    boxes = values(handlers, "A robin sings.", on_screen)
    names = [""] * 6 + [name if view == "attention" else "" for view, name, _ in screen.settings()]
    handlers.choose(asking(tab), *(3 if name == "layer" else v for name, v in zip(names, boxes, strict=True)))
    options = handlers.turns.asked(tab).options
    assert (options["direction"], options["layer"]) == ("B to A", 3)


def with_setting(handlers: Handlers, boxes: list[object], view: str, name: str, value: object) -> list[object]:
    names = [("", "")] * 6 + [(of, setting) for of, setting, _ in handlers.screen.settings()]
    return [value if at == (view, name) else box for at, box in zip(names, boxes, strict=True)]


def test_a_setting_put_back_before_its_answer_is_back(handlers: Handlers) -> None:
    tab, screen = "back", handlers.screen
    open_page(handlers, tab)
    on_screen = typing(handlers, tab, "A robin sings.")[screen.memory]
    handlers.edit(asking(tab), told(typed={"fill-mask.words": "cats"}), *values(handlers, "A robin sings.", on_screen))
    assert handlers.turns.asked(tab).options["words"] == "cats"
    handlers.edit(asking(tab), told(typed={"fill-mask.words": ""}), *values(handlers, "A robin sings.", on_screen))
    assert handlers.turns.asked(tab).options["words"] == ""


def test_a_setting_of_a_view_that_is_still_opening_counts(handlers: Handlers) -> None:
    tab = "opening"
    open_page(handlers, tab)
    shown = typing(handlers, tab, "A robin sings.")
    boxes = values(handlers, "A robin sings.", shown[handlers.screen.memory])
    handlers.switch(asking(tab), told(view="attention"), *boxes)
    handlers.choose(asking(tab), *with_setting(handlers, boxes, "attention", "layer", 2))
    state = handlers.turns.asked(tab)
    assert (state.view, state.options["layer"]) == ("attention", 2)


def test_what_a_link_sets_outlasts_an_event_before_its_answer(handlers: Handlers) -> None:
    tab, link = (
        "link",
        {"text": "A robin is a [MASK].", "precision": "fp32", "against": "random weights", "words": "bird"},
    )
    opening = handlers.open(asking(tab, **link))
    next(opening, None)  # it looks for the checkpoint
    handlers.switch(asking(tab), told(view="fill-mask"), *values(handlers, handlers.opening.text, {"event": 1}))
    state = handlers.turns.asked(tab)
    assert (state.text, state.precision, state.against) == (link["text"], "fp32", "random weights")
    assert state.options["words"] == "bird"


def test_an_emptied_number_is_said_and_the_next_one_counts(handlers: Handlers) -> None:
    tab = "number"
    open_page(handlers, tab)
    boxes = values(handlers, handlers.opening.text, {"event": 1})
    out = handlers.choose(asking(tab), *with_setting(handlers, boxes, "fill-mask", "top", None))
    assert "Answers: got None" in out[handlers.screen.message]
    boxes[0] = {"event": 2}
    out = handlers.choose(asking(tab), *with_setting(handlers, boxes, "fill-mask", "top", 5))
    assert out[handlers.screen.message] == pieces.message("") and out[handlers.screen.memory]["options"]["top"] == 5


def test_a_checkpoint_fetched_after_another_was_chosen_is_not_used(handlers: Handlers) -> None:
    tab = "fetch"
    open_page(handlers, tab)
    boxes = values(handlers, handlers.opening.text)
    list(handlers.fetch(asking(tab), "mini", *boxes))
    list(handlers.fetch(asking(tab), "tiny", *boxes))
    assert handlers.use(asking(tab), "mini", *boxes) == {handlers.screen.ready: ""}
    handlers.use(asking(tab), "tiny", *boxes)
    assert handlers.turns.asked(tab).checkpoint == "tiny"


def test_a_point_of_the_figure_leads_where_it_says_and_nowhere_else(handlers: Handlers) -> None:
    typing(handlers, "jump", "A robin is a [MASK].")
    lead = told(view="layers", set={"top": 5, "evil": "x"}, picked="")
    shown = handlers.jump(asking("jump"), lead, *values(handlers, "A robin is a [MASK]."))
    state = handlers.turns.asked("jump")
    assert state.view == "layers" and state.options == {"words": "", "top": 5}
    assert shown[handlers.screen.forms["layers"].components["top"]]["value"] == 5
    handlers.jump(asking("jump"), told(view="../x", set="no", picked=7), *values(handlers, "A robin is a [MASK]."))
    assert handlers.turns.asked("jump").view == "layers"


def test_switching_to_no_view_says_so(handlers: Handlers) -> None:
    shown = handlers.switch(asking("s"), told(view="<b>"), *values(handlers, "A [MASK]."))
    assert "There is no view" in shown[handlers.screen.message]


def test_a_press_that_leads_to_another_view_leaves_its_old_settings_behind(handlers: Handlers) -> None:
    held = {"view": "attention", "set": {"direction": "B to A"}}
    typing(handlers, "lead", "A robin is a [MASK].")
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
