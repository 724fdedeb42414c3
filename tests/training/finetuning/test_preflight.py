"""The complete preflight of a task's rows."""

import json

from bertexplorer.training.data.read import read
from bertexplorer.training.finetuning.preflight import preflight
from bertexplorer.training.finetuning.spec import make_spec


def test_questions_that_all_have_an_answer_do_not_count_as_one_class() -> None:
    """SQuAD 2.0 files state for each question whether it has an answer; if all have one, this is not a label to
    learn."""
    answers = [{"text": "Ann", "answer_start": 0}]
    questions = [{"id": str(i), "question": f"Who {i}?", "answers": answers, "is_impossible": False} for i in range(30)]
    whole = {"version": "2.0", "data": [{"title": "t", "paragraphs": [{"context": "Ann met Bob.", "qas": questions}]}]}
    table = read(json.dumps(whole).encode(), "x.json")
    result = preflight(make_spec("question-answering", "mini", "", {}), table, table)
    assert not result.stops and len(result.train) == 30


def test_each_row_is_counted_once() -> None:
    """Of 12 rows, 3 are broken in the file and 1 is useless for the task; no other count is reported."""
    rows = [f"text {i},{'ab'[i % 2]}" for i in range(8)]
    table = read("\n".join(["text,label", *rows, "x", "y", "z", ",a"]).encode(), "x.csv")
    result = preflight(make_spec("classification", "mini", "", {}), table)
    assert result.summary.startswith("12 rows from x.csv") and "cannot" not in result.summary
    assert len(result.problems) == 4 and len(result.train) + len(result.dev) == 8


def test_few_validation_rows_cause_a_warning() -> None:
    table = read(b"text,label\n" + b"".join(f"text {i},{'ab'[i % 2]}\n".encode() for i in range(60)), "x.csv")
    result = preflight(make_spec("classification", "mini", "", {}), table)
    assert any(
        "Accuracy on 6 validation rows is known only to within 31" in finding.what for finding in result.findings
    )
    assert not result.stops


def test_a_classification_of_one_class_is_rejected() -> None:
    table = read(b"text,label\n" + b"".join(f"text {i},a\n".encode() for i in range(30)), "x.csv")
    result = preflight(make_spec("classification", "mini", "", {}), table)
    assert any("Every row has the label" in what for what in result.stops)
