"""The strip: one chip a token, everything escaped, the hidden ones pressed."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.ui import strip


@pytest.fixture(scope="module")
def mini(bundled: Path):
    return load(bundled)


def draw(mini, text: Text, **more):
    return parse(strip.draw(mini, mini.tokenizer.encode(text), '?text=a&b="c"', **more))


def parse(source: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<root>{source}</root>")


def test_a_chip_for_every_token_in_order(mini) -> None:
    root = draw(mini, Text("The cat sat.", "It slept."))
    labels = [chip.text for chip in root.iter() if "chip" in (chip.get("class") or "").split()]
    assert labels == ["[CLS]", "the", "cat", "sat", ".", "[SEP]", "it", "slept", ".", "[SEP]"]
    buttons = list(root.iter("button"))
    assert [b.get("data-span") for b in buttons][:2] == ["0:0-3", "0:4-7"]
    assert "side-1" in buttons[-1].get("class")


def test_hidden_chips_are_pressed_and_say_what_they_hide(mini) -> None:
    buttons = list(draw(mini, Text("The cat sat.", hidden=(Span(0, 4, 7),))).iter("button"))
    assert [b.get("aria-pressed") for b in buttons] == ["false", "true", "false", "false"]
    assert buttons[1].text == "[MASK]" and "hidden: cat" in buttons[1].get("title")


def test_pieces_of_one_word_are_joined(mini) -> None:
    root = draw(mini, Text("embeddings"))
    (word,) = [s for s in root.iter("span") if "word" in s.get("class").split()]
    assert [b.text for b in word.iter("button")] == list(mini.tokenizer.encode("embeddings").tokens[1:-1])
    assert "more" not in word[0].get("class") and "more" in word[1].get("class")


def test_markup_is_escaped_in_chips_links_and_notes(mini) -> None:
    text = "<img src=x onerror=alert(1)> \ud83d [SEP]".encode("utf-8", "replace").decode()
    source = strip.draw(mini, mini.tokenizer.encode(Text(text)), '"><script>')
    root = parse(source)
    assert not list(root.iter("img")) and not list(root.iter("script"))
    assert root.find(".//div").get("data-link") == '"><script>'


def test_colours_become_a_share_of_the_accent(mini) -> None:
    buttons = list(draw(mini, Text("The cat sat."), colours={1: 0.9, 2: 0.1}).iter("button"))
    assert buttons[0].get("style") == "--p:0.900" and "deep" in buttons[0].get("class")
    assert buttons[1].get("style") == "--p:0.100" and "deep" not in buttons[1].get("class")
    assert buttons[2].get("style") is None


def test_a_cut_is_marked_with_its_size(mini) -> None:
    root = draw(mini, Text("word " * 700))
    (cut,) = root.findall(".//span[@class='cut']")
    assert "190 tokens left out" in cut.text
