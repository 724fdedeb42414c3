"""Figures for next sentence and its matrix, from hand-made results: texts are escaped, and the numbers are right."""

import html
import json
import math
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from bertexplorer.charts.adaptors import tokens as chart_of_tokens
from bertexplorer.views.next_sentence import show as next_sentence
from bertexplorer.views.next_sentence.compute import NextSentence, Score
from bertexplorer.views.sentence_matrix import show as sentence_matrix
from bertexplorer.views.sentence_matrix.compute import SentenceMatrix
from tests.views.show.test_draw import parsed

EVIL = "<img src=x onerror=1>"


def score(second: str, odds: float, first: str = EVIL) -> Score:
    """A score whose P(is next) is odds / (1 + odds)."""
    return Score(first, second, (math.log(odds), 0.0))


def pair(candidates: int = 3, tokens: int = 6, left_out: int = 0) -> NextSentence:
    """B follows with 75 %, A follows B with 20 %; the candidates before and after B have odds 9 and 1/9."""
    candidate = score(f"the B {EVIL}", 3)
    others = [score(f"{EVIL} number {i}", 9 if i == 0 else 1 / 9) for i in range(candidates - 1)]
    ranked = tuple(sorted([candidate, *others], key=lambda s: -s.gap))
    names = ("[CLS]", EVIL, *(f"t{i}" for i in range(tokens - 3)), "[SEP]")
    return NextSentence(names * 2, (0,) * tokens + (1,) * tokens, candidate, score(EVIL, 1 / 4), ranked, left_out)


def matrix(count: int = 3, left_out: int = 0) -> SentenceMatrix:
    """Neighbours have odds 3 (75 %), the others 1 (50 %), the last before the first 1/9 (10 %)."""
    logits = np.zeros((count, count, 2))
    logits[range(count - 1), range(1, count), 0] = math.log(3)
    logits[-1, 0, 0] = -math.log(9)
    logits[range(count), range(count)] = math.nan
    return SentenceMatrix(tuple(f"{EVIL} {i}" for i in range(count)), logits, left_out)


CASES: list[tuple[ModuleType, Any]] = [
    (next_sentence, pair()),
    (next_sentence, pair(1)),
    (next_sentence, pair(51, 256)),
    (sentence_matrix, matrix()),
    (sentence_matrix, matrix(2)),
    (sentence_matrix, matrix(12, 5)),
]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(("figure", "result"), CASES)
def test_everything_is_escaped(figure: ModuleType, result: Any) -> None:
    fig = figure.draw(result)
    content = parsed(fig)
    json.loads(fig.to_json(), parse_constant=lambda name: pytest.fail(f"{name} in a figure is no JSON"))
    assert content["data"] and 300 <= content["layout"]["height"] <= 9000
    for text in strings(content):
        bare = re.sub(r"<br>|<extra></extra>|< 0\.1 %|> 99\.9 %", "", text)
        assert "<" not in bare and ">" not in bare, text
    assert any("<img src=x" in html.unescape(text) for text in strings(content)), "it is still read"


@pytest.mark.parametrize(("figure", "result"), CASES)
def test_drawing_does_not_change_the_result(figure: ModuleType, result: Any) -> None:
    before = repr(result)
    figure.draw(result)
    assert figure.say(result).endswith(".") and repr(result) == before


def test_long_texts_are_truncated_and_bars_show_both_shares() -> None:
    tokens = next_sentence.draw(pair(1, 256)).panels[0].marks[0].tokens
    assert [token.text for token in tokens].count("… 227 more") == 2
    assert len(tokens) == 2 * next_sentence.SHOWN
    _, ways, candidates = (panel.marks[0] for panel in next_sentence.draw(pair()).panels)
    assert [bar.value for bar in ways.bars] == pytest.approx([0.75, 0.2]) and ways.high == 1
    assert ways.bars[0].text == "75 % is next · 25 % not"
    assert [bar.label for bar in candidates.bars][:2] == [f"1. {EVIL} number 0", f"2. B: the B {EVIL}"]


def test_labels_of_a_line_do_not_overlap_in_a_chart() -> None:
    mark = next_sentence.draw(pair(1, 256)).panels[0].marks[0]
    places = chart_of_tokens.places(mark)
    for (left, line, width), (after, below, _) in zip(places, places[1:], strict=False):
        assert left + width <= chart_of_tokens.LINE
        assert (below == line and after > left + width) or (below == line + 1 and after == 0)


def test_the_sentence_on_a_pair_has_candidates_only_if_there_are_some() -> None:
    assert next_sentence.say(pair()).endswith(
        f"Of 3 candidates the likeliest (90 %) is “{EVIL} number 0”, and B comes 2nd."
    )
    assert "candidates" not in next_sentence.say(pair(1))
    assert "9 tokens beyond the checkpoint's limit were not read." in next_sentence.say(pair(left_out=9))


@pytest.mark.parametrize(("rank", "word"), [(2, "2nd"), (3, "3rd"), (11, "11th"), (21, "21st"), (51, "51st")])
def test_ordinals_are_written_with_their_ending(rank: int, word: str) -> None:
    assert next_sentence.ordinal(rank) == word


def test_cells_of_a_large_matrix_have_short_numbers() -> None:
    (many,) = sentence_matrix.draw(matrix(12)).panels[0].marks
    assert many.text[0][1] == "75" and many.text[11][0] == "10"
    assert [sentence_matrix.number(p, 12) for p in (0.991, 0.99, 0.01, 0.009)] == [">99", "99", "1", "<1"]
    assert sentence_matrix.say(matrix(12, 5)).endswith("5 more sentences were not scored.")
