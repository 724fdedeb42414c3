"""State: a link restores all settings, and hidden words shift with edits of the text."""

import pytest
from hypothesis import given, strategies as st

from bertexplorer.core.ask import DEFAULTS
from bertexplorer.core.state import State, from_link, read_spans, scrub, shift_spans, to_link, write_spans
from bertexplorer.model.text import Span

OPENING = State("opening")


def reopened(state: State) -> State:
    from urllib.parse import parse_qsl

    return from_link(
        dict(parse_qsl(to_link(state, DEFAULTS[state.view])[1:], keep_blank_values=True)), OPENING, DEFAULTS
    )


def test_a_link_restores_every_changed_setting() -> None:
    state = State(
        "A & b = c? #1 [MASK] é 日 😀",
        "second + half",
        (Span(0, 2, 3), Span(1, 0, 6)),
        (Span(0, 4, 6), Span(2, 0, 1)),
        "google/x",
        "fp32",
        "contrast",
        {"other": "d & e", "named": 3},
        "another text",
        "é & ü",
    )
    restored = reopened(state)
    assert restored == State(**{**state.__dict__, "options": {"other": "d & e", "named": "3"}})


@given(st.text(), st.text())
def test_any_text_without_lone_surrogates_survives_the_link(text: str, pair: str) -> None:
    restored = reopened(State(text, pair))
    assert (restored.text, restored.pair) == (scrub(text), scrub(pair))


def test_a_link_without_a_text_opens_the_default_state() -> None:
    assert from_link({"view": "contrast", "utm": "1"}, OPENING, DEFAULTS) == OPENING


def test_unknown_views_and_spans_in_a_link_are_ignored() -> None:
    state = from_link({"text": "x", "view": "<b>", "hidden": "0:9-2,zz,3:1-3,0:1-3"}, OPENING, DEFAULTS)
    assert state.view == OPENING.view
    assert state.hidden == (Span(0, 1, 3),)


@given(st.lists(st.builds(Span, st.integers(0, 1), st.integers(0, 50), st.integers(51, 99)), max_size=5))
def test_spans_are_read_as_written(spans: list[Span]) -> None:
    assert read_spans(write_spans(tuple(spans))) == tuple(spans)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a cat sat", "a cat sat", "cat"),
        ("a cat sat", "yes, a cat sat", "cat"),
        ("a cat sat", "a cat sat down", "cat"),
        ("a cat sat", "a dog sat", None),
        ("a cat sat", "a sat", None),
        ("a cat sat", "", None),
    ],
)
def test_hidden_words_shift_with_an_edit(old: str, new: str, expected: str | None) -> None:
    shifted = shift_spans((Span(0, 2, 5), Span(1, 0, 1)), 0, old, new)
    assert shifted[-1] == Span(1, 0, 1)  # the other side is unchanged
    assert [new[s.start : s.end] for s in shifted[:-1]] == ([expected] if expected else [])


@given(st.text("ab ", max_size=12), st.text("ab ", max_size=12), st.integers(0, 11), st.integers(1, 3))
def test_shifted_spans_cover_the_same_characters(old: str, new: str, start: int, length: int) -> None:
    span = Span(0, start, min(start + length, len(old)))
    if span.start >= span.end:
        return
    for shifted in shift_spans((span,), 0, old, new):
        assert new[shifted.start : shifted.end] == old[span.start : span.end]
