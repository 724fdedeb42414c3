"""LM_syneval's pickles are read unchanged, and no code in them is run."""

import os
import pickle
from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.store import text_uploads
from bertexplorer.store.syneval import syneval
from bertexplorer.views.rows import UNREAD
from bertexplorer.views.suite.cases import cases

AGREEMENT = {
    "sing": [("the author laughs", "the author laugh"), ["the cat sleeps", "the cat sleep"]],
    "plur": [("the authors laugh", "the authors laughs")],
}
POLARITY = {"npi": [("no author has ever smiled", "most authors have ever smiled", "the authors have ever smiled")]}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("held", [AGREEMENT, POLARITY])
def test_each_first_sentence_is_paired_with_the_others(held: dict[str, list[list[str]]], protocol: int) -> None:
    wanted = [
        {"good": f"{good} .", "bad": f"{bad} .", "category": category}
        for category, groups in held.items()
        for good, *others in groups
        for bad in others
    ]
    assert list(syneval(pickle.dumps(held, protocol), "a.pickle")) == wanted


def test_the_files_of_python_2_are_read() -> None:
    """Protocol 2 as Python 2 wrote it: byte strings, which are Latin-1."""
    content = b"\x80\x02}q\x00U\x04singq\x01]q\x02U\x01aU\x01b\x86q\x03as."
    assert list(syneval(content, "a.pickle")) == [{"good": "a .", "bad": "b .", "category": "sing"}]


def test_the_file_becomes_a_suite_of_minimal_pairs() -> None:
    result = text_uploads.parse_rows(pickle.dumps(AGREEMENT), "simple_agrmt.pickle")
    kind, pairs, unusable = cases(result.rows)
    assert (kind, len(pairs), unusable) == ("minimal pairs", 3, [])
    assert [item.category for item in pairs] == ["sing", "sing", "plur"] and [item.line for item in pairs] == [1, 2, 3]
    assert result.summary.startswith("3 rows from simple_agrmt.pickle: the format of LM_syneval")
    groups = {"sing": [("a cat sleeps", "a cat sleep"), ("alone",), ("one", ["two"])], "plur": "text"}
    result = text_uploads.parse_rows(pickle.dumps(groups), "a.pkl")
    _, pairs, unusable = cases(result.rows)
    assert len(pairs) == 1 and [(row.line, row.what) for row in unusable] == [
        (2, "of sing is not two or more sentences"),
        (3, "of sing is not two or more sentences"),
        (4, "of plur is not a list"),
    ]
    # Ten categories that share one list: 10,000 rows of some bytes.
    shared = [("a cat sleeps", "a cat sleep")] * 1000
    result = text_uploads.parse_rows(pickle.dumps({str(i): shared for i in range(10)}), "a.pickle", max_rows=5000)
    assert len(result.rows) == 5001
    assert result.rows[-1] == (5001, {UNREAD: "and the rows after it are beyond the limit of 5,000 rows"})


class Runs:
    """An object that calls a function when its pickle is loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return os.mkdir, (str(self.target), 0o700)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_code_in_a_pickle_runs(tmp_path: Path, protocol: int) -> None:
    content = pickle.dumps({"sing": [("a", Runs(tmp_path / "ran"))]}, protocol)
    with pytest.raises(ExplorerError, match="cannot be read as a file of LM_syneval: it contains"):
        syneval(content, "a.pickle")
    assert not (tmp_path / "ran").exists()
    pickle.loads(content)  # the same file, loaded without protection
    assert (tmp_path / "ran").is_dir()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "not enough data|exhausted"),
        (pickle.dumps(AGREEMENT)[:-9], "exhausted|expected|not enough"),
        (pickle.dumps(["a", "b"]), "it is not a dictionary"),
        (pickle.dumps({"a": 1}), "it contains BININT1"),
        (pickle.dumps({("a", "b"): []}), "a key in it is not a string"),
        (b"}" + b")\x85" * 100_000 + b"Ns.", "it contains NONE"),
        (b"})" + b"\x85" * 100_000 + b"(ls.", "a key in it is not a string"),
        (b"\x80\x04\x96" + (2**40).to_bytes(8, "little") + b".", "expected|bytes"),
        (b"\x80\x04}r\xff\xff\xff\x7fh\x01.", "it is damaged"),
        (b"\x85.", "it is damaged"),
        (b"u.", "it is damaged"),
        (b")(U\x01ae.", "it is damaged"),
        (b"}}.", "it is damaged|values"),
    ],
)
def test_a_broken_file_is_rejected(content: bytes, what: str) -> None:
    with pytest.raises(ExplorerError, match=f"cannot be read as a file of LM_syneval: .*({what})"):
        text_uploads.parse_rows(content, "a.pickle")


def test_a_long_file_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertexplorer.store.syneval.MAX_OPCODES", 10)
    with pytest.raises(ExplorerError, match="more than 10 opcodes"):
        syneval(pickle.dumps(AGREEMENT), "a.pickle")
    monkeypatch.setattr("bertexplorer.store.syneval.MAX_BYTES", 10)
    with pytest.raises(ExplorerError, match="bytes, the limit is 10"):
        syneval(pickle.dumps(AGREEMENT), "a.pickle")


def test_one_long_sentence_that_is_named_many_times_is_refused() -> None:
    """220 kB that would become 2 GB of rows."""
    sentence = "a" * 20_000
    content = pickle.dumps({"simple": [[sentence, sentence]] * 50_000})
    assert len(content) < 250_000
    with pytest.raises(ExplorerError, match="more than 50,000,000 characters"):
        list(syneval(content, "a.pickle"))


def test_an_upload_of_a_pickle_is_refused_with_the_ways_that_read_it(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=r"as bx.suite\(rows=.a.pkl.\).* suite --rows a.pkl"):
        text_uploads.RowUploads(tmp_path).save(pickle.dumps(AGREEMENT), "a.pkl")
