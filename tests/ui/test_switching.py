"""Switching views: each comes whole, says what it lacks, and leaves the text alone; Back brings the one before."""

from bertexplorer.ui import page
from bertexplorer.ui.handlers import Handlers
from tests.ui.steps import asking, open_page, told, typing, values


def test_another_view_comes_whole(handlers: Handlers) -> None:
    shown = handlers.switch(asking("q"), told(view="layers"), *values(handlers, "A robin is a [MASK]."))
    assert "make up its mind" in shown[handlers.screen.question] and shown[handlers.screen.plot] is not None


def test_a_view_that_lacks_something_shows_no_other_views_figure(handlers: Handlers) -> None:
    """It says what is missing, with the button that adds it, and the text stays as the person has it."""
    screen, text = handlers.screen, handlers.opening.text
    open_page(handlers, "lacks")
    shown = handlers.switch(asking("lacks"), told(view="next-sentence"), *values(handlers, text))
    assert 'data-adds="pair"' in shown[screen.message] and "no second sentence" in shown[screen.message]
    assert shown[screen.plot] is None and shown[screen.caption] == shown[screen.receipt] == ""
    assert handlers.turns.asked("lacks").text == text
    again = typing(handlers, "lacks", text, **{"next-sentence.candidates": "A |"})
    assert again[screen.plot] is None and 'data-adds="pair"' in again[screen.message]
    answered = typing(handlers, "lacks", text, pair="It is big.")
    assert answered[screen.plot] is not None
    emptied = typing(handlers, "lacks", text, pair="")
    assert screen.plot not in emptied  # the view's own figure stays, dimmed


def test_no_view_replaces_what_stands_in_the_boxes(handlers: Handlers) -> None:
    """The example of one view, then each of the others: text and pair stay, even where a view cannot use them."""
    example = page.VIEWS["next-sentence"].EXAMPLES[0]
    handlers.switch(asking("stays"), told(view="next-sentence"), *values(handlers, handlers.opening.text))
    handlers.pick(asking("stays"), told(example=0), *values(handlers, handlers.opening.text))
    for view in page.VIEWS:
        handlers.switch(asking("stays"), told(view=view), *values(handlers, example.text))
        state = handlers.turns.asked("stays")
        assert (state.view, state.text, state.pair) == (view, example.text, example.pair)


def test_back_brings_the_view_before(handlers: Handlers) -> None:
    opened = open_page(handlers, "returns", text="A robin is a [MASK].", view="layers", top="5")
    assert opened[handlers.screen.memory]["options"]["top"] == 5
    handlers.switch(asking("returns"), told(view="fill-mask"), *values(handlers, "A robin is a [MASK]."))
    link = "?view=layers&text=A+crow+is+a+%5BMASK%5D.&checkpoint=mini&top=7"
    shown = handlers.switch(asking("returns"), told(link=link), *values(handlers, "A robin is a [MASK]."))
    memory = shown[handlers.screen.memory]
    assert (memory["view"], memory["text"], memory["options"]["top"]) == ("layers", "A crow is a [MASK].", 7)
    assert shown[handlers.screen.text]["value"] == "A crow is a [MASK]."
