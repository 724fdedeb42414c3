"""Any bytes under any name give a table with ascending lines or an ExplorerError, never another error."""

import csv
import io
import json
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings, strategies as st

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.checks import row_findings
from bertexplorer.training.data.guess import guess_columns
from bertexplorer.training.data.read import read

SIGNS = st.sampled_from(
    list('ab7é日 ,;\t|"\n\r\\{}[]:.=#OB-\x1f\ufeff') + ["\r\n", "\n\n", '""', "text", "label", "null", "NaN"]
)
TEXTS = st.lists(SIGNS, max_size=60).map("".join)
CONTENT = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda text, codec: text.encode(codec, "replace"), TEXTS, st.sampled_from(["utf-8", "utf-16", "latin-1"])
    ),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | TEXTS,
        lambda inside: st.lists(inside, max_size=4) | st.dictionaries(TEXTS, inside, max_size=4),
        max_leaves=20,
    ).map(lambda value: json.dumps(value).encode()),
)
SUFFIXES = ["csv", "tsv", "txt", "json", "jsonl", "conll", "label", "dat", ""]
NAMES = st.sampled_from([f"a.{suffix}" for suffix in SUFFIXES] + ["", "\0", "\ud800.csv", "a"])


@dataclass(frozen=True)
class Column:
    name: str
    label: str
    kind: str
    optional: bool = False


WANTED = [Column("text", "Text", "text"), Column("label", "Label", "label"), Column("score", "Score", "number")]


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(CONTENT, NAMES, st.sampled_from(["", ",", "\t", "a", "\n"]), st.sampled_from([None, True, False]))
@example(b'"a\n"', "a.csv", "", None)
@example(b"\xff\xfe", "a.csv", "", None)
@example(b"[{},{}]", "a.json", "", None)
def test_any_bytes_give_a_table_or_an_error(content: bytes, name: str, delimiter: str, header: bool | None) -> None:
    try:
        table = read(content, name, delimiter=delimiter, header=header)
    except ExplorerError as error:
        assert 10 < len(str(error)) < 700 and "\0" not in str(error)
        str(error).encode()
        return
    lines = [row.line for row in table.rows]
    assert len(lines) >= 2 and lines == sorted(set(lines)) and lines[0] >= 1
    assert all(set(row.cells) == set(table.columns) for row in table.rows)
    assert not {problem.line for problem in table.problems} & set(lines)
    json.dumps([row.cells for row in table.rows], ensure_ascii=False, allow_nan=False).encode()
    result = guess_columns(table, WANTED)
    assert set(result.values()) <= set(table.columns) and len(set(result.values())) == len(result)
    row_findings(table.rows, [], table.columns, table.columns[0])


CELLS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff") | st.just("\n"), max_size=20
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=2, max_size=8), st.sampled_from(",;\t|"))
def test_written_tables_are_read_back(rows: list[tuple[str, ...]], sign: str) -> None:
    """Written by the csv module with every cell in quotes, and read with the given delimiter."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sign, quoting=csv.QUOTE_ALL)
    writer.writerows([("one", "two", "three"), *rows])
    nonempty = [row for row in rows if any(row)]
    try:
        table = read(out.getvalue().encode(), "a.csv", delimiter=sign, header=True)
    except ExplorerError:
        assert len(nonempty) < 2
        return
    assert [tuple(row.cells.values()) for row in table.rows] == nonempty and not table.problems
    starts = [2 + sum(sum(cell.count("\n") for cell in r) + 1 for r in rows[:i]) for i in range(len(rows))]
    assert [row.line for row in table.rows] == [n for n, row in zip(starts, rows, strict=True) if any(row)]
