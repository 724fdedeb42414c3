"""Columns are guessed by name, then by content; an invalid choice raises an error."""

from dataclasses import dataclass

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.guess import guess_columns, guess_reasons
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, Table, map_columns


@dataclass(frozen=True)
class Column:
    name: str
    label: str
    kind: str
    optional: bool = False


TEXT, LABEL = Column("text", "Text", "text"), Column("label", "Label", "label")
PAIR = (Column("text_a", "First text", "text"), Column("text_b", "Second text", "text"))
SCORE = Column("score", "Score", "number")
QA = (
    Column("question", "Question", "text"),
    Column("context", "Passage", "text"),
    Column("answers", "Answers", "answers"),
    Column("title", "Title", "text", optional=True),
)


@pytest.mark.parametrize(
    ("head", "columns", "expected"),
    [
        ("text,label", (TEXT, LABEL), "text,label"),
        ("Label,Review Text,Review", (TEXT, LABEL), "Review,Label"),
        ("id,SENTENCE,Class", (TEXT, LABEL), "SENTENCE,Class"),
        ("index,question,sentence,label", (*PAIR, LABEL), "question,sentence,label"),
        ("gold,sentence_2,Sentence 1", (*PAIR, LABEL), "Sentence 1,sentence_2,gold"),
        ("premise,hypothesis,label", (*PAIR, LABEL), "premise,hypothesis,label"),
        ("sentence1,sentence2,similarity", (*PAIR, SCORE), "sentence1,sentence2,similarity"),
        ("context,question,answer", QA, "question,context,answer"),
    ],
)  # fmt: skip
def test_columns_are_guessed_by_name(head: str, columns: tuple[Column, ...], expected: str) -> None:
    width = head.count(",") + 1
    table = read("\n".join([head, *(",".join([f"v{i}"] * width) for i in range(4))]).encode(), "a.csv", header=True)
    names = [column.name for column in columns if not column.optional]
    assert guess_columns(table, columns) == dict(zip(names, expected.split(","), strict=True))


def test_columns_are_guessed_by_content() -> None:
    rows = [f"{i},{'xy'[i % 2]},{i % 5}.5,a longer text no {i},short {i}" for i in range(12)]
    table = read("\n".join(rows).encode(), "a.csv", header=False)
    for label in (LABEL, Column("label", "Label", "labels")):
        assert guess_columns(table, (TEXT, label)) == {"text": "column 4", "label": "column 2"}
    assert guess_columns(table, (*PAIR, SCORE)) == {"text_a": "column 4", "text_b": "column 5", "score": "column 3"}
    turned = read("\n".join(f"short {i},a longer text no {i},0.{i}" for i in range(12)).encode(), "a.csv", header=False)
    assert guess_columns(turned, (*PAIR, SCORE)) == {"text_a": "column 1", "text_b": "column 2", "score": "column 3"}


def german(*columns: str) -> Table:
    """Reviews with stars and a verdict; *columns*: the names of those three columns."""
    rows = [
        f"Der Film Nr. {i} war lang;{(1, 5, 5, 1, 3)[i % 5]};{('gut', 'schlecht', 'geht so')[i % 3]}" for i in range(60)
    ]
    return read("\n".join([";".join(columns), *rows]).encode(), "a.csv", header=True)


def test_columns_of_a_german_file_are_guessed() -> None:
    named = german("Kommentar", "Sterne", "Urteil")
    assert guess_columns(named, (TEXT, LABEL)) == {"text": "Kommentar", "label": "Urteil"}
    unnamed = german("a", "b", "c")
    assert guess_columns(unnamed, (TEXT, LABEL)) == {"text": "a", "label": "c"}, (
        "words rather than numbers of as many values"
    )


def test_the_reason_for_a_guess_is_reported() -> None:
    table = german("Kommentar", "b", "Urteil")
    result = guess_reasons(table, (TEXT, LABEL), guess_columns(table, (TEXT, LABEL)))
    assert result == {
        "text": "by its name",
        "label": "by its name, 3 different values; “b” (3 values) would fit too",
    }
    assert guess_reasons(table, (TEXT, LABEL), {"text": "Kommentar", "label": "b"}) == {"text": "by its name"}
    bare = german("x", "y", "z")
    assert guess_reasons(bare, (TEXT, LABEL), guess_columns(bare, (TEXT, LABEL)))["text"] == "its texts are the longest"


def test_an_empty_cell_is_no_value_of_a_label() -> None:
    table = read(b"text,label\nA fine soup,good\nA cold fish,bad\nNo label here,\n", "rows.csv", header=True)
    reasons = guess_reasons(table, (TEXT, LABEL), guess_columns(table, (TEXT, LABEL)))
    assert reasons["label"] == "by its name, 2 different values"


def test_no_column_is_guessed_if_none_fits() -> None:
    table = read("\n".join(f"a text no {i}" for i in range(9)).encode(), "a.txt")
    assert guess_columns(table, (LABEL, TEXT, SCORE)) == {"text": "text"}
    assert guess_columns(table, (Column("title", "Title", "text", optional=True),)) == {}


def test_rows_follow_the_chosen_columns() -> None:
    table = read(b"Review,Mood\na,x\nb,y\n", "a.csv", header=True)
    assert map_columns(table, {"text": "Review", "label": "Mood", "title": ""}, (TEXT, LABEL)) == [
        Row(2, {"text": "a", "label": "x"}), Row(3, {"text": "b", "label": "y"}),
    ]  # fmt: skip
    with pytest.raises(ExplorerError, match="No column was chosen for Label; the file has “Review”, “Mood”"):
        map_columns(table, {"text": "Review", "label": ""}, (TEXT, LABEL))
    with pytest.raises(ExplorerError, match="no column “Stars” for label; the file has “Review”, “Mood”"):
        map_columns(table, {"text": "Review", "label": "Stars"})
