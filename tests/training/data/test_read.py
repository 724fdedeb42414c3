"""Files are read correctly, the summary reports how, and every unusable row is reported with its line."""

import gzip
import io
import zipfile

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data import delimited
from bertexplorer.training.data.read import MAX_ROWS, SMALLEST, read
from bertexplorer.training.data.rows import RowProblem, Table, parse_number

EVIL = "</script><img src=x onerror=1>"


def cells(table: Table) -> list[tuple[object, ...]]:
    return [tuple(row.cells.values()) for row in table.rows]


def lines(table: Table) -> list[int]:
    return [row.line for row in table.rows]


def test_a_plain_csv_is_read() -> None:
    result = read(b'text,label\na cat,x\n\n"b, c",y\n', "a.csv")
    assert result.columns == ("text", "label") and cells(result) == [("a cat", "x"), ("b, c", "y")]
    assert lines(result) == [2, 4] and result.kind == "csv" and not result.problems and not result.left_out
    assert result.summary == "2 rows from a.csv: UTF-8, commas between columns, with a header."


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_the_delimiter_is_detected_and_reported(sign: str, name: str) -> None:
    result = read(f"text{sign}label\nwell, a cat{sign}x\nb; c{sign}y\nd{sign}x\n".encode(), name)
    if sign in ",;":  # the unquoted one is an odd row, never a shift
        assert [problem.line for problem in result.problems] == [2 if sign == "," else 3]
    else:
        assert cells(result)[0] == ("well, a cat", "x")
    assert delimited.DELIMITERS[sign] in result.summary


@pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"', "sep=;\r", "\ufeffsep=;"])
def test_the_first_line_of_a_file_for_excel_names_the_delimiter(first: str) -> None:
    result = read(f"{first}\ntext;label\na, cat;x\nb, c;y\nd;x;z\n".encode(), "a.csv")
    assert cells(result) == [("a, cat", "x"), ("b, c", "y")] and lines(result) == [3, 4]
    assert result.columns == ("text", "label") and result.problems == (RowProblem(5, "has 3 fields, expected 2"),)
    assert "semicolons between columns, as line 1 says, with a header" in result.summary
    assert "row" not in result.summary.partition(":")[2]
    assert cells(read(b"sep=;\n1,a\n2,b\n", "a.csv", delimiter=",", header=False)) == [("1", "a"), ("2", "b")]


@pytest.mark.parametrize(
    ("cell", "number"),
    [("3,8", 3.8), (" -2.5 ", -2.5), ("1e3", 1000.0), ("1,234", 1.234), ("7", 7.0), ([7], None)]
    + [(cell, None) for cell in ("1_000", "1_0.5", "1,234,567", "inf", "nan", "", "many")],
)
def test_a_cell_is_read_as_a_number(cell: object, number: float | None) -> None:
    assert parse_number(cell) == number


def test_the_delimiter_can_be_given() -> None:
    content = b"1;a, b\n2;c, d\n3;e, f\n"
    assert cells(read(content, "a.csv", delimiter=",", header=False))[0] == ("1;a", " b")
    assert cells(read(content, "a.txt", delimiter=";", header=False))[0] == ("1", "a, b")
    for wrong in ("\n", '"', " ", ",,", "\0"):
        with pytest.raises(ExplorerError, match="wanted one character"):
            read(content, "a.csv", delimiter=wrong)
    assert cells(read(b"sep=\t\ntext\tlabel\na\tx\nb\ty\n", "a.csv")) == [("a", "x"), ("b", "y")]


def test_a_row_of_the_wrong_width_is_reported_and_shifts_nothing() -> None:
    rows = ["text,label", *(f"row {i},x" for i in range(2, 17)), "a, b, c,x", "good,y", "short"]
    result = read("\n".join(rows).encode(), "a.csv")
    assert result.problems == (
        RowProblem(17, "has 4 fields, expected 2"),
        RowProblem(19, "has 1 field, expected 2"),
    )
    assert result.rows[-1].line == 18 and result.rows[-1].cells == {"text": "good", "label": "y"}
    assert result.summary.startswith("18 rows from a.csv") and "cannot be used" not in result.summary, (
        "counted once, elsewhere"
    )
    with pytest.raises(ExplorerError, match="line 2 has 3 fields, expected 2"):
        read(b"text,label\n0,a,x\n1,b,y\n2,c,x\n", "a.csv")


@pytest.mark.parametrize(
    "value", ["NA", "None", "null", "NaN", "007", "1e5", "True", " x ", "", "1,5", "-", "=1+1", EVIL]
)
def test_values_are_unchanged(value: str) -> None:
    result = read(f"text\tlabel\na\t{value}\nb\tx\n".encode(), "a.tsv")
    assert result.rows[0].cells == {"text": "a", "label": value}


def test_an_unclosed_quote_spoils_no_other_row() -> None:
    result = read(b'text,label\na,x\n"b,y\nc,x\n"d",y\n', "a.csv")
    assert cells(result) == [("a", "x"), ("c", "x"), ("d", "y")] and lines(result) == [2, 4, 5]
    assert result.problems[0].line == 3 and "quote" in result.problems[0].what
    result = read(b'text,label\na,x\nc,x\n"b,y\n', "a.csv")
    assert result.problems == (RowProblem(4, "a quote opens here and is never closed"),)
    long = b'text,label\na,x\n"b,y\n' + b"c,x\n" * 60_000
    result = read(long, "a.csv")
    assert result.problems[0].line == 3 and "never closed" in result.problems[0].what
    assert len(result.rows) == MAX_ROWS - 1 and result.rows[1].line == 4
    with pytest.raises(ExplorerError, match="More than 200 rows have quotes that are not closed"):
        read(b"text,label\na,x\n" + b'"b,y\n' * 1_000, "a.csv")


def test_quoted_cells_are_read_as_one() -> None:
    result = read(b'text,label\r\n"two\r\nlines",x\r\nb,y\r\n"c\n\nd",x\r\ne,y,z\r\n', "a.csv")
    assert lines(result) == [2, 4, 5] and result.problems == (RowProblem(8, "has 3 fields, expected 2"),)
    assert result.rows[0].cells["text"] == "two\r\nlines"
    assert cells(read(b'text, label\n"a, b", "x"\n"c, d", "y, z"\n', "a.csv")) == [("a, b", "x"), ("c, d", "y, z")]


def test_quotes_in_tab_separated_files_are_text_unless_they_enclose_cells() -> None:
    raw = read(b'text\tlabel\n"a" cat\tx\nhe said "b\ty\n"\tx\n', "a.tsv")
    assert cells(raw) == [('"a" cat', "x"), ('he said "b', "y"), ('"', "x")] and "quotes are part" in raw.summary
    quoted = read(b'text\tlabel\n"a ""cat"""\tx\n"b, c"\ty\n', "a.tsv")
    assert cells(quoted) == [('a "cat"', "x"), ("b, c", "y")] and "quotes" not in quoted.summary
    several = read(b'text\tlabel\n"two\nlines"\tx\n"a\ttab"\ty\n', "a.tsv")
    assert cells(several) == [("two\nlines", "x"), ("a\ttab", "y")] and lines(several) == [2, 4]


def test_columns_get_distinct_names() -> None:
    assert read(b'\xef\xbb\xbf text ,"\xef\xbb\xbflabel\r\n"\r\na,x\r\nb,y', "a.csv").columns == ("text", "label")
    assert read(b",text,text,text (2)\n0,a,b,c\n1,d,e,f\n", "a.csv").columns == (
        "column 1", "text", "text (2)", "text (2) (2)",
    )  # fmt: skip
    assert read(b"a,b\nc,d\n", "a.csv", header=False).columns == ("column 1", "column 2")
    assert read(b"a,b\nc,d\ne,f\n", "a.csv", header=True).columns == ("a", "b")
    result = read(b"text,label,text\na,x,b\nc,y,d\n", "a.csv")
    assert result.columns == ("text", "label", "text (2)")
    assert "2 columns called “text”: the later ones are read as “text (2)” and so on" in result.summary
    assert read(b"tweet,mood\na b,1\nb c,2\n", "a.csv").columns == ("tweet", "mood")


@pytest.mark.parametrize(
    ("head", "headed"),
    [
        ("text,label", True),
        ("Sentence 1,Sentence 2", True),
        ("tweet words,mood", True),  # mood does not occur again
        ("a plane is taking off.,x", False),
        ("some words,5.0", False),
    ],
)
def test_a_header_is_detected(head: str, headed: bool) -> None:
    rows = [f"row {i},{'xy'[i % 2]}" for i in range(8)]
    result = read("\n".join([head, *rows]).encode(), "a.csv")
    assert (result.columns == tuple(head.split(","))) == headed and len(result.rows) == 8 + (not headed)
    assert ("with a header" in result.summary) == headed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,label\nnaïve café,x\nb,y\n".encode("latin-1"), "Latin-1, commas"),
        ("text,label\nl’été “là”,x\nb,y\n".encode("cp1252"), "Windows Latin-1"),
        ("text,label\né日,x\nb,y\n".encode("utf-16"), "UTF-16"),
        ("text,label\né日,x\nb,y\n".encode("utf-8-sig"), "UTF-8 with a byte order mark"),
        ("text,label\néé日日,x\nb".encode() + b"\xff,y\n", "UTF-8 (1 broken character shown as \ufffd)"),
    ],
)
def test_the_encoding_is_detected_and_reported(content: bytes, message: str) -> None:
    result = read(content, "a.csv")
    assert result.columns == ("text", "label") and message in result.summary
    assert result.rows[0].cells["text"] in ("naïve café", "l’été “là”", "é日", "éé日日")


def packed() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.csv", "text,label\na,x\nb,y\n")
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "a.csv", "a.csv is empty. The smallest usable file .* text,label⏎"),
        (b" \n\t\n", "a.txt", "is empty.*I liked it"),
        (b"\xef\xbb\xbf", "a.jsonl", "is empty.*{"),
        (b",,\n,,\n", "a.csv", "holds no rows that can be used; wanted at least 2"),
        (b"text,label\n", "a.csv", r"no rows that can be used below its header \(text, label\); wanted at least 2"),
        (b"text,label\na,x\n", "a.csv", "1 row that can be used below its header.*smallest"),
        (b"a\n", "a.txt", "1 row that can be used; wanted at least 2"),
        (b"<!DOCTYPE html><html>" + b"<p>a,b</p>\n" * 9, "a.csv", "is a web page or XML"),
        (b"\n <html>", "a.csv", "is a web page"),
        (packed(), "a.csv", "a zip archive.*not opened. Save"),
        (packed(), "a.xlsx", "a zip archive"),
        (gzip.compress(b"text,label\na,x\n" * 99, mtime=0), "a.csv.gz", "packed with gzip"),
        (b"a\0b", "a.csv", "is not text"),
        (bytes(range(256)) * 20, "a.csv", "is not text"),
        (b"\xff\xfea", "a.csv", "UTF-16 and damaged at byte"),
        (b"a" * 25_000_001, "a.csv", "25.0 MB; the limit is 25"),
        (b"\n" * 2_000_001 + b"a", "a.csv", "2,000,001 lines; the limit is 2,000,000"),
        (",".join(f"c{i}" for i in range(100_000)).encode() + b"\n", "a.csv", "100,000 columns; the limit is 50"),
        (b"text,label\n" + b"a,b,c\n" * 9, "a.csv", "line 2 has 3 fields, expected 2"),
    ],
)  # fmt: skip
def test_invalid_files_are_rejected(content: bytes, name: str, message: str) -> None:
    with pytest.raises(ExplorerError, match=message) as caught:
        read(content, name)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(("kind", "smallest"), SMALLEST.items())
def test_the_smallest_files_are_read(kind: str, smallest: str) -> None:
    suffix = {"text": "txt", "squad": "json"}.get(kind, kind)
    other = '{"id": "2", "question": "What?", "answers": [{"text": "writes", "answer_start": 4}]}'
    result = read(smallest.replace("⏎", "\n").replace("…", other).encode(), f"a.{suffix}")
    assert result.kind == kind and len(result.rows) == 2 and not result.problems


def test_rows_and_cells_beyond_the_limits_are_reported() -> None:
    result = read(b"text,label\na,x\n" + b"b" * 10_001 + b",y\n" + b"c" * 10_000 + b",x\n", "a.csv")
    assert result.problems == (RowProblem(3, "“text” has 10,001 characters; the limit is 10,000"),)
    assert lines(result) == [2, 4]
    huge = read(b"text,label\na,x\n" + b"b" * 200_000 + b",y\nc,x\n", "a.csv")
    assert huge.problems[0].line == 3 and "131,072" in huge.problems[0].what and lines(huge) == [2, 4]
    result = read(b"text,label\n" + b"a cat,x\n" * 60_000, "a.csv")
    assert len(result.rows) == 50_000 and result.left_out == 10_000 and lines(result)[-1] == 50_001
    assert not result.problems and result.summary.startswith("50,000 rows from")
    assert "10,000 rows from line 50,002 on left out, beyond the limit of 50,000" in result.summary
    assert [read(b"text,label\n" + b"a cat,x\n" * 6, "a.csv", max_rows=most).left_out for most in (5, 6)] == [1, 0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../../x.csv", "x.csv"),
        ("c:\\y\\x.csv", "x.csv"),
        ("<img src=x onerror=1>.csv", "<img src=x onerror=1>.csv"),
        ("a\0\u202egpj.csv", "a\ufffd\ufffdgpj.csv"),
        ("\ud800.csv", "\ufffd.csv"),
        ("a" * 300 + ".csv", "a" * 60),
        ("CON", "CON"),
        ("", "The file"),
    ],
)
def test_the_summary_shows_the_file_name_safely(name: str, message: str) -> None:
    assert f"from {message}: " in read(b"text\tlabel\na\tx\nb\ty\n", name).summary


def test_a_long_name_keeps_its_suffix() -> None:
    assert read(b"text,label\na,x\nb,y\n", "a" * 300 + ".CSV").kind == "csv"


def test_text_files_have_a_row_per_line() -> None:
    assert cells(read(b"one, two\n\n three \r\nfour\tfive\n", "a.txt")) == [("one, two",), ("three",), ("four\tfive",)]
    assert cells(read(b"good one\t1\nbad one\t0\n", "a.txt")) == [("good one", "1"), ("bad one", "0")]
    assert lines(read("a\u2028b\x85c\nd".encode(), "a.txt")) == [1, 2]
