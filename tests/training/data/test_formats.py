"""JSONL, JSON, SQuAD, CoNLL and TREC: the published layouts, and broken files."""

import json
from typing import Any

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import RowProblem

GOOD = b'{"text": "a", "label": 1}\n{"label": true, "text": "NA"}\n'


def test_jsonl_is_read() -> None:
    result = read(GOOD + b'\n{"text": "c", "more": [1, 2.5], "label": null}\n', "a.jsonl")
    assert result.columns == ("text", "label", "more") and result.kind == "jsonl"
    assert [row.line for row in result.rows] == [1, 2, 4]
    assert [row.cells for row in result.rows] == [
        {"text": "a", "label": "1", "more": ""},
        {"text": "NA", "label": "true", "more": ""},
        {"text": "c", "label": "", "more": [1, 2.5]},
    ]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"text": ' + "[" * 100_000 + "]" * 100_000 + "}", "is nested too deeply"),
        ('{"text": ' + "[" * 9 + "]" * 9 + "}", "is nested too deeply"),
        ('{"text": NaN}', "holds NaN, which is not JSON"),
        ('{"text": -Infinity}', "holds -Infinity"),
        ('{"text": 1e999}', "a number that is too large, 1e999"),
        ('{"text": ' + "1" * 5_000 + "}", "holds a number of 5,000 digits"),
        ('{"text": "a", "text": "b"}', "names 'text' twice"),
        ('{"text": "a", "text ": "b"}', "two names that differ by spaces"),
        ('["a", "b"]', "is a list, not an object in {braces}"),
        ("7", "is a number"),
        ("{}", "is an empty object"),
        ("null", "is null"),
        ('{"text": "\\ud800"}', "holds half a character"),
        ('{"\\udc00": "a"}', "holds half a character"),
        ('{"text": "a"', "is not JSON: Expecting ',' delimiter at character 13"),
        ("text,label", "is not JSON"),
        ('{"text": "' + "a" * 10_001 + '"}', "“text” has 10,001 characters"),
        (json.dumps({"text": ["ab"] * 2_000}), "“text” has 12,000 characters"),
        (json.dumps({"n" * 201: "a"}), "name is 201 characters long"),
        (json.dumps({str(i): "a" for i in range(51)}), "has 51 columns; the limit is 50"),
    ],
)
def test_an_unusable_line_is_reported(line: str, what: str) -> None:
    result = read(GOOD + line.encode() + b"\n" + GOOD, "a.jsonl")
    assert len(result.rows) == 4 and [problem.line for problem in result.problems] == [3]
    assert what in result.problems[0].what and len(result.problems[0].what) < 200
    first = read(line.encode() + b"\n" + GOOD, "a.jsonl")
    assert first.problems[0].line == 1 and len(first.rows) == 2


def test_lines_and_columns_have_limits_and_byte_order_marks_are_ignored() -> None:
    result = read(GOOD * 3 + b"no JSON\n", "a.jsonl", max_rows=4)
    assert result.left_out == 3 and not result.problems and "3 rows from line 5 on left out" in result.summary
    with pytest.raises(ExplorerError, match="more than 50 columns by line 51"):
        read("".join(f'{{"c{i}": "a"}}\n' for i in range(60)).encode(), "a.jsonl")
    assert not read(b"\xef\xbb\xbf" * 2 + GOOD, "a.jsonl").problems


def test_a_json_list_is_read() -> None:
    items: list[Any] = [{"text": "a", "label": "x"}, 7, {"text": "b", "label": "y"}]
    for written in (json.dumps(items), json.dumps(items, indent=1), json.dumps({"data": items})):
        result = read(written.encode(), "a.json")
        assert [row.line for row in result.rows] == [1, 3] and result.unit == "item" and result.kind == "json"
        assert result.problems == (RowProblem(2, "is a number, not an object in {braces}"),)
    assert len(read(GOOD, "a.json").rows) == len(read(GOOD, "a").rows) == 2  # still one object per line


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('{\n"text": "a",\n"label"\n}', "cannot be read in line 4: it is not JSON"),
        ('[{"text": NaN}]', "holds NaN"),
        ('{\n"text": ["a", "b"]\n}', "holds an object; wanted a list of objects"),
        ("[" * 100_000, "nested too deep"),
        ('"text"', "holds a text; wanted a list"),
        ("[]", "holds no rows"),
    ],
)
def test_invalid_json_is_rejected(written: str, message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        read(written.encode(), "a.json")


def squad(*questions: Any, context: Any = "Ada writes.") -> bytes:
    paragraph = {"context": context, "qas": list(questions)}
    return json.dumps({"version": "v2.0", "data": [{"title": "T", "paragraphs": [paragraph]}]}).encode()


ASKED = {"id": "1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}
NOWHERE = {"id": 2, "question": "When?", "answers": [], "is_impossible": True, "plausible_answers": []}


def test_squad_is_read() -> None:
    result = read(squad(ASKED, NOWHERE), "a.json")
    assert result.kind == "squad" and result.unit == "question" and [row.line for row in result.rows] == [1, 2]
    assert result.rows[0].cells == {
        "id": "1", "title": "T", "question": "Who?", "context": "Ada writes.",
        "answers": [{"text": "Ada", "start": 0}], "impossible": False,
    }  # fmt: skip
    assert result.rows[1].cells["answers"] == [] and result.rows[1].cells["impossible"] is True


@pytest.mark.parametrize(
    ("question", "what"),
    [
        (7, "is not laid out as in SQuAD|that is not laid out"),
        ({"id": "3", "answers": []}, "has no question"),
        ({"id": "3", "question": "Q?", "answers": []}, "no answer and is not marked as impossible"),
        ({**ASKED, "answers": [{"text": "Ada"}]}, "without a text or a start"),
        ({**ASKED, "answers": [{"text": "Ada", "answer_start": "0"}]}, "without a text or a start"),
        ({**ASKED, "answers": [{"text": "Ada", "answer_start": True}]}, "without a text or a start"),
        ({**ASKED, "is_impossible": "no"}, "is_impossible is 'no'"),
        ({**ASKED, "question": "\ud800"}, "half a character"),
    ],
)  # fmt: skip
def test_an_unusable_question_is_reported(question: Any, what: str) -> None:
    result = read(squad(ASKED, question, NOWHERE), "a.json")
    assert [row.line for row in result.rows] == [1, 3] and result.problems[0].line == 2
    assert any(part in result.problems[0].what for part in what.split("|"))


def test_broken_articles_or_paragraphs_of_squad_are_reported() -> None:
    with pytest.raises(ExplorerError, match="question 1 has no passage"):
        read(squad(ASKED, NOWHERE, context=None), "a.json")
    whole = json.loads(squad(ASKED, NOWHERE))
    whole["data"][1:] = [{"paragraphs": "none"}, 7, {"paragraphs": [{"context": "c", "qas": None}]}]
    result = read(json.dumps(whole).encode(), "a.json")
    assert len(result.rows) == 2 and [problem.line for problem in result.problems] == [3, 4, 5]


def test_the_flat_layout_of_squad_is_read() -> None:
    line = {"question": "Who?", "context": "Ada writes.", "answers": {"text": ["Ada"], "answer_start": [0]}}
    result = read((json.dumps(line) + "\n").encode() * 2, "a.jsonl")
    assert result.rows[1].cells["answers"] == [{"text": "Ada", "start": 0}]


def test_conll_is_read() -> None:
    text = "-DOCSTART- -X- O O\n\n# id 1\nEU NNP I-NP B-ORG\nrejects VBZ I-VP O\n\n\t\nPeter NNP I-NP B-PER\n"
    result = read(text.encode(), "a.conll")
    assert (
        result.kind == "conll" and [row.line for row in result.rows] == [4, 8] and "4 fields per line" in result.summary
    )
    assert result.rows[0].cells == {"tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]}


@pytest.mark.parametrize("name", ["a.conll", "a.tsv", "a.txt"])
def test_conll_with_tabs_is_recognised_under_any_name(name: str) -> None:
    result = read('a b\tO\n#\tB-x\r\n\u200d\tI-x\n\n"\tO\n.\tO\n'.encode(), name)
    assert [row.cells["tokens"] for row in result.rows] == [["a b", "#", "\u200d"], ['"', "."]]
    assert result.rows[0].cells["tags"] == ["O", "B-x", "I-x"]


def test_a_sentence_with_a_malformed_line_is_reported() -> None:
    result = read(b"a O\nb B-x\n\nc O\nd\n\ne O\nf O\n\ng  O\n h O\n", "a.conll")
    assert result.problems == (RowProblem(4, "line 5 of this sentence has 1 field, expected 2"),)
    assert [row.line for row in result.rows] == [1, 7, 10]
    more = read(b"a O\nb O\n\nc O\nd x O\n\ne O\n", "a.conll")
    assert more.problems == (RowProblem(4, "line 5 of this sentence has 3 fields, expected 2"),)
    result = read(b"a\tO\n\nb\tO\n\tO\n\nc\tO\nd\t\n\ne\tO\n", "a.conll")
    assert [problem.what[-8:] for problem in result.problems] == ["no token", "s no tag"]
    with pytest.raises(ExplorerError, match="one field per line; wanted a token and its tag"):
        read(b"a\nb\n\nc\nd\n", "a.conll")


def test_trec_is_read() -> None:
    result = read("ENTY:animal What is a « chien » ?\nno label here\nHUM:ind Who ?\n".encode("latin-1"), "t.label")
    assert result.rows[0].cells == {"label": "ENTY", "fine": "ENTY:animal", "text": "What is a « chien » ?"}
    assert result.problems[0].line == 2 and "Latin-1" in result.summary
