"""The complete preflight of a task's rows."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from bertexplorer.model.load import load
from bertexplorer.training.data.read import read
from bertexplorer.training.finetuning.preflight import Preflight, preflight
from bertexplorer.training.finetuning.spec import make_spec
from bertexplorer.training.tasks import BY_NAME
from tests.conftest import ROOT, Tiny

LETTERS = "abcdefghijklm"
LONG = "paris is the city of france and it is good . " * 4
SHORT = "paris is good {} ."


@pytest.fixture
def check(tiny: Tiny) -> Callable[..., Preflight]:
    """The preflight of a task's rows with the tiny tokenizer: check("similarity", rows, max_tokens=32)."""
    tokenizer = load(tiny("bert"), precision="fp32").tokenizer

    def run(task: str, rows: list[dict[str, Any]], **values: Any) -> Preflight:
        table = read("\n".join(map(json.dumps, rows)).encode(), "x.jsonl")
        return preflight(make_spec(task, "tiny", "", values), table, tokenizer=tokenizer)

    return run


def findings(result: Preflight, words: str) -> list[str]:
    return [finding.what for finding in result.findings if words in finding.what]


def test_wrong_passages_may_be_text(check: Callable[..., Preflight]) -> None:
    rows = [{"query": f"q {i}", "passage": f"paris {i}", "negatives": f"bad {i}|worse {i}"} for i in range(8)]
    assert check("retrieval", rows).problems == [] and not findings(check("retrieval", rows), "cut")
    cut = findings(check("retrieval", [row | {"negatives": f"bad|{LONG}"} for row in rows], max_tokens=16), "cut")
    assert cut == ["25% of the texts are longer than 16 tokens and are cut there."]


@pytest.mark.parametrize("name", ["retrieval", "distillation"])
def test_columns_that_a_file_may_lack_are_not_missed(name: str) -> None:
    (path,) = (ROOT / "assets" / "data").glob(f"{BY_NAME[name].built_in_rows}.*")
    assert not findings(preflight(make_spec(name, "mini", "", {}), read(path.read_bytes(), path.name)), "lack")


@pytest.mark.parametrize(
    ("task", "columns", "share"),
    [
        ("question-answering", {"question": "who ?", "context": LONG + SHORT, "answers": SHORT}, ""),
        ("adaptation", {"text": LONG + SHORT}, ""),
        ("next-word", {"text": LONG + SHORT}, ""),
        ("similarity", {"text_a": SHORT * 3, "text_b": SHORT * 3, "score": "{}"}, ""),
        ("similarity", {"text_a": SHORT, "text_b": LONG + SHORT, "score": "{}"}, "50%"),
        ("retrieval", {"query": SHORT * 3, "passage": SHORT * 3}, ""),
        ("summary", {"document": f"{SHORT}\n{SHORT}", "summary": SHORT + LONG}, ""),
        ("summary", {"document": f"{SHORT}\n{LONG}", "summary": SHORT}, "100%"),
        ("reranking", {"query": SHORT * 3, "passage": SHORT * 3, "relevance": "1"}, "100%"),
        ("distillation", {"text": LONG + SHORT, "label": "{}"}, "100%"),
    ],
)
def test_texts_are_measured_as_they_are_read(
    check: Callable[..., Preflight], task: str, columns: dict[str, str], share: str
) -> None:
    """Of 24 tokens. Texts that are encoded apart are no pair, and those that are read in parts are never cut."""
    rows = [{name: text.replace("{}", "abcdefgh"[i]) for name, text in columns.items()} for i in range(8)]
    if task == "similarity":
        rows = [row | {"score": str(i)} for i, row in enumerate(rows)]
    wanted = [f"{share} of the texts are longer than 24 tokens and are cut there."] if share else []
    assert findings(check(task, rows, max_tokens=24), "cut") == wanted


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


def test_few_validation_rows_and_commas_in_scores_cause_a_warning() -> None:
    table = read(b"text,label\n" + b"".join(f"text {i},{'ab'[i % 2]}\n".encode() for i in range(60)), "x.csv")
    result = preflight(make_spec("classification", "mini", "", {}), table)
    assert any(
        "Accuracy on 6 validation rows is known only to within 31" in finding.what for finding in result.findings
    )
    assert not result.stops
    table = read(b"a;b;score\n" + b"".join(b"%d cat;%d dog;1,%d\n" % (i, i, 100 + i) for i in range(30)), "a.csv")
    columns = {"text_a": "a", "text_b": "b", "score": "score"}
    result = preflight(make_spec("similarity", "mini", "", {}), table, mapping=columns)
    assert any("“1,100” is read as 1.1" in finding.what for finding in result.findings) and not result.stops


def test_rows_of_one_class_for_training_are_rejected() -> None:
    table = read(b"text,label\n" + b"".join(f"text {i},a\n".encode() for i in range(30)), "x.csv")
    result = preflight(make_spec("classification", "mini", "", {}), table)
    assert any("Every row has the label" in what for what in result.stops)
    # One of the two rows is for training, so the run would know one label only.
    table = read(b"text,label\ngood film,5\nbad film,1\n", "x.csv")
    result = preflight(make_spec("classification", "mini", "", {}), table)
    (message,) = [what for what in result.stops if "label" in what]
    assert "Every row" not in message
    assert message.startswith("The only training row has the label “") and message.endswith("Add rows of each label.")


def test_several_labels_of_a_cell_are_classes_of_their_own(check: Callable[..., Preflight]) -> None:
    """Of 13 letters, 1,287 sets of 5 are possible. A split by set would validate only those that occur twice."""
    draw = random.Random(1)
    labels = ["|".join(sorted(draw.sample(LETTERS, 5))) for _ in range(2_000)]
    assert len(set(labels)) > 1_000
    result = check(
        "classification", [{"text": f"t {i}", "label": cell} for i, cell in enumerate(labels)], labels="several"
    )
    assert not result.stops and len(result.dev) == 200 and sorted(result.labels) == list(LETTERS)
    assert not findings(result, "example") and not findings(result, "label")
    few = [{"text": f"t {i}", "label": "a|b|once" if i == 30 else "a|b"} for i in range(40)]
    assert not findings(check("classification", few, labels="several"), "“a|b|once”")


@pytest.mark.parametrize(
    ("task", "columns"),
    [
        ("similarity", {"text_a": "a {0}", "text_b": "b {0}", "score": "{1}"}),
        ("sequence", {"source": "a {0}", "target": "b {0} {1}"}),
        ("summary", {"document": "paris is {0}.\nberlin is bad.", "summary": "paris is {0} and {1}"}),
        ("tagging", {"tokens": "a {0}", "tags": "O B-{1}"}),
    ],
)
def test_no_text_is_on_both_sides_of_a_split(
    check: Callable[..., Preflight], task: str, columns: dict[str, str]
) -> None:
    """Each text occurs twice, with other scores, targets or tags."""
    rows = [{name: text.format(i // 2, i % 2) for name, text in columns.items()} for i in range(80)]
    result, key = check(task, rows), next(iter(columns))
    train, dev = ({row.cells[key] for row in side} for side in (result.train, result.dev))
    assert len(result.dev) == 8 and train.isdisjoint(dev)


def similarity_rows() -> list[dict[str, Any]]:
    return [{"text_a": f"a cat {i}", "text_b": f"the cat {i} sat", "score": (i % 12) / 4} for i in range(48)]


@pytest.mark.parametrize("task", ["classification", "pair-classification"])
def test_scores_are_not_guessed_to_be_labels(check: Callable[..., Preflight], task: str) -> None:
    (stop,) = check(task, similarity_rows()).stops
    assert stop.startswith("The labels are 12 different numbers, such as 0") and "not classes" in stop
    assert "The task similarity learns scores from this file." in stop
    one_text = [{"text": row["text_a"], "score": row["score"]} for row in similarity_rows()]
    (stop,) = check("classification", one_text).stops
    assert "No task learns a score from one text." in stop


def test_scores_that_a_person_chose_as_labels_are_mentioned_unless_all_differ() -> None:
    table = read("\n".join(map(json.dumps, similarity_rows())).encode(), "x.jsonl")
    chosen = {"text": "text_a", "label": "score"}
    found = preflight(make_spec("classification", "tiny", "", {}), table, mapping=chosen)
    assert findings(found, "12 different numbers") and not found.stops
    rows = [row | {"score": 3 * i} for i, row in enumerate(similarity_rows())]
    table = read("\n".join(map(json.dumps, rows)).encode(), "x.jsonl")
    chosen = {"text": "text_a", "label": "score"}
    (stop,) = preflight(make_spec("classification", "tiny", "", {}), table, mapping=chosen).stops
    assert stop.startswith("The labels are 48 different numbers, such as 0 and 3: scores, not classes.")


@pytest.mark.parametrize("labels", [["1", "2", "3", "4", "5"], ["0", "1"], ["0.0", "1.0", "2.0"], ["1.5", "good", "2"]])
def test_numbers_may_be_classes(check: Callable[..., Preflight], labels: list[str]) -> None:
    rows = [{"text": f"paris {i}", "label": labels[i % len(labels)]} for i in range(40)]
    assert not check("classification", rows).stops
