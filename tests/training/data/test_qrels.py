"""Test collections: formats, the query of a judgement, candidates, the split by query."""

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data import qrels
from tests.conftest import ROOT

CRANFIELD = ROOT.parent / "shared" / "data" / "cranfield"
QUERIES = ".I 001\n.W\nwhat flies\nfast .\n.I 004\n.W\nwhat swims .\n"
DOCUMENTS = ".I 1\n.T\nbirds\n.A\nme\n.W\na bird flies .\n.I 2\n.T\nfish\n.W\nfish\n.I 3\n.T\nonly a title\n.W\n"
JUDGED = "1 1 1\n2 2 4\n1 2 -1\n\n"


def cells(*arguments: str, **more: int) -> list[tuple[int, str, str, str]]:
    return [(row.line, *row.cells.values()) for row in qrels.collection_rows(*arguments, **more)]


def test_cranfield_is_read() -> None:
    """Queries are numbered in order, regardless of .I; code 1 is the best; documents without a judgement remain
    searchable."""
    assert cells(QUERIES, DOCUMENTS, JUDGED) == [
        (1, "what flies fast .", "a bird flies .", "4"),
        (2, "what swims .", "fish", "1"),
        (3, "what flies fast .", "fish", "0"),
        (0, "", "only a title", "0"),
    ]


def test_trec_and_tab_separated_files_are_read() -> None:
    result = cells("q7\twhat swims\n", "d1\tfish\nd2\tbirds\n", "q7 0 d1 3\nq7 0 d2 0\nq9 0 d1 1\n")
    assert [line[1:] for line in result] == [("what swims", "fish", "3"), ("what swims", "birds", "0")]


def test_beir_is_read() -> None:
    documents = '{"_id": "a", "title": "Fish", "text": "they swim"}\n{"_id": "b", "text": "birds"}\n'
    assert cells('{"_id": "1", "text": "who swims"}', documents, "1 0 a 1") == [
        (1, "who swims", "Fish they swim", "1"),
        (0, "", "birds", "0"),
    ]


def test_judgements_of_beir_are_grades() -> None:
    """Below BEIR's header, three fields hold a grade, and higher is better; without, it could be Cranfield's code."""
    documents = "".join(f'{{"_id": "{key}", "title": null, "text": "{key}"}}\n' for key in "abc")
    judged = "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t1\n1\tc\t0\n"
    query = '{"_id": "1", "text": "who swims"}'
    assert cells(query, documents, judged) == [
        (2, "who swims", "a", "2"),
        (3, "who swims", "b", "1"),
        (4, "who swims", "c", "0"),
    ]
    with pytest.raises(ExplorerError, match="Line 1 of the judgements has three fields.*query-id corpus-id score"):
        cells(query, documents, "1 a 2\n1 b 1\n1 c 0\n")
    with pytest.raises(ExplorerError, match="Line 2 of the judgements"):
        cells(query, documents, "1 0 a 2\nquery-id corpus-id score\n")


def test_candidates_are_the_unjudged_passages_of_bm25() -> None:
    documents = "a\tred fish\nb\tred red fish swim\nc\tblue\nd\tfish\n"
    result = cells("1\tred fish\n", documents, "1 0 a 1", candidates=2)
    assert result == [
        (1, "red fish", "red fish", "1"),
        (0, "red fish", "red red fish swim", "0"),
        (0, "red fish", "fish", "0"),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no tab here", "d\tx", "1 0 d 1"), "Line 1 of the queries"),
        (('{"_id": 1}', "d\tx", "1 0 d 1"), "an object with _id and text"),
        (("1\ta", "d\tx", "1 d"), "Line 1 of the judgements"),
        (("1\ta", "d\tx", "\n1 0 d high"), "Line 2 of the judgements"),
        (("1\ta", "d\tx", "5 0 e 1"), "No judgement names"),
        (("1\ta", "d\tx", ""), "No judgement names"),
    ],
)
def test_invalid_files_are_rejected(arguments: tuple[str, str, str], message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        qrels.collection_rows(*arguments)


@pytest.mark.shared
def test_the_published_cranfield_is_read() -> None:
    texts = [(CRANFIELD / name).read_text("latin-1") for name in ("cran.qry", "cran.all.1400", "cranqrel")]
    rows = qrels.collection_rows(*texts)
    assert len({row.cells["query"] for row in rows}) == 226
    assert len({row.cells["passage"] for row in rows}) == pytest.approx(1400, abs=5)  # nearly all of its 1,400
    first = rows[0]
    assert first.cells["query"].startswith("what similarity laws") and "aeroelastic" in first.cells["passage"]
