"""Figure for tokenization: bars, steps and the sentence hold the result's own numbers; tokens are shown as typed."""

import html
from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.model.text import Span
from bertexplorer.views.tokenization import show as figure
from bertexplorer.views.tokenization.compute import Step, Tokenization, Word
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check, parsed, strings

UNBELIEVABLE = Word(
    "Unbelievable",
    "unbelievable",
    0,
    (
        Step("un", 5, 0, 2, "believable"),
        Step("##believ", 6, 2, 8, "able"),
        Step("##able", 7, 8, 12, ""),
    ),
)
UNKNOWN = Word(EVIL, EVIL, 0, (Step("[UNK]", 1, 0, len(EVIL), ""),), f"no piece of the vocabulary begins “{EVIL}”")
SPLIT = Word(EVIL, EVIL, 1, (Step(EVIL[:5], 8, 0, 5, EVIL[5:]), Step(EVIL[5:], 9, 5, len(EVIL), "")))
PARTS = ("word", "position", "segment", "sum", "normalised")


def tokenization(
    tokens: int = 6, words: tuple[Word, ...] = (UNBELIEVABLE, UNKNOWN, SPLIT), parts: tuple[str, ...] = PARTS
) -> Tokenization:
    names = ("[CLS]", *[EVIL if i % 3 == 0 else f"t{i}" for i in range(tokens - 2)], "[SEP]")
    norms = np.arange(1.0, len(parts) + 1)[:, None] + np.arange(tokens)[None] / 10
    places = tuple(range(tokens))
    spans = (None, *[Span(0, 2 * i, 2 * i + 1) for i in range(tokens - 2)], None)
    texts = ("x " * (tokens - 2), "")
    fields = "WordPiece", words, names, places, places, (0,) * tokens, texts, spans, parts, norms
    return Tokenization(*fields, np.linspace(-0.5, 1, tokens))


RESULTS = [
    tokenization(),
    tokenization(64),
    tokenization(512),
    tokenization(words=()),
    tokenization(parts=("word", "sum", "normalised")),
    tokenization(parts=(*PARTS, "projected")),
    tokenization(words=(UNBELIEVABLE, UNKNOWN, SPLIT) * 20),
    replace(tokenization(), kind="BPE"),
]


@pytest.mark.parametrize("result", RESULTS)
def test_figures_are_valid_and_escaped(result: Tokenization) -> None:
    fig = figure.draw(result)
    check(fig)
    assert any("<img src=" in html.unescape(text) for text in strings(parsed(fig)))
    assert figure.say(result).endswith(".")


def test_the_first_of_many_tokens_are_drawn() -> None:
    assert len(figure.draw(tokenization(512)).panels[-1].marks[0].bars) == figure.SHOWN
    assert "The first 64 of 512 tokens are drawn." in figure.say(tokenization(512))
    assert "position" not in figure.say(tokenization(parts=("word", "sum", "normalised")))


def test_cells_show_the_steps() -> None:
    (cut,) = figure.draw(tokenization()).panels[0].marks
    states = [[state for state in line if np.isfinite(state)] for line in cut.values]
    taken, matched, rest = figure.TAKEN, figure.MATCHED, figure.REST
    assert states[:3] == [
        [matched] * 2 + [rest] * 10,
        [taken] * 2 + [matched] * 6 + [rest] * 4,
        [taken] * 8 + [matched] * 4,
    ]
    assert "".join(cut.text[0]) == "unbelievable" and "".join(cut.text[1]) == "believable"
    assert cut.hover[0][0] == "Unbelievable, step 1: un, then believable is left"
    assert cut.hover[2][0] == "Unbelievable, step 3: ##able, nothing is left"
    assert states[3] == [] and cut.rows[3] == "", "a blank row between two words"
    assert set(states[4]) == {figure.UNKNOWN} and "no piece of the vocabulary begins" in cut.hover[4][0]


def test_each_word_is_drawn_once_up_to_a_limit() -> None:
    repeated = tokenization(words=(UNBELIEVABLE,) * 9)
    assert len(figure.cut_words(repeated)) == 1
    many = tuple(replace(UNBELIEVABLE, read=f"unbelievable{i}") for i in range(20))
    result = tokenization(words=many)
    assert len(figure.words_to_draw(result)) == figure.STEPS // 3
    assert figure.draw(result).panels[0].title == "cut, longest match first: 6 of 20 words"
