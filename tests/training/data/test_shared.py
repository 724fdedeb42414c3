"""The published data sets are read completely from their original files."""

from pathlib import Path

import pytest

from bertexplorer.training.data.guess import guess_columns
from bertexplorer.training.data.read import read
from tests.conftest import ROOT
from tests.training.data.test_guess import LABEL, PAIR, QA, SCORE, TEXT, Column

DATA = ROOT.parent / "shared" / "data"
TAGGING = (Column("tokens", "Tokens", "tokens"), Column("tags", "Tags", "tags"))
FILES = [  # file, number of rows, required fields, and their columns
    ("sst2/train.tsv", 67_349, (TEXT, LABEL), ["sentence", "label"]),
    ("sst2/dev.tsv", 872, (TEXT, LABEL), ["sentence", "label"]),
    ("stsb/stsb-en-train.csv", 5_749, (*PAIR, SCORE), ["column 1", "column 2", "column 3"]),
    ("stsb/stsb-en-dev.csv", 1_500, (*PAIR, SCORE), ["column 1", "column 2", "column 3"]),
    ("wnut17/wnut17train.conll", 3_394, TAGGING, ["tokens", "tags"]),
    ("wnut17/emerging.dev.conll", 1_009, TAGGING, ["tokens", "tags"]),
    ("squad-format/xquad.en.json", 1_190, QA[:3], ["question", "context", "answers"]),
    ("squad-format/squad-dev-subset.json", 1_062, QA[:3], ["question", "context", "answers"]),
    ("squad-format/dev-context-en-question-en.json", 1_148, QA[:3], ["question", "context", "answers"]),
    ("qnli/dev.tsv", 5_463, (*PAIR, LABEL), ["question", "sentence", "label"]),
    ("rte/train.tsv", 2_490, (*PAIR, LABEL), ["sentence1", "sentence2", "label"]),
    ("rte/dev.tsv", 277, (*PAIR, LABEL), ["sentence1", "sentence2", "label"]),
    ("cola/in_domain_train.tsv", 8_551, (TEXT, LABEL), ["column 4", "column 2"]),
    ("cola/in_domain_dev.tsv", 527, (TEXT, LABEL), ["column 4", "column 2"]),
    ("cola/out_of_domain_dev.tsv", 516, (TEXT, LABEL), ["column 4", "column 2"]),
    ("trec-qc/train_5500.label", 5_452, (TEXT, LABEL), ["text", "label"]),
]


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(("file", "count", "columns", "result"), FILES, ids=[file for file, *_ in FILES])
def test_a_published_file_is_read_completely(
    file: str, count: int, columns: tuple[Column, ...], result: list[str]
) -> None:
    table = read(Path(DATA / file).read_bytes(), file, max_rows=100_000)
    assert len(table.rows) == count and not table.problems and not table.left_out
    chosen = guess_columns(table, columns)
    assert [chosen[column.name] for column in columns] == result
    for row in table.rows:
        for answer in row.cells.get("answers", []):
            assert row.cells["context"][answer["start"] :].startswith(answer["text"])
    if file.endswith(".tsv"):  # each line of the file, split only at its tabs
        lines = (DATA / file).read_text("utf-8").split("\n")
        assert all(lines[row.line - 1].split("\t") == list(row.cells.values()) for row in table.rows)


@pytest.mark.shared
def test_the_tags_of_wnut_equal_those_of_its_description() -> None:
    table = read((DATA / "wnut17/wnut17train.conll").read_bytes(), "a.conll")
    kinds = {tag[2:] for row in table.rows for tag in row.cells["tags"] if tag != "O"}
    assert kinds == {"person", "location", "group", "creative-work", "corporation", "product"}
    assert sum(len(row.cells["tokens"]) for row in table.rows) == 62_730
