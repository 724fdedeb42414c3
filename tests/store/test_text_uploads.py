"""Uploaded files are read as intended, the page says how, and unusable ones are rejected."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertexplorer.answers.vectors import LabelledLine
from bertexplorer.core.row_uploads import RowUploads
from bertexplorer.errors import ExplorerError
from bertexplorer.store import parsing, text_uploads
from bertexplorer.store.text_uploads import MAX_UPLOADS, TextUploads, parse_lines

EVIL = "</script><img src=x onerror=1>"


@pytest.mark.parametrize(
    ("content", "name", "lines", "message"),
    [
        (
            b"one\ntwo\n\n three \n",
            "a.txt",
            ["one", "two", "three"],
            "3 lines from a.txt: UTF-8, a line each; 1 empty line",
        ),
        (b"one, two; three\tfour", "a.txt", ["one, two; three\tfour"], "1 line from a.txt"),
        (b"one\r\ntwo\rthree", "A.TXT", ["one", "two", "three"], "3 lines"),
        ("é日".encode("utf-8-sig"), "a.txt", ["é日"], "UTF-8"),
        ("é日\nb".encode("utf-16"), "a.txt", ["é日", "b"], "UTF-16"),
        ("naïve café".encode("latin-1"), "a.txt", ["naïve café"], "Latin-1"),
        (b'id,text\n1,a cat\n2,"b, c"\n', "a.csv", ["a cat", "b, c"], "commas, text in “text”, with a header"),
        (b"nr;review\n1;a cat, here\n2;a dog\n", "a.csv", ["a cat, here", "a dog"], "semicolons, text in “review”"),
        (
            b"1;a cat, here\n2;a dog; there\n",
            "a.csv",
            ["a cat, here", "a dog"],
            "semicolons, text in column 2 of 3, no",
        ),
        (
            b"a cat is here\tx\na dog\ty\n",
            "a.tsv",
            ["a cat is here", "a dog"],
            "tabs, text in column 1 of 2, no header",
        ),
        (b"Sentence\na cat\n", "a.csv", ["a cat"], "one column, text in “sentence”, with a header"),
        (b"a cat\na dog\n", "a.csv", ["a cat", "a dog"], "one column"),
        (b'text\n"two\nlines"\n', "a.csv", ["two\nlines"], "1 line"),
        (b"\n\nid,words\n7,a cat\n\n", "a.csv", ["a cat"], "text in “words”, with a header; 3 empty lines dropped"),
        ("idée;texte long\n1;l’été\n".encode("cp1252"), "a.csv", ["l’été"], "Latin-1, semicolons"),
        (EVIL.encode(), "x.txt", [EVIL], "1 line"),
        (
            b'{"_id": "7", "title": "Pets", "text": "a cat"}\n\n{"_id": "8", "text": " a dog "}\n',
            "corpus.jsonl",
            ["a cat", "a dog"],
            "2 lines from corpus.jsonl: UTF-8, JSON, one object per line, text in “text”.",
        ),
        (
            b'{"query": "pets", "passage": "a cat is a pet"}\n[1]\n{"query": "x", "passage": null}\n',
            "a.NDJSON",
            ["a cat is a pet"],
            "text in “passage”; 1 row left out (line 2: is a list, not an object in {braces}); 1 empty line dropped",
        ),
    ],
)
def test_valid_files_are_accepted(content: bytes, name: str, lines: list[str], message: str) -> None:
    result = parse_lines(content, name)
    assert [line.text for line in result.lines] == lines and message in result.summary and result.summary.endswith(".")


def test_labels_are_read_from_their_column() -> None:
    result = parse_lines(b"Label,Text\nx,a cat\n,a dog\n", "a.csv")
    assert result.lines == (LabelledLine("a cat", "x"), LabelledLine("a dog"))
    assert "text in “text”, labels in “label”, with a header" in result.summary
    assert parse_lines(b"label\na cat\n", "a.csv").lines == (LabelledLine("a cat"),)
    result = parse_lines(b'{"Text": "a cat", "Label": "x"}\n\n{"Text": "a dog"}\n', "a.jsonl")
    assert result.lines == (LabelledLine("a cat", "x", 1), LabelledLine("a dog", "", 3))


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "a.txt", "a.txt contains no text"),
        (b" \n\t\n", "a.txt", "contains no text"),
        (b"", "a.csv", "contains no text"),
        (b",,,\n,,\n", "a.csv", "contains no text"),
        (b"text,label\n", "a.csv", "contains no text"),
        (b"a\0b", "a.txt", "is not text: it contains"),
        ("a cat".encode("utf-16-le"), "a.txt", "is not text"),
        (bytes(range(256)) * 20, "a.csv", "is not text"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(1, 9)) * 50, "a.txt", "is not text"),
        (b"a", "a.xlsx", r"a.xlsx is not a .csv, .tsv, .jsonl, .ndjson or .txt file"),
        (b"[1]\n2\n", "a.jsonl", "no object on a line: line 1 is a list, not an object"),
        (b'{"text": [1]}\n', "a.jsonl", "contains no text"),
        (b'{"text": "a"}\n' * 10_001, "a.jsonl", "more than 10,000 lines, which is the limit"),
        (b"a", "", "The file is not a .csv"),
        (b"a\n" * 10_001, "a.txt", "more than 10,000 lines, which is the limit"),
        (b"text\n" + b"a\n" * 10_001, "a.csv", "more than 10,000 lines, which is the limit"),
        (b"a" * 25_000_001, "a.txt", r"25.0 MB; the limit is 25"),
        (
            b'text,label\n"' + b"a" * 200_000 + b'",x\n',
            "a.csv",
            r"no row of text; 1 row left out \(line 2: a cell of more",
        ),
    ],
)
def test_invalid_files_are_rejected(content: bytes, name: str, message: str) -> None:
    with pytest.raises(ExplorerError, match=message) as caught:
        parse_lines(content, name)
    assert len(str(caught.value)) < 300 and str(caught.value).endswith(".")


def test_the_key_depends_on_the_content(tmp_path: Path) -> None:
    store = TextUploads(tmp_path / "lines")
    key, summary = store.save("label,text\nx,é 日\n".encode(), "a.csv")
    assert TextUploads(tmp_path / "lines").load(key) == parse_lines("label,text\nx,é 日\n".encode(), "a.csv")
    assert summary == TextUploads(tmp_path / "lines").load(key).summary
    assert store.save("label,text\nx,é 日\n".encode(), "b.csv")[0] == key
    assert store.save("label,text\nx,é 日\n".encode(), "a.txt")[0] != key
    assert [file.suffix for file in (tmp_path / "lines").iterdir()] == [".json", ".json"]


def test_only_the_newest_uploads_are_kept(tmp_path: Path) -> None:
    store = TextUploads(tmp_path)
    keys = []
    for i in range(MAX_UPLOADS + 2):
        keys.append(store.save(f"line {i}".encode(), "a.txt")[0])
        os.utime(tmp_path / f"{keys[-1]}.json", (i + 1, i + 1))
    store.save(b"last", "a.txt")
    assert len(list(tmp_path.glob("*.json"))) == MAX_UPLOADS
    assert store.load(keys[-1]).lines == (LabelledLine(f"line {MAX_UPLOADS + 1}"),)
    with pytest.raises(ExplorerError, match="Upload the file again"):
        store.load(keys[0])


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "f" * 24, "F" * 24, "a" * 10_000, "\0"])
def test_invalid_keys_are_rejected(key: str, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="no uploaded lines"):
        TextUploads(tmp_path).load(key)


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="cannot be saved on the server: Not a directory. Make room there"):
        TextUploads(tmp_path / "file" / "lines").save(b"a", "a.txt")


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b"text\nHello, world is big and round\nNo comma\n", ["Hello, world is big and round", "No comma"]),
        (b"Hello, world is big\nNo comma here\n", ["Hello, world is big", "No comma here"]),
    ],
)
def test_commas_within_sentences_do_not_split_them(content: bytes, texts: list[str]) -> None:
    assert [line.text for line in parse_lines(content, "a.csv").lines] == texts


def test_an_odd_row_costs_no_other_row() -> None:
    result = parse_lines(b"text,label\nA b,x\nB, c,y\nD,z\n", "a.csv")
    assert [(line.text, line.label) for line in result.lines] == [("A b", "x"), ("D", "z")]
    assert "; 1 row with more cells than the first row left out (“B  c y”)" in result.summary
    # csv.reader would take the rest of the file for one cell.
    result = parse_lines(b'text,label\nA cat,x\n"A dog,y\nA cow,z\n', "a.csv")
    assert result.lines == (LabelledLine("A cat", "x"), LabelledLine("A cow", "z"))
    assert "; 1 row left out (line 3: a quote opens here and is never closed)" in result.summary
    unnamed = parse_lines(b'tweet,stars\nA cat,1\n"No" she said,1\nA cow,2\n', "a.csv")
    assert [line.text for line in unnamed.lines] == ["A cat", "A cow"] and "line 3: there is text" in unnamed.summary


def test_delimiters_and_ends_of_lines_are_those_of_the_file() -> None:
    result = parse_lines(b"sep=;\ntext;label\nOne, two.;a\nThree, four.;b\n", "a.csv")
    assert [(line.text, line.label) for line in result.lines] == [("One, two.", "a"), ("Three, four.", "b")]
    assert "semicolons" in result.summary and "dropped" not in result.summary
    result = parse_lines(b'text\tlabel\n"Yes," he said\tx\nNo\ty\n', "a.tsv")
    assert result.lines == (LabelledLine('"Yes," he said', "x"), LabelledLine("No", "y"))
    text = "One line, with a separator\u2028in it\nAnother\n"
    assert [line.text for line in parse_lines(text.encode(), "a.csv").lines] == text.split("\n")[:2]


@pytest.mark.parametrize("header", ["", "text\n"])
@pytest.mark.parametrize("sentence", ['"I know," she said.', '"A quote, never closed', 'He said "no", and left.'])
def test_quotes_of_sentences_stay_in_them(sentence: str, header: str) -> None:
    content = f'{header}{sentence}\nA cat sat here.\n"A dog ran off."\n'.encode()
    texts = [line.text for line in parse_lines(content, "a.csv").lines]
    assert texts[:2] == [sentence, "A cat sat here."] and texts[2].strip('"') == "A dog ran off."


def test_many_broken_rows_take_no_longer_each() -> None:
    def seconds(rows: int) -> float:
        content = b"text,label\n" + b'"No" she said,x\n' * rows + b"A cat,y\n"
        begun = time.process_time()
        assert parse_lines(content, "a.csv").lines == (LabelledLine("A cat", "y"),)
        return time.process_time() - begun

    assert seconds(32_000) < 24 * seconds(4_000)  # 8 times the rows; 64 where each row costs more than the one before


def test_a_large_file_is_parsed_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is that of a small file; here, a file of three bytes counts as large."""
    monkeypatch.setattr(text_uploads, "LARGE_BYTES", 2)
    monkeypatch.setattr(text_uploads, "parse_lines", lambda *given: pytest.fail("parsed in this process"))
    store = TextUploads(tmp_path)
    key, summary = store.save("label,text\nx,é 日\n".encode(), "a.csv")
    assert store.load(key).lines == (LabelledLine("é 日", "x"),) and summary.startswith(
        "1 line from a.csv: UTF-8, commas"
    )
    with pytest.raises(ExplorerError, match="b.txt contains no text"):
        store.save(b"\n\n\n", "b.txt")
    assert [file.name for file in tmp_path.iterdir()] == [f"{key}.json"]


def test_a_file_that_takes_too_much_memory_is_refused(tmp_path: Path) -> None:
    """3 MB that would become 700 MB of lists."""
    with pytest.raises(ExplorerError, match="a.json cannot be used: reading it needed more than 600 MB of memory"):
        RowUploads(tmp_path).save(b"[" + b"[{}]," * 2_500_000 + b"[]]", "a.json")


def test_reading_stops_at_the_limits() -> None:
    def lines() -> Iterator[str]:
        yield from ["a\n"] * 10_001
        pytest.fail("read on beyond the limit")

    with pytest.raises(ExplorerError, match="a.txt has more than 10,000 lines"):
        text_uploads.check_count(lines(), "a.txt", 10_000)
    assert len(parse_lines(b"text\n" + b"a cat\n" * 10_000, "a.csv").lines) == 10_000
    with pytest.raises(ExplorerError, match="1,001 rows of 10,001 cells; wanted 5,000,000"):
        parse_lines(b"text;" + b";" * 9_999 + b"\n" + b"a;b\n" * 1_000, "a.csv")
    with pytest.raises(ExplorerError, match=r"^a\.csv: More than 200 rows have quotes that are not closed"):
        parse_lines(b"text,label\n" + b'"No,x\n' * 300, "a.csv")


def test_a_table_of_a_large_file_is_that_of_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("text,label\na,x\nb\nc,y\n")
    table = parsing.read_table(file)
    monkeypatch.setattr(parsing, "LARGE_BYTES", 2)
    assert parsing.read_table(file) == table and len(table.rows) == 2 and len(table.problems) == 1


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.csv", b"text,label\nOne two.,x\n\nThree four.,y\n", [2, 4]),
        ("a.txt", b"One two.\n\n\nThree four.\n", [1, 4]),
        ("a.csv", b"One two. It is, so.\nThree four.\n\nAnd, then, five.\n", [1, 2, 4]),
        ("a.csv", b'sep=;\ntext;label\n"One\ntwo.";x\nThree four.;y\n', [3, 5]),
    ],
)
def test_lines_are_numbered_as_in_their_file(name: str, content: bytes, lines: list[int]) -> None:
    assert [line.line for line in parse_lines(content, name).lines] == lines
