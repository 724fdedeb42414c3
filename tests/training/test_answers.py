"""Answers as spans of a passage: files, windows, the best spans, and scores as SQuAD's official script counts them."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
import torch

from bertexplorer.model.load import load
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.answer_windows import NOWHERE, PassageSpan, WindowCutter, best_spans, merge_windows
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, map_columns
from bertexplorer.training.tasks.question_answering import (
    GoldAnswer,
    Options,
    best_match,
    by_question_word,
    exact_match,
    examples,
    f1,
    normalized_words,
    question_word,
    thresholds,
)
from tests.conftest import Tiny
from tests.tiny import FAMILIES, wordpiece

TEXT = "Ada was born in 1815. In 1843 Ada wrote  Note G."


def one(answers: Any, realign: bool = False, context: str = TEXT, question: str = "When?", **more: Any) -> Any:
    cells = {"question": question, "context": context, "answers": answers, **more}
    result, problems = examples([Row(9, cells)], Options(realign=realign))
    return result[0] if result else problems[0]


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        ("1815", [("1815", 16)]),
        ("  1815 ", [("1815", 16)]),
        (["1815", "1843"], [("1815", 16), ("1843", 25)]),
        ([{"text": "1815", "start": 16}], [("1815", 16)]),
        ([{"text": " 1815", "answer_start": 15}], [("1815", 16)]),
        ({"text": ["Ada"], "answer_start": [30]}, [("Ada", 30)]),
        ([], []),
    ],
)
def test_answers_are_located(answers: Any, wanted: list[tuple[str, int]]) -> None:
    result = one(answers)
    assert result.line == 9 and list(result.answers) == [GoldAnswer(*pair) for pair in wanted]
    assert all(result.context[a.start :].startswith(a.text) for a in result.answers)


@pytest.mark.parametrize(
    ("answers", "what"),
    [
        ("", "has no answer, and is not marked as impossible"),
        ("1816", "“1816”, which does not occur in the passage"),
        ([{"text": "1815", "start": 17}], "at character 17, where the passage has “815.”; “Realign”"),
        ([{"text": "1816", "start": 16}], "has “1815”; it does not occur in it"),
        ([{"text": "1815", "start": -4}], "at character -4"),
        ([{"text": "", "start": 0}], "has an answer without a text"),
        ([{"start": 3}], "wanted a text, or a list of {text, start}"),
        ([3], "wanted a text, or a list"),
    ],
)
def test_an_unusable_row_names_the_reason(answers: Any, what: str) -> None:
    problem = one(answers)
    assert problem.line == 9 and what in problem.what


def test_realign_uses_the_nearest_occurrence_and_whole_words() -> None:
    assert one([{"text": "Ada", "start": 31}], True).answers == (GoldAnswer("Ada", 30),)
    assert one([{"text": "Ada", "start": 2}], True).answers == (GoldAnswer("Ada", 0),)
    assert one([{"text": "ada wrote note g", "start": 30}], True).answers == (GoldAnswer("Ada wrote  Note G", 30),)
    assert one("BORN", True).answers == (GoldAnswer("born", 8),)
    assert "does not occur" in one("Byron", True).what
    assert one("art", context="Start with art.").answers == (GoldAnswer("art", 11),)
    assert one("art", context="Start it.").answers == (GoldAnswer("art", 2),)


def test_impossible_questions_have_no_answers_and_empty_ones_are_reported() -> None:
    assert one("", impossible="True").answers == one([], impossible=True).answers == ()
    assert one([{"text": "1815", "start": 16}], impossible=True).answers == ()
    assert one("1815", impossible="no").answers == (GoldAnswer("1815", 16),)
    assert one("1815", question=" ").what == "has no question"
    assert one("1815", context="\u200b").what == "has no passage"


def test_invisible_characters_are_removed_and_answers_shift() -> None:
    result = one([{"text": "1815", "start": 18}], context="\ufeffAda was\u200b born in 1815.")
    assert result.context == "Ada was born in 1815." and result.answers == (GoldAnswer("1815", 16),)


def test_files_of_both_versions_are_read() -> None:
    questions = [
        {"id": "1", "question": "When?", "answers": [{"text": "1815", "answer_start": 16}], "is_impossible": False}
    ]
    questions += [{"id": "2", "question": "Where?", "answers": [], "is_impossible": True}]
    file = {"version": "v2.0", "data": [{"title": "", "paragraphs": [{"context": TEXT, "qas": questions}]}]}
    table = read(json.dumps(file).encode(), "x.json")
    names = ("question", "context", "answers", "impossible")
    result, problems = examples(map_columns(table, {name: name for name in names}), Options())
    assert [len(q.answers) for q in result] == [1, 0] and [q.line for q in result] == [1, 2] and not problems
    table = read(b"question,context,answer\nWhen?,In 1815.,1815\nWho?,In 1815.,Ada\n", "x.csv")
    result, problems = examples(
        map_columns(table, {"question": "question", "context": "context", "answers": "answer"}), Options()
    )
    assert result[0].answers == (GoldAnswer("1815", 3),) and [p.line for p in problems] == [3]


PASSAGE = "the cat sat on the mat . paris is the capital of france , and london works as a great city ."
ASKED = "was it the capital of france ?"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pair_that_fits_equals_the_tokenizers_encoding(family: str, tiny: Tiny) -> None:
    tokenizer = load(tiny(family), precision="fp32").tokenizer
    short = "the cat sat"
    ((item,),) = WindowCutter(tokenizer, 60, 50, 20, 5).items([(ASKED, short)], [GoldAnswer("cat", 4)])
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
    answer = GoldAnswer("mat . paris", PASSAGE.index("mat . paris"))
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


def test_a_window_that_cuts_an_answer_does_not_have_it() -> None:
    cutter = WindowCutter(Tokenizer(wordpiece(), max_tokens=64), 24, 8, 4, 3)
    starts = [i for i in range(len(PASSAGE)) if i == 0 or PASSAGE[i - 1] == " "]
    for start, end in itertools.pairwise(starts):
        (result,) = cutter.items([(ASKED, PASSAGE)], [GoldAnswer(PASSAGE[start : end - 1], start)])
        for item in result:
            _, passage, first, after, at, (i, j) = item.target
            has_it = passage.starts[first] <= start and end - 1 <= passage.ends[after - 1]
            assert ((i, j) != NOWHERE) == has_it and (not has_it or at <= i <= j < at + after - first)


def test_a_long_question_is_cut_and_an_empty_passage_has_one_window() -> None:
    cutter = WindowCutter(Tokenizer(wordpiece(), max_tokens=64), 20, 64, 128, 30)
    (result,) = cutter.items([("the cat " * 20, PASSAGE)])
    assert result[0].left_out == 40 - (20 - 3) // 2 and result[0].target.after - result[0].target.first >= 8
    cutter = WindowCutter(Tokenizer(wordpiece(), max_tokens=64), 20, 8, 128, 30)
    (result,) = cutter.items([("the cat", "\u200d")], [GoldAnswer("\u200d", 0)])
    assert len(result) == 1 and result[0].target.answer == NOWHERE and result[0].target.after == 0


def test_the_best_spans_equal_those_of_a_double_loop() -> None:
    draw = torch.Generator().manual_seed(0)
    for longest, count in ((1, 3), (4, 6), (30, 200)):
        start, end = torch.randn(3, 9, generator=draw), torch.randn(3, 9, generator=draw)
        inside = torch.zeros(3, 9, dtype=torch.bool)
        inside[0, 4:8] = inside[1, 2:9] = inside[2, 5:6] = True
        scores, first, last = best_spans(start, end, inside, longest, count)
        for row in range(3):
            all_spans = [
                ((start[row, i] + end[row, j]).item(), i, j)
                for i in range(9)
                for j in range(i, min(9, i + longest))
                if inside[row, i] and inside[row, j]
            ]
            wanted = sorted(all_spans, reverse=True)[:count]
            result = list(zip(scores[row].tolist(), first[row].tolist(), last[row].tolist(), strict=True))
            assert [entry for entry in result if entry[0] > float("-inf")] == wanted


def test_a_span_found_in_several_windows_counts_once() -> None:
    result = [PassageSpan(1.0, 0, 4), PassageSpan(3.0, 5, 9), PassageSpan(2.0, 0, 4), PassageSpan(0.5, 7, 9)]
    assert merge_windows(result, 10) == [PassageSpan(3.0, 5, 9), PassageSpan(2.0, 0, 4), PassageSpan(0.5, 7, 9)]
    assert merge_windows(result, 1) == [PassageSpan(3.0, 5, 9)]


def test_the_best_matching_answer_counts_without_articles_and_case() -> None:
    assert normalized_words("The  Cat's, an (old) A-team!") == ["cats", "old", "ateam"]
    assert exact_match("the Eiffel Tower", "Eiffel tower.") == 1.0 and exact_match("Eiffel", "Eiffel tower") == 0.0
    assert normalized_words("theatre another") == ["theatre", "another"]
    assert best_match(["July 1815", "1815"], "1815") == (1.0, 1.0)
    assert best_match([], "") == (1.0, 1.0) and best_match([], "1815") == (0.0, 0.0)
    assert best_match(["the"], "") == (1.0, 1.0)  # the only answer becomes empty: it counts as no answer


@pytest.mark.parametrize(
    ("gold", "message", "wanted"),
    [
        ("in the year 1815", "1815", 2 * 1 * (1 / 3) / (1 + 1 / 3)),
        ("one two", "two three", 0.5),
        ("very very good", "very good", 0.8),  # each word counts as often as both texts have it
        ("Paris", "London", 0.0),
        ("", "", 1.0),
        ("", "Paris", 0.0),
        ("Paris", "", 0.0),
        ("the", "a", 1.0),
    ],
)
def test_f1_counts_shared_words(gold: str, message: str, wanted: float) -> None:
    assert f1(gold, message) == pytest.approx(wanted)


def test_scores_are_grouped_by_question_word() -> None:
    assert [question_word(q) for q in ("When was it?", "In what year?", "Name one.", "WHO?")] == [
        "when",
        "what",
        "other",
        "who",
    ]
    table = by_question_word(["who?", "Who else?", "why"], [1.0, 0.0, 1.0], [1.0, 0.5, 1.0])
    assert table == [
        {"question": "who", "exact": 0.5, "f1": 0.75, "examples": 2},
        {"question": "why", "exact": 1.0, "f1": 1.0, "examples": 1},
    ]


def test_thresholds_equal_a_plain_loop() -> None:
    draw = np.random.default_rng(0)
    surplus, spoken = draw.normal(size=30), draw.random(30)
    silent = (draw.random(30) < 0.3).astype(float)
    rows = thresholds(surplus, spoken, silent)
    assert 0.0 in [row["threshold"] for row in rows] and rows[-1]["no answer"] == 0.0
    for row in rows:
        predictions = [z if s > row["threshold"] else a for s, a, z in zip(surplus, spoken, silent, strict=True)]
        assert row["f1"] == pytest.approx(sum(predictions) / 30)
