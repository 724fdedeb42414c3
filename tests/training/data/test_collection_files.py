"""Test collections as they are published: which of the files are taken, ZIPs that are broken or hostile."""

import json
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

import bertexplorer as bx
from bertexplorer.core.row_uploads import RowUploads, parse_rows
from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.collection_files import choose, read_folder, read_zip
from bertexplorer.training.data.decode import MAX_BYTES

BEIR = {
    "tiny/queries.jsonl": '{"_id": "q1", "text": "who sleeps"}\n{"_id": "q2", "text": "who barks"}',
    "tiny/corpus.jsonl": "\n".join(
        json.dumps({"_id": name, "title": "", "text": text})
        for name, text in (("a", "The cat sleeps."), ("b", "The dog barks."), ("c", "The sun shines."))
    ),
    "tiny/qrels/train.tsv": "query-id\tcorpus-id\tscore\nq2\tc\t1",
    "tiny/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t2",
}
WANTED = [("who sleeps", "The cat sleeps.", "1"), ("who barks", "The dog barks.", "2"), ("", "The sun shines.", "0")]


def zipped(files: dict[str, str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def cells(rows: object) -> list[tuple[str, ...]]:
    return [tuple(row.cells.values()) for row in rows]  # type: ignore[attr-defined]


def test_a_folder_and_a_zip_of_beir_are_the_same_rows(tmp_path: Path) -> None:
    for name, content in BEIR.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    rows, summary = read_folder(tmp_path / "tiny")
    assert cells(rows) == WANTED and "test.tsv" in summary
    assert cells(read_zip(zipped(BEIR), "tiny.zip")[0]) == WANTED


def test_a_collection_is_searched_from_its_zip(tmp_path: Path) -> None:
    packed = tmp_path / "tiny.zip"
    packed.write_bytes(zipped(BEIR))
    result = bx.not_found(rows=packed)
    assert [row["query"] for row in result.rows] == ["who sleeps", "who barks"]
    assert len(result.value.collection.passages) == 3


def test_an_uploaded_zip_is_kept_as_rows(tmp_path: Path) -> None:
    uploads = RowUploads(tmp_path)
    key, summary = uploads.save(zipped(BEIR), "tiny.zip")
    assert "3 rows from queries.jsonl, corpus.jsonl, test.tsv" in summary
    assert [tuple(row.values()) for _, row in uploads.load(key).rows] == WANTED


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (
            ["collection.tsv", "queries.dev.tsv", "queries.train.tsv", "qrels.dev.tsv"],
            ["queries.dev.tsv", "qrels.dev.tsv"],
        ),
        (["docs.txt", "topics.txt", "__MACOSX/qrels.txt", "qrels.txt"], ["topics.txt", "qrels.txt"]),
        (["corpus.jsonl", "queries.jsonl", "qrels/dev.tsv", "qrels/test.tsv"], ["queries.jsonl", "qrels/test.tsv"]),
    ],
)
def test_files_are_chosen_by_name(names: list[str], chosen: list[str]) -> None:
    parts = choose(names, "x")
    assert [parts["queries"], parts["judgements"]] == chosen


def encrypted() -> bytes:
    """With the flag of an encrypted file, which zipfile cannot write."""
    content = bytearray(zipped(BEIR))
    at = content.find(b"PK\x01\x02")
    while at >= 0:
        content[at + 8] |= 1
        at = content.find(b"PK\x01\x02", at + 1)
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04 broken", "cannot be unpacked"),
        (zipped(BEIR)[:-30], "cannot be unpacked"),
        (zipped({"a.txt": "x"}), "no file for the queries, documents, judgements"),
        (zipped({**BEIR, "tiny/corpus.jsonl": "x" * (MAX_BYTES + 1)}), "the limit is 25"),
        (zipped(BEIR, zipfile.ZIP_LZMA), "its compression is not read"),
        (encrypted(), "cannot be unpacked"),
        (zipped({**BEIR, "tiny/qrels/test.tsv": "query-id\tcorpus-id\tscore\nx\ty\t1"}), "No judgement names"),
    ],
)
def test_a_zip_that_cannot_be_read_gets_a_sentence(content: bytes, said: str) -> None:
    with pytest.raises(ExplorerError, match=said):
        parse_rows(content, "tiny.zip")


def test_a_collection_with_too_many_rows_is_refused() -> None:
    with pytest.raises(ExplorerError, match="3 rows; the limit is 2"):
        parse_rows(zipped(BEIR), "tiny.zip", max_rows=2)
