"""Looking up a word, displaying a piece, and changing single ids of an encoding."""

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Tokenizer, clean, overlap


@pytest.fixture(scope="module")
def bert(tiny) -> Tokenizer:
    return load(tiny("bert"), precision="fp32", device="cpu").tokenizer


@pytest.fixture(scope="module")
def roberta(tiny) -> Tokenizer:
    return load(tiny("roberta"), precision="fp32", device="cpu").tokenizer


@pytest.mark.parametrize("word", ["paris", "cats", "unbelievable", "PARIS", " the "])
def test_a_word_has_the_same_pieces_as_in_a_sentence(bert: Tokenizer, roberta: Tokenizer, word: str) -> None:
    for tokenizer in (bert, roberta):
        encoding = tokenizer.encode(f"the {word.strip()}")
        last = max(w for w in encoding.words if w is not None)
        inside = tuple(i for i, w in zip(encoding.ids, encoding.words, strict=True) if w == last)
        assert tokenizer.pieces(word) == inside


@pytest.mark.parametrize("word", ["", "  ", "[MASK]", "\u200b", "\x00"])
def test_a_text_that_is_not_a_word_is_rejected(bert: Tokenizer, word: str) -> None:
    with pytest.raises(ExplorerError, match="not a word to look up"):
        bert.pieces(word)


def test_pieces_are_displayed_readably(bert: Tokenizer, roberta: Tokenizer) -> None:
    vocabulary = bert.backend.get_vocab()
    assert bert.show(vocabulary["##s"]) == "##s"
    assert bert.show(vocabulary["paris"]) == "paris"
    assert bert.show(10**6) == "#1000000"
    first, *rest = (roberta.show(i) for i in roberta.pieces("doctors"))
    assert "Ġ" not in first
    assert all(piece.startswith("…") for piece in rest)
    assert roberta.show(roberta.mask_id) == "<mask>"


def test_joined_pieces_spell_the_word(bert: Tokenizer, roberta: Tokenizer) -> None:
    for tokenizer in (bert, roberta):
        assert tokenizer.join(tokenizer.pieces("unbelievable")) == "unbelievable"


def test_ids_of_an_encoding_are_changed_in_a_copy(bert: Tokenizer) -> None:
    encoding = bert.encode("the cat sat")
    changed = encoding.with_ids({2: bert.mask_id})
    assert changed.masked == (2,)
    assert encoding.masked == ()
    assert changed.original_ids == encoding.ids == encoding.original_ids


def test_clean_counts_removed_characters_and_keeps_line_breaks() -> None:
    assert clean("a\x00b\u200bc\ud83d") == ("abc", 3)
    assert clean("tab\tline\nother\r 日本 e\u0301 👩\u200d👧") == ("tab\tline\nother\r 日本 e\u0301 👩\u200d👧", 0)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta", "camembert", "albert", "deberta", "modernbert"])
def test_a_word_in_brackets_has_the_pieces_that_the_tokenizer_reads_there(tiny, family: str) -> None:
    tokenizer = load(tiny(family), precision="fp32", device="cpu").tokenizer
    for word in ("a", "paris", "doctor"):
        encoding = tokenizer.encode(f"the ({word}) city")
        inside = Span(0, 5, 5 + len(word))
        ids = tuple(i for i, span in zip(encoding.ids, encoding.spans, strict=True) if span and overlap(span, inside))
        assert tokenizer.pieces(word, spaced=False) == ids
