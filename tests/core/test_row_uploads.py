"""Rows of an upload: none is dropped silently between the reader and the exported result."""

from pathlib import Path

import pytest

import bertexplorer as bx
from bertexplorer.core.row_uploads import MAX_LINES, RowUploads, lines_of, parse_rows
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.runs.suite_folder import SuiteFolder
from bertexplorer.settings import ASSETS
from bertexplorer.views.suite import show as figure, table as suite_table
from bertexplorer.views.suite.cases import cases

GOOD = [f"The cat {n} is old.,The cat {n} are old." for n in range(10)]
WIDE = '"' + "a " * 5_000_000 + '",short'  # a cell of 10 MB
FAULTS = {"good,bad\n" + "\n".join([*GOOD[:5], WIDE, *GOOD[5:]]): "131,072 characters"}
FAULTS["good,bad\n" + "\n".join([*GOOD[:5], "one,two,three", *GOOD[5:]])] = "3 fields"


@pytest.mark.parametrize("content", FAULTS, ids=list(FAULTS.values()))
def test_unreadable_rows_are_counted_and_exported(content: str, tmp_path: Path) -> None:
    uploads = RowUploads(tmp_path / "rows")
    key, _ = uploads.save(content.encode(), "pairs.csv")
    rows = uploads.load(key).rows
    result = bx.suite(rows=as_file(tmp_path, content), checkpoint="mini", scoring="the differing piece")
    for unusable in (cases(rows)[2], result.value.unusable):
        assert [item.line for item in unusable] == [7] and FAULTS[content] in unusable[0].what
    assert len(result.value.outcomes) == 10 and "1 row could not be scored: line 7" in result.said
    assert [row["line"] for row in result.rows if row["problem"]] == [7]


def as_file(folder: Path, content: str) -> Path:
    path = folder / "pairs.csv"
    path.write_text(content, "utf-8")
    return path


def test_rows_beyond_the_limit_are_counted_exactly(tmp_path: Path) -> None:
    content = ("good,bad\n" + "\n".join(GOOD)).encode()
    kind, result, unusable = cases(parse_rows(content, "pairs.csv", max_rows=7).rows)
    assert kind == "minimal pairs" and len(result) == 7
    assert [(row.line, row.what) for row in unusable] == [(9, "and the 2 rows after it are beyond the limit of 7 rows")]
    *_, unusable = cases(parse_rows(content, "pairs.csv", max_rows=9).rows)
    assert [(row.line, row.what) for row in unusable] == [(11, "is beyond the limit of 9 rows")]


def test_a_resumed_suite_keeps_its_unreadable_rows(tmp_path: Path) -> None:
    rows = parse_rows(("good,bad\n" + "\n".join([*GOOD[:5], "one,two,three", *GOOD[5:]])).encode(), "x.csv").rows
    mini = load(ASSETS / "checkpoints" / "mini", precision="fp32")
    for _ in range(2):
        folder = SuiteFolder(tmp_path / "run", mini, rows, "the differing piece")
        *_, last = folder.run()
        assert last.total == 10 and [row.line for row in folder.result().unusable] == [7]
    assert "3 fields" in (tmp_path / "run" / "cases.csv").read_text("utf-8")


def test_a_suite_may_have_one_row(tmp_path: Path) -> None:
    result = bx.suite(rows=as_file(tmp_path, "good,bad\n" + GOOD[0]), checkpoint="mini")
    assert result.value.total.count == 1 and "Fewer than 30 cases say little" in figure.say(result.value)
    with pytest.raises(ExplorerError, match="wanted at least 1"):
        parse_rows(b"good,bad\n", "pairs.csv")
    assert parse_rows(b"good,bad\nA a.,A b.\n", "one.csv").summary.startswith("1 row from one.csv")
    with pytest.raises(ExplorerError, match="^1 row can be used; wanted 20"):
        bx.probe(rows=[{"text": "A cat.", "label": "x"}], checkpoint="mini")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("empty.csv", b"", r"empty\.csv is empty\. The smallest usable file .*: text,label⏎"),
        ("head.csv", b"good,bad\n", "The smallest usable file .*: text,label⏎"),
        (
            "x.exe",
            b"just words\nand more",
            "x.exe has no columns, so it is not a suite. Give a CSV, TSV, JSONL or JSON",
        ),
        (
            "one.csv",
            b"name\nAda\n",
            "The column name alone is not enough for a view. Not found reads query",
        ),
    ],
)
def test_a_file_that_is_not_a_suite_is_rejected_with_the_format(name: str, content: bytes, why: str) -> None:
    with pytest.raises(ExplorerError, match=why):
        parse_rows(content, name)


@pytest.mark.parametrize("head", ["review,sentiment", "question,document", "question1,question2,is_duplicate"])
def test_rows_of_other_views_are_taken(head: str) -> None:
    cells = ",".join(f"word {number}" for number in range(head.count(",") + 1))
    assert len(parse_rows(f"{head}\n{cells}\n".encode(), "rows.csv").rows) == 1


def test_two_checkpoints_are_tested_on_the_same_rows() -> None:
    both = bx.compare(bx.suite(suite="agreement", most=40), bx.suite(suite="agreement", most=40, checkpoint="tiny"))
    assert "McNemar’s test" in both.said and figure.compare(both.first.value, both.second.value) in both.said


@pytest.mark.parametrize(
    ("name", "stereotype"),
    [("pro_stereotyped_type1.txt.dev", "she"), ("anti_stereotyped_type1.txt.test", "he"), ("wino.txt", "she")],
)
def test_the_name_of_a_winobias_file_determines_the_stereotype(name: str, stereotype: str) -> None:
    rows = parse_rows(b"1 [The nurse] met the CEO because [she] was ill.\n", name).rows
    kind, (case,), _ = cases(rows)
    assert kind == "stereotype pairs" and case.texts[0] == f"The nurse met the CEO because {stereotype} was ill."
    result = bx.suite(rows=[cells for _, cells in rows], checkpoint="mini")
    assert ("the file’s own are taken to be" in result.said) == (name == "wino.txt")
    assert result.rows[0]["wanted"] == "" and suite_table.row(result.value.outcomes[0])["wanted"] == "the first"


def test_the_texts_of_rows_are_lines() -> None:
    content = b"good,bad,category\nThe cats sleep.,The cats sleeps.,number\nOne.,Two words.,x\n"
    lines = lines_of(parse_rows(content, "pairs.csv")).lines
    assert [line.text for line in lines] == ["The cats sleep.", "The cats sleeps.", "Two words."]
    assert [line.label for line in lines] == ["", "", "x"]
    labelled = lines_of(parse_rows(b"text,label\nA good film.,yes\nA bad film.,no\n", "films.csv")).lines
    assert [line.label for line in labelled] == ["yes", "no"]
    many = "good,bad\n" + "The cats sleep.,The cats sleeps.\n" * (MAX_LINES // 2 + 1)
    with pytest.raises(ExplorerError, match="10,002 texts; the page reads 10,000"):
        lines_of(parse_rows(many.encode(), "many.csv"))
