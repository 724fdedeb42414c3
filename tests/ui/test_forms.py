"""Forms, turns and tabs: every setting becomes a component with its own default and bounds."""

import subprocess
import sys
import time

import gradio as gr
import pytest

from bertexplorer.knobs import settings
from bertexplorer.ui.explore import VIEWS
from bertexplorer.ui.forms import form
from bertexplorer.ui.seen import Seen
from bertexplorer.ui.state import State
from bertexplorer.ui.tabs import TABS
from bertexplorer.ui.turns import TABS as REMEMBERED
from bertexplorer.ui.turns import WAIT_S, Turns
from tests.conftest import ROOT


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.TITLE)
def test_every_setting_has_its_component(tab) -> None:
    with gr.Blocks():
        made = form(tab.analysis.Options, "x", True)
    for setting in settings(tab.analysis.Options):
        component = made.components[setting.name]
        assert component.label == setting.knob.label
        assert component.value == setting.default
        if isinstance(component, gr.Slider):
            assert (component.minimum, component.maximum) == (setting.knob.low, setting.knob.high)


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.TITLE)
def test_every_example_can_be_set(tab) -> None:
    names = {s.name for s in settings(tab.analysis.Options)}
    assert len(tab.EXAMPLES) == 5
    for example in tab.EXAMPLES:
        tab.analysis.Options(**example.options)
        assert set(example.options) <= names
    assert tab.QUESTION.endswith("?") and len(tab.NOTE) > 60


def test_views_are_named_like_their_modules() -> None:
    for name, tab in VIEWS.items():
        assert tab.analysis.__name__.endswith(name.replace("-", "_"))
        assert tab.figure.__name__.endswith(name.replace("-", "_"))


def test_only_the_newest_turn_of_a_tab_holds() -> None:
    turns = Turns()
    first, other = turns.take("a", lambda *_: State("one")), turns.take("b", lambda asked, _: asked)
    assert turns.holds("a", first)
    second = turns.take("a", lambda asked, _: State(asked.text + " two"))
    assert turns.asked("a") == State("one two") and turns.asked("b") is None
    assert not turns.holds("a", first) and turns.holds("a", second) and turns.holds("b", other)


def test_a_change_that_fails_changes_nothing_and_holds_no_one_up() -> None:
    turns = Turns()
    first, second, third = (Seen({"event": i}, {}, {}) for i in (1, 2, 3))
    turns.take("a", lambda *_: State("one"), first)
    with pytest.raises(ZeroDivisionError):
        turns.take("a", lambda *_: 1 / 0, second)
    started = time.monotonic()
    assert turns.take("a", lambda asked, _: asked, third) == 2 and turns.asked("a") == State("one")
    assert time.monotonic() - started < WAIT_S / 2


def test_the_opening_question_gives_way_to_a_person() -> None:
    turns = Turns()
    assert turns.open("a", State("one")) == 1 and turns.replace("a", 1, State("two")) == 2
    third = turns.take("a", lambda asked, _: State(asked.text + " three"))
    assert not turns.open("a", State("four")) and not turns.replace("a", 2, State("five"))
    assert turns.holds("a", third) and turns.asked("a") == State("two three")


def test_turns_forget_the_oldest_tabs() -> None:
    turns = Turns()
    for number in range(REMEMBERED + 10):
        turns.take(str(number), lambda asked, _: asked)
    assert len(turns.tabs) == REMEMBERED and "0" not in turns.tabs


@pytest.mark.slow
def test_the_page_is_built_before_torch_is_imported() -> None:
    """So that it is served, and the browser busy with it, while torch is."""
    heavy = "torch", "sklearn", "scipy", "captum", "accelerate", "transformers"
    program = f"import sys; import bertexplorer.server.launch; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
