"""The strip: one chip per token, in order, with hidden chips on, and the span of each press."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.core import strip
from bertexplorer.core.state import read_spans
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text


@pytest.fixture(scope="module")
def mini(bundled: Path) -> Checkpoint:
    return load(bundled)


def drawn(mini: Checkpoint, text: Text, colours: dict[int, float] | None = None, press: str = "hide") -> dict[str, Any]:
    """The strip as sent to the browser."""
    content: dict[str, Any] = json.loads(
        json.dumps(strip.draw(mini, mini.tokenizer.encode(text), colours, press=press))
    )
    return content


def test_hidden_chips_are_on_and_without_colour(mini: Checkpoint) -> None:
    chips = drawn(mini, Text("The cat sat.", hidden=(Span(0, 4, 7),)))["chips"]
    assert [chip["on"] for chip in chips] == [False, False, True, False, False, False]
    assert chips[2]["label"] == "[MASK]" and "hidden: cat" in chips[2]["title"] and chips[2]["masked"]
    assert not chips[2]["typed"], "a press shows it again"
    text = Text("The cat sat.", hidden=(Span(0, 8, 11),))
    chips = drawn(mini, text, {1: 0.9, 2: -0.1, 3: 0.5})["chips"]
    assert [chip["colour"] for chip in chips] == [None, 0.9, -0.1, None, None, None]


def test_picked_chips_are_on_and_specials_can_be_picked(mini: Checkpoint) -> None:
    content = drawn(mini, Text("The cat sat.", picked=(Span(0, 4, 7), Span(2, 0, 1))), press="pick")
    assert [chip["label"] for chip in content["chips"] if chip["on"]] == ["[CLS]", "cat"]
    assert content["chips"][0]["span"] == "2:0-1" and "pick" in content["label"] and content["press"] == "pick"
    assert all(read_spans(chip["span"]) for chip in content["chips"]), "a link can hold each"


def test_chips_may_be_read_only_and_show_markup_and_truncations(mini: Checkpoint) -> None:
    content = drawn(mini, Text("The cat sat."), press="")
    assert {chip["span"] for chip in content["chips"]} == {""} and content["hint"] == ""
    content = drawn(mini, Text("<img src=x onerror=alert(1)>"))
    assert [chip["label"] for chip in content["chips"] if chip["label"] in "<>="] == ["<", "=", "=", ">"]
    assert "&lt;" not in json.dumps(content)
    content = drawn(mini, Text("word " * 700))
    assert [(i, chip["cut"]) for i, chip in enumerate(content["chips"]) if chip["cut"]] == [
        (len(content["chips"]) - 2, 190)
    ]
