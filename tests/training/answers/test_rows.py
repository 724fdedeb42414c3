"""Questions from SQuAD files and tables: the positions of answers, and the problems of unusable rows."""

import json
from typing import Any

import pytest

from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, map_columns
from bertexplorer.training.tasks.question_answering import Answer, Options, examples

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
    assert result.line == 9 and list(result.answers) == [Answer(*pair) for pair in wanted]
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


def test_realign_uses_the_nearest_occurrence() -> None:
    assert one([{"text": "Ada", "start": 31}], True).answers == (Answer("Ada", 30),)
    assert one([{"text": "Ada", "start": 2}], True).answers == (Answer("Ada", 0),)
    assert one([{"text": "ada wrote note g", "start": 30}], True).answers == (Answer("Ada wrote  Note G", 30),)
    assert one("BORN", True).answers == (Answer("born", 8),)
    assert "does not occur" in one("Byron", True).what


def test_a_whole_word_is_preferred_to_part_of_a_word() -> None:
    assert one("art", context="Start with art.").answers == (Answer("art", 11),)
    assert one("art", context="Start it.").answers == (Answer("art", 2),)


def test_impossible_questions_have_no_answers() -> None:
    assert one("", impossible="True").answers == one([], impossible=True).answers == ()
    assert one([{"text": "1815", "start": 16}], impossible=True).answers == ()
    assert one("1815", impossible="no").answers == (Answer("1815", 16),)


def test_an_empty_question_or_passage_is_reported() -> None:
    assert one("1815", question=" ").what == "has no question"
    assert one("1815", context="\u200b").what == "has no passage"


def test_invisible_characters_are_removed_and_answers_shift() -> None:
    result = one([{"text": "1815", "start": 18}], context="\ufeffAda was\u200b born in 1815.")
    assert result.context == "Ada was born in 1815." and result.answers == (Answer("1815", 16),)


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
    assert result[0].answers == (Answer("1815", 3),) and [p.line for p in problems] == [3]
