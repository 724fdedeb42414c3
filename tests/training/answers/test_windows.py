"""Windows over a passage equal the tokenizer's own pairs, cover the passage, and contain whole answers."""

import pytest

from bertexplorer.model.load import load
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.answer_windows import NOWHERE, WindowCutter
from bertexplorer.training.tasks.question_answering import Answer
from tests.conftest import Tiny
from tests.tiny import FAMILIES, wordpiece

PASSAGE = "the cat sat on the mat . paris is the capital of france , and london works as a great city ."
ASKED = "was it the capital of france ?"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pair_that_fits_equals_the_tokenizers_encoding(family: str, tiny: Tiny) -> None:
    tokenizer = load(tiny(family), precision="fp32").tokenizer
    short = "the cat sat"
    ((item,),) = WindowCutter(tokenizer, 60, 50, 20, 5).items([(ASKED, short)], [Answer("cat", 4)])
    whole = tokenizer.backend.encode(ASKED, short)
    assert list(item.ids) == whole.ids and list(item.segments) == whole.type_ids and item.left_out == 0
    first, last = item.target.answer
    passage, shift = item.target.passage, item.target.first - item.target.at
    assert short[passage.starts[first + shift] : passage.ends[last + shift]] == "cat"
    assert whole.sequence_ids[first] == whole.sequence_ids[last] == 1


@pytest.mark.parametrize(("most", "stride", "longest"), [(24, 4, 3), (24, 128, 3), (20, 128, 30), (64, 128, 30)])
def test_windows_cover_the_passage_and_every_short_answer(most: int, stride: int, longest: int) -> None:
    tokenizer = Tokenizer(wordpiece(), max_tokens=64)
    cutter = WindowCutter(tokenizer, most, 8, stride, longest)
    (result,) = cutter.items([(ASKED, PASSAGE)])
    spans = [(item.target.first, item.target.after) for item in result]
    count = len(tokenizer.backend.encode(PASSAGE, add_special_tokens=False).ids)
    assert spans[0][0] == 0 and spans[-1][1] == count and all(len(item.ids) <= most for item in result)
    assert {token for a, b in spans for token in range(a, b)} == set(range(count))
    assert all(b < count for _, b in spans[:-1])  # no window is superfluous
    room = spans[0][1]
    sure = min(longest, room - room // 2)
    for first in range(count - sure + 1):
        assert any(a <= first and first + sure <= b for a, b in spans)
    steps = {b[0] - a[0] for a, b in zip(spans, spans[1:], strict=False)}
    assert all(step <= stride for step in steps)


def test_an_answer_is_marked_in_each_window_that_contains_it() -> None:
    cutter = WindowCutter(Tokenizer(wordpiece(), max_tokens=64), 24, 8, 4, 3)
    answer = Answer("mat . paris", PASSAGE.index("mat . paris"))
    (result,) = cutter.items([(ASKED, PASSAGE)], [answer])
    whole = [item for item in result if item.target.answer != NOWHERE]
    assert 1 < len(whole) < len(result)
    for item in result:
        _, passage, first, after, at, (i, j) = item.target
        if (i, j) == NOWHERE:
            inside = [k for k in range(first, after) if passage.starts[k] >= answer.start]
            ended = [k for k in inside if passage.ends[k] <= answer.start + len(answer.text)]
            assert len(ended) < 3
        else:
            assert PASSAGE[passage.starts[i - at + first] : passage.ends[j - at + first]] == answer.text


def test_a_long_question_is_cut_and_counted() -> None:
    cutter = WindowCutter(Tokenizer(wordpiece(), max_tokens=64), 20, 64, 128, 30)
    (result,) = cutter.items([("the cat " * 20, PASSAGE)])
    assert result[0].left_out == 40 - (20 - 3) // 2 and result[0].target.after - result[0].target.first >= 8


def test_a_passage_without_tokens_gives_one_empty_window() -> None:
    cutter = WindowCutter(Tokenizer(wordpiece(), max_tokens=64), 20, 8, 128, 30)
    (result,) = cutter.items([("the cat", "\u200d")], [Answer("\u200d", 0)])
    assert len(result) == 1 and result[0].target.answer == NOWHERE and result[0].target.after == 0
