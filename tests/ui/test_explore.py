"""Explore: every state gets an answer or a sentence, and what was typed comes back."""

import logging

import pytest

from bertexplorer.model.text import Span
from bertexplorer.store.library import Library
from bertexplorer.ui.explore import DEFAULTS, VIEWS, Explore
from bertexplorer.ui.screen import shown_in
from bertexplorer.ui.state import State


@pytest.fixture(scope="module")
def explore() -> Explore:
    return Explore(Library())


def state(view: str, text: str, **options) -> State:
    return State(text, view=view, options={**DEFAULTS[view], **options})


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_answers_its_examples(explore: Explore, view: str) -> None:
    for example in VIEWS[view].EXAMPLES:
        answer = explore.answer(shown_in(example, state(view, "")))
        assert answer.error == "" and answer.said and answer.strip
        if isinstance(answer.figure, str):
            assert answer.figure.startswith("<!doctype html>") and answer.height >= 300
        else:
            assert answer.figure is not None and answer.figure.layout.height >= 300


def test_an_unforeseen_error_is_logged_with_its_number(explore: Explore, monkeypatch, caplog) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(VIEWS["template"].analysis, "run", broken)
    with caplog.at_level(logging.ERROR):
        answer = explore.answer(state("template", "A {b|c} [MASK]."))
    number = answer.error.split("error ")[1].split()[0]
    assert caplog.records[-1].id == number and "secret detail" in caplog.text
    assert "secret" not in answer.error and answer.strip


def test_a_pressed_typed_mask_takes_the_best_word(explore: Explore) -> None:
    found = explore.filled(state("fill-mask", "The capital of France is [MASK]."), Span(0, 25, 31))
    assert found.text == "The capital of France is paris."


def test_a_span_without_a_mask_changes_nothing(explore: Explore) -> None:
    before = state("fill-mask", "The capital of France is [MASK].")
    assert explore.filled(before, Span(0, 0, 3)) == before


def test_a_bad_setting_is_a_sentence(explore: Explore) -> None:
    assert "wanted a whole number from 1 to 100" in explore.answer(state("fill-mask", "[MASK]", top=0)).error
