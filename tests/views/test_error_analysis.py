"""Error analysis of a file: beside transformers, with planted errors and wrong labels, and files that it refuses."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertexplorer as bx
from bertexplorer.engine import progress
from bertexplorer.engine.progress import Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.python.bert import Bert
from bertexplorer.views.error_analysis import compute, sets
from bertexplorer.views.error_analysis.compute import Facts, Options
from tests.conftest import Tiny
from tests.views.tuned import of_problem, tuned


@pytest.fixture(scope="module")
def sentiment() -> Bert:
    return bx.load("sentiment")


@pytest.fixture(scope="module")
def reviews(sentiment: Bert) -> Any:
    return sentiment.error_analysis()


TINY = ("bad", "so-so", "good")  # labels of tiny classifiers
OTHER = {"bad": "good", "so-so": "bad", "good": "so-so"}


def texts(count: int) -> list[dict[str, Any]]:
    """Rows for a tiny classifier."""
    words = ("good", "bad", "great", "terrible", "capital", "money")
    return [{"text": f"the film is {words[i % 6]} {i}", "label": TINY[i % 3]} for i in range(count)]


# What it finds


def test_scores_and_wrong_labels_of_the_reviews_are_found(reviews: Any) -> None:
    named = [row for row in reviews.tables["slices"] if row["named"]]
    assert [row["kind"] for row in named] == ["number"] and named[0]["rows"] == 60
    planted = {text for (_, cells) in sets.reviews() if is_wrong(cells) for text in [cells["text"]]}
    doubtful = {row["text"] for row in reviews.rows if row["doubtful"]}
    assert len(planted) == 8 and planted <= doubtful <= planted | {"Well, the bakery was as always."}
    assert sum(bool(row["repeats"]) for row in reviews.rows) == 1
    for words in ("Rows with a number: 50 % of 60", "9 labels are doubtful", "too sure", "temperature of 4."):
        assert words in reviews.said


def is_wrong(cells: Any) -> bool:
    """Whether the label of a review without a score is not that of its judgement."""
    return any(word in cells["text"] for word in sets.WORDS[sets.OTHER[cells["label"]]])


def test_most_of_20_wrong_labels_are_found_and_few_others(sentiment: Bert) -> None:
    """Among sentences that it has not learned, and gets right."""
    rows = [dict(cells) for _, cells in sets.reviews() if not is_wrong(cells) and "out of" not in cells["text"]][:190]
    planted = np.random.default_rng(0).choice(len(rows), 20, replace=False)
    for i in planted:
        rows[i]["label"] = sets.OTHER[rows[i]["label"]]
    found = sentiment.error_analysis(rows=rows).rows
    doubtful = {i for i, row in enumerate(found) if row["doubtful"]}
    assert len(doubtful & set(planted.tolist())) >= 18 and len(doubtful - set(planted.tolist())) <= 1


def test_what_it_learned_from_is_right(sentiment: Bert) -> None:
    result = sentiment.error_analysis("what sentiment learned from")
    assert "100 % of 400 rows" in result.said and "Up to chance, it is as sure as it is right" in result.said
    assert "too few to fit a temperature" in result.said and "Worse" not in result.said
    assert not any(row["named"] for row in result.tables["slices"])


def test_answers_are_those_of_transformers(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    tokenizer = twin.ours.tokenizer
    rows = [{"text": "a great film", "label": "good"}, {"text": "the cat", "pair": "a dog .", "label": "bad"}]
    result = compute.run(twin.ours, rows=list(enumerate(rows, 1)))
    for row, one in zip(rows, result.answers, strict=True):
        encoding = tokenizer.encode(Text(row["text"], row.get("pair", "")))
        with torch.no_grad():
            given = {
                "input_ids": torch.tensor([encoding.ids]),
                "token_type_ids": torch.tensor([encoding.segments]),
            }
            probabilities = twin.theirs(**given).logits[0].double().softmax(-1)
        assert one.said == TINY[int(probabilities.argmax())]
        assert one.probability == pytest.approx(float(probabilities.max()), abs=1e-5)
        assert one.log_p == pytest.approx(float(probabilities.log()[TINY.index(row["label"])]), abs=1e-5)


def test_cut_texts_are_read_and_counted(tiny: Tiny) -> None:
    rows = texts(24)
    for row in rows[:12]:
        row["text"] = f"{row['text']} " * 30
    ours = tuned(tiny, "label").ours
    said = [one.said for one in compute.run(ours, rows=list(enumerate(rows, 1))).answers]
    for i, row in enumerate(rows):
        others = [label for label in TINY if label != said[i]]
        row["label"] = said[i] if i >= 12 else others[i % 2]
    result = compute.run(ours, rows=list(enumerate(rows, 1)))
    [cut] = result.named
    assert cut.kind == "cut" and cut.rows == tuple(range(12)) and cut.right == 0
    assert "Rows longer than is read: 0 % of 12" in Bert(ours).error_analysis(rows=rows).said


def test_a_taught_classifier_is_a_checkpoint_too() -> None:
    kitchen = ["Fry the onions in butter.", "The soup has to boil.", "Bake the cake."]
    garden = ["The roses need water.", "Cut the grass.", "He planted a tree."]
    taught = bx.teach({"kitchen": kitchen, "garden": garden})
    rows = [{"text": "Stir the soup.", "label": "kitchen"}, {"text": "Water the tree.", "label": "Garden"}]
    result = taught.bert.error_analysis(rows=rows)
    assert [row["label"] for row in result.rows] == ["kitchen", "garden"] and "Fewer than 30 rows" in result.said
    asked = [taught.ask(row["text"]) for row in rows]
    for row, probabilities in zip(result.rows, asked, strict=True):
        assert probabilities[row["answer"]] == pytest.approx(row["probability"], abs=1e-3)
    other = bx.teach({"kitchen": garden, "garden": kitchen}).bert.error_analysis(rows=rows)  # on the same encoder
    assert [row["answer"] for row in other.rows] == ["garden", "kitchen"] != [row["answer"] for row in result.rows]


# Files


def test_a_file_of_csv_or_jsonl(sentiment: Bert, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("text,label\nA lovely day.,positive\nA terrible day.,negative\n", "utf-8")
    lines = tmp_path / "rows.jsonl"
    rows = [{"sentence": "A lovely day.", "label": 1}, {"sentence": "A terrible day.", "label": 0}]
    lines.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    first = sentiment.error_analysis(rows=table)
    second = sentiment.error_analysis(rows=lines, labels="0=negative, 1=positive")
    for column in ("text", "label", "answer", "probability"):
        assert [row[column] for row in first.rows] == [row[column] for row in second.rows]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (("sentence", "sentiment"), "“sentence” as text, “sentiment” as label"),
        (("Review", "category"), "“Review” as text, “category” as label"),
        (("Text", "LABEL"), ""),
    ],
)
def test_columns_with_other_usual_names(sentiment: Bert, columns: tuple[str, str], said: str) -> None:
    rows = [dict(zip(columns, row, strict=True)) for row in (("A lovely day.", "positive"), ("It rains.", "negative"))]
    result = sentiment.error_analysis(rows=rows)
    assert [row["text"] for row in result.rows] == ["A lovely day.", "It rains."]
    assert [row["label"] for row in result.rows] == ["positive", "negative"]
    assert (f"Columns were matched by name: {said}." in result.said) == bool(said)
    assert ("matched by name" in result.said) == bool(said)


def test_columns_of_pairs_with_other_usual_names() -> None:
    named = ["premise", "hypothesis", "gold", "category"]
    wanted = {"label": "gold", "category": "category", "text": "premise", "pair": "hypothesis"}
    assert compute.columns_of(named) == wanted
    assert compute.columns_of(["text", "pair", "label"]) == {"label": "label", "text": "text", "pair": "pair"}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "No rows were given"),
        ([{"good": "a", "bad": "b"}], "The columns are bad, good; wanted text and label"),
        ([{"text": "", "label": "positive"}], "line 1 has no text"),
        ([{"text": "A day.", "label": ""}], "line 1 has no label"),
        ([{"text": "A day.", "label": "positiv"}], "the nearest one is 'positive'"),
        ([{"text": "A day.", "label": "1"}], ", such as 0=negative"),
        ([{"text": "A day.", "label": float("nan")}], "label 'nan'"),
        ([{"text": "bbb " * 6000, "label": "positive"}], "cannot be read"),
        ([{"text": "\u200b", "label": "positive"}], "cannot be read"),
    ],
)
def test_files_that_cannot_be_used(sentiment: Bert, rows: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(ExplorerError, match=words):
        sentiment.error_analysis(rows=rows)


@pytest.mark.parametrize("names", ["0", "0=bad", "=positive", "0=negative;1=positive"])
def test_names_of_labels_that_are_not_understood(sentiment: Bert, names: str) -> None:
    with pytest.raises(ExplorerError, match="gives: negative, positive"):
        sentiment.error_analysis(labels=names)


def test_rows_that_cannot_be_used_are_said(sentiment: Bert) -> None:
    rows = [{"text": "A lovely day.", "label": "Positive"}, {"text": "It rains.", "label": "neutral"}]
    result = sentiment.error_analysis(rows=rows)
    assert len(result.rows) == 1 and "1 row could not be used: line 2 has the label 'neutral'" in result.said


def test_a_checkpoint_without_one_label_is_refused(tiny: Tiny) -> None:
    with pytest.raises(ExplorerError, match="no fine-tuned head.*Train"):
        bx.error_analysis()
    ours = tuned(tiny, "label").ours
    for problem in ("regression", "multi_label_classification"):
        with pytest.raises(ExplorerError, match="fine-tuned for another answer"):
            compute.run(of_problem(ours, problem))
    with pytest.raises(ExplorerError, match="fine-tuned for another answer"):
        compute.run(tuned(tiny, "tag").ours)


# Few rows, and many


@pytest.mark.parametrize("count", [1, 2, 9, 40])
@pytest.mark.parametrize("which", ["right", "wrong", "one label"])
def test_odd_files_have_sentences(tiny: Tiny, count: int, which: str) -> None:
    ours = tuned(tiny, "label").ours
    rows = texts(count)
    if which == "one label":
        rows = [{**row, "label": "so-so"} for row in rows]
    else:
        said = [one.said for one in compute.run(ours, rows=list(enumerate(rows, 1))).answers]
        rows = [{**row, "label": one if which == "right" else OTHER[one]} for row, one in zip(rows, said, strict=True)]
    result = Bert(ours).error_analysis(rows=rows)
    json.loads(result.figure.to_json() if hasattr(result.figure, "to_json") else "{}")
    assert result.value.neighbours == count // 10, "a tenth of the rows, at most"
    assert f"{count:,} row" in result.said and "nan" not in result.said and "inf" not in result.said
    assert not any(row["named"] for row in result.tables["slices"]) or which == "one label"
    if which == "right":
        assert result.value.right == 1 and "mistake" not in result.said
    if which == "wrong":
        assert result.value.right == 0 and "are right: too few" in result.said
    if which == "one label":
        assert "Every row has the label “so-so”" in result.said


def test_of_a_long_file_rows_are_drawn_at_random(sentiment: Bert) -> None:
    result = sentiment.error_analysis(most=50)
    lines = [row["line"] for row in result.rows]
    assert len(lines) == 50 and lines == sorted(lines) and max(lines) > 150
    assert "50 of 262 rows were drawn at random" in result.said
    assert [row["line"] for row in sentiment.error_analysis(most=50).rows] == lines


def test_too_much_work_is_refused_before_it_begins(tiny: Tiny) -> None:
    ours = tuned(tiny, "label").ours
    once = sum(len(ours.tokenizer.encode(row["text"])) for row in texts(60))
    work = Work(limit=once + 1)
    with working(work), pytest.raises(ExplorerError, match=f"the limit is {once + 1:,}"):
        compute.run(ours, rows=list(enumerate(texts(60), 1)))
    assert not work.done
    stopped = Work()
    stopped.stopped = True
    with working(stopped), pytest.raises(progress.Stopped):
        compute.run(ours, rows=list(enumerate(texts(60), 1)))


# What is read of it


def test_facts(reviews: Any, sentiment: Bert) -> None:
    facts = Facts(sentiment.checkpoint, Text(""), reviews.value)
    assert facts.rows() == 262 and facts.right() == pytest.approx(223 / 262)
    assert facts.slices() == 1 and facts.slice() == "number" and facts.slice_right() == 0.5
    assert facts.doubtful() == 9 and facts.repeats() == 1 and 4 < facts.temperature() < 6
    assert facts.excess() == pytest.approx(facts.calibration_error(), abs=0.02)
    with pytest.raises(ExplorerError, match="no slice 2"):
        facts.slice(2)


def test_summary_has_intervals(reviews: Any) -> None:
    found = {row["metric"]: row for row in reviews.tables["summary"]}
    assert found["right"]["low"] < found["right"]["value"] < found["right"]["high"]
    assert found["log loss gained by it"]["low"] > 0 and found["log loss"]["low"] == ""
    assert sum(row["examples"] for row in reviews.tables["calibration"]) == 262


def test_two_checkpoints_on_the_same_rows(sentiment: Bert, reviews: Any) -> None:
    from bertexplorer.views.error_analysis import show

    ours = reviews.value
    flipped = [replace_said(one) for one in ours.answers]
    said = show.compare(ours, replace(ours, answers=tuple(flipped)))
    assert "only the first gets 223 right, only the second 39" in said and "the first is right more often" in said
    same = show.compare(ours, ours)
    assert "that may be chance" in same
    assert show.compare(ours, replace(ours, answers=ours.answers[:5])) == ""


def replace_said(one: compute.Answered) -> compute.Answered:
    return one._replace(said=sets.OTHER[one.said])


def test_options_are_bounded(sentiment: Bert) -> None:
    bad: Sequence[dict[str, Any]] = ({"most": 0}, {"most": 10_001}, {"neighbours": 0}, {"set": "none"})
    for options in bad:
        with pytest.raises(ExplorerError):
            sentiment.error_analysis(**options)
    assert Options().most <= compute.MAX_ROWS
