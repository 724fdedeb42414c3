"""What a site tells its tokenizer."""

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.site.tokens import as_class, character_classes, describe
from tests.conftest import BUNDLED


def test_the_tokenizer_of_mini_in_full() -> None:
    words = describe(load(BUNDLED, precision="fp32").tokenizer)
    assert words["pieces"][103] == "[MASK]"
    assert [part.get("id", part.get("side")) for part in words["frame"]["pair"]] == [101, 0, 102, 1, 102]
    assert [part["segment"] for part in words["frame"]["pair"]] == [0, 0, 0, 1, 1]
    assert words["language"] == "English" and words["has_words"]
    assert words["lowercase"] and words["strip_accents"] and words["clean"]


def test_another_kind_of_tokenizer_is_refused(tiny) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ExplorerError, match="reads WordPiece as BERT does"):
        describe(load(tiny("roberta"), precision="fp32").tokenizer)


def test_characters_are_written_as_ranges() -> None:
    assert as_class("abcx") == "\\u{61}-\\u{63}\\u{78}"
    classes = character_classes()
    assert "\\u{21}-\\u{2f}" in classes["punctuation"]
    assert "\\u{300}-" in classes["marks"]
    assert "\\u{ad}" in classes["control"]
    assert "\\u{a0}" in classes["space"]
