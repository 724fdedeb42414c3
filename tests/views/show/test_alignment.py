"""Two tokenizers on one text, compared with the offsets of the tokenizers."""

from dataclasses import replace

import pytest

import bertexplorer as bx
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from bertexplorer.views.tokenization import alignment, compute as tokenization, show as figure
from tests.conftest import Tiny

TEXT = Text("The <b>unbelievable</b> story of Zoë was read yesterday.", "A pair.")


@pytest.fixture(scope="module")
def both(tiny: Tiny) -> list[tokenization.Tokenization]:
    return [tokenization.run(load(tiny(family), precision="fp32"), TEXT) for family in ("bert", "roberta")]


def test_pieces_are_drawn_at_their_characters(both: list, tiny: Tiny) -> None:
    mark = alignment.draw(*both, ("one", "other")).panels[0].marks[0]
    assert list(mark.texts) == ["\n".join(result.texts) for result in both]
    for row, (result, family) in enumerate(zip(both, ("bert", "roberta"), strict=True)):
        whole = load(tiny(family)).tokenizer.backend
        expected = [
            (side, *span)
            for side, text in enumerate(result.texts)
            for span in whole.encode(text, add_special_tokens=False).offsets
            if span[1] > span[0]  # RoBERTa has a piece for a space alone, which covers no character
        ]
        assert [piece.span for piece in alignment.pieces(result)] == expected
        content = "".join(mark.texts[row][span.start : span.end] for span in mark.rows[row])
        assert content.replace(" ", "") == "".join(result.texts).replace(" ", "")


def test_shared_pieces_are_counted(both: list) -> None:
    sets = [{piece.span for piece in alignment.pieces(item)} for item in both]
    assert f"; {len(sets[0] & sets[1])} cover the same characters" in figure.compare(*both)
    assert f"; {len(alignment.pieces(both[0]))} cover" in figure.compare(both[0], both[0])
    letters = len("".join(both[0].texts).replace(" ", ""))
    first, second = (f"{letters / len(alignment.pieces(item)):.1f}" for item in both)
    assert f"On average a piece of the first has {first} letters, one of the second {second}." in figure.compare(*both)
    rows = alignment.draw(both[0], both[0], ("a", "b")).panels[0].marks[0].rows
    assert {span.tone for row in rows for span in row} == {"pale"}


def test_a_shortened_text_counts_the_letters_that_are_read(tiny: Tiny) -> None:
    bert = load(tiny("bert"))
    long, short = (tokenization.run(bert, "the cat sat on the mat. " * count) for count in (100, 2))
    mark = alignment.draw(long, long, ("a", "b")).panels[0].marks[0]
    covered = "".join(mark.texts[0][span.start : span.end] for span in mark.rows[0])
    count = len(alignment.pieces(long))
    mean = f"{len(covered.replace(' ', '')) / count:.1f}"
    part = f"cuts the part of the text that its checkpoint reads into {count}"
    assert figure.compare(long, long) == (
        f"The first tokenizer (WordPiece) {part} pieces, the second (WordPiece) {part}; {count} cover the same "
        f"characters. On average a piece of the first has {mean} letters, one of the second {mean}."
    )
    whole = replace(long, left_out=0)
    assert f"(WordPiece) cuts the whole text into {count};" in figure.compare(long, whole)
    assert "cuts the text into" in figure.compare(short, short)
    notes = [
        "".join(words.text for words in line)
        for line in alignment.draw(long, whole, ("a", "b")).panels[0].marks[1].lines
    ]
    assert notes == [f"above a: {count} pieces read", f"below b: {count} pieces", "■ cut differently"]


def test_the_mask_is_the_same_in_both_spellings(tiny: Tiny) -> None:
    both = [tokenization.run(load(tiny(family)), "The [MASK] sat.") for family in ("bert", "roberta")]
    assert [result.texts[0] for result in both] == ["The [MASK] sat.", "The <mask> sat."]
    assert "cover the same characters" in figure.compare(*both)
    mark = alignment.draw(*both, ("a", "b")).panels[0].marks[0]
    for text, row, spelling in zip(mark.texts, mark.rows, ("[MASK]", "<mask>"), strict=True):
        assert [span.tone for span in row if text[span.start : span.end] == spelling] == ["pale"]


def test_different_texts_are_not_aligned(both: list, tiny: Tiny) -> None:
    other = tokenization.run(load(tiny("bert")), "Another text.")
    assert alignment.draw(both[0], other, ("a", "b")) is None and figure.compare(both[0], other) == ""
    bert = bx.load(tiny("bert"))
    texts = bx.compare(bert.tokenization("One text."), bert.tokenization("Another text."))
    notes = [note.text for note in texts.figure.layout.annotations]
    assert not any("cut differently" in note for note in notes)
