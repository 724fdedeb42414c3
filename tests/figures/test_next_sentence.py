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

from bertexplorer.analysis.next_sentence import NextSentence, Score
from bertexplorer.analysis.sentence_matrix import SentenceMatrix
from bertexplorer.views import next_sentence, sentence_matrix

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
    content = json.loads(fig.to_json(), parse_constant=lambda name: pytest.fail(f"{name} in a figure is no JSON"))
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


def test_bars_show_the_probabilities() -> None:
    tokens, yes, no, shares_text, over, heading = next_sentence.draw(pair()).data
    assert list(yes.x) == pytest.approx([0.75, 0.2, 0.9, 0.75, 0.1])
    assert np.add(yes.x, no.x) == pytest.approx(1)
    assert shares_text.text[0] == "75 % is next<br>25 % not"
    assert over.text[:2] == ("A, then B: logits 1.10 is next, 0.00 not", "B, then A: logits −1.39 is next, 0.00 not")
    assert over.text[3].startswith("2. B: the B")
    assert heading.text == ("A, then each candidate, likeliest first",)
    assert [text.rpartition(">")[2] for text in tokens.text] == ["0"] * 6 + ["1"] * 6


def test_a_pair_without_candidates_has_two_bars() -> None:
    _, yes, *_ = next_sentence.draw(pair(1)).data
    assert len(yes.x) == 2


def test_labels_of_a_line_do_not_overlap_and_long_texts_are_truncated() -> None:
    chips = next_sentence.layout_chips(pair(1, 256))
    for (left, line, width, *_), (after, below, *_) in zip(chips, chips[1:], strict=False):
        assert left + width <= next_sentence.LINE
        assert (below == line and after > left + width) or (below == line + 1 and after == 0)
    assert [c[3] for c in chips].count("… 227 more") == 2
    assert len(chips) == 2 * next_sentence.SHOWN


def test_the_sentence_on_a_pair_gives_both_orders() -> None:
    sentence = next_sentence.say(pair())
    assert sentence.startswith(
        "B follows A with 75 %, does not with 25 % (logits 1.10 for is next, 0.00 for is not next, in this order); the "
        "other way round, A follows B with 20 %."
    )
    assert sentence.endswith(f"Of 3 candidates the likeliest (90 %) is “{EVIL} number 0”, and B comes 2nd.")
    assert "candidates" not in next_sentence.say(pair(1))
    assert (
        "is B itself." not in sentence
        and "9 tokens beyond the checkpoint's limit were not read." in next_sentence.say(pair(left_out=9))
    )


@pytest.mark.parametrize(("rank", "word"), [(2, "2nd"), (3, "3rd"), (11, "11th"), (21, "21st"), (51, "51st")])
def test_ordinals_are_written_with_their_ending(rank: int, word: str) -> None:
    assert next_sentence.ordinal(rank) == word


def test_cells_show_the_probability_of_each_pair() -> None:
    (heat,) = sentence_matrix.draw(matrix()).data
    assert np.allclose(heat.z, [[np.nan, 0.75, 0.5], [0.5, np.nan, 0.75], [0.1, 0.5, np.nan]], equal_nan=True)
    assert [list(row) for row in heat.text] == [["", "75 %", "50 %"], ["50 %", "", "75 %"], ["10 %", "50 %", ""]]
    (many,) = sentence_matrix.draw(matrix(12)).data
    assert many.text[0][1] == "75" and many.text[11][0] == "10"
    assert [sentence_matrix.number(p, 12) for p in (0.991, 0.99, 0.01, 0.009)] == ["&gt;99", "99", "1", "&lt;1"]


def test_the_sentence_on_a_matrix_compares_neighbours_with_the_others() -> None:
    sentence = sentence_matrix.say(matrix())  # the others: 50, 50, 10 and 50 per cent
    assert "score 75 % on average, all other pairs 40 %; 2 of 2 neighbours are above that." in sentence
    assert sentence.endswith(f"Least likely (10 %): “{EVIL} 0” after “{EVIL} 2”.")
    assert sentence_matrix.say(matrix(12, 5)).endswith("5 more sentences were not scored.")
