"""The index finds the same neighbours as numpy, also after it was closed and reopened, and reports what blocks it."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.store.index import MAX_COLLECTIONS, Index
from tests.tolerance import of_sum

RANDOM = np.random.default_rng(0).normal(size=(700, 24)).astype(np.float32)
PAYLOADS = [{"line": i, "text": f"<b>{i}</b>"} for i in range(len(RANDOM))]


def check(index: Index) -> None:
    ones = RANDOM / np.linalg.norm(RANDOM, axis=1, keepdims=True)
    for query in (RANDOM[3], -RANDOM[600], np.ones(24)):
        scores = ones @ (query / np.linalg.norm(query))
        wanted = np.argsort(-scores)[:20]
        result = index.query("a", query, 20)
        assert [payload["line"] for _, payload in result] == wanted.tolist()
        assert [score for score, _ in result] == pytest.approx(scores[wanted], abs=of_sum(24))
        assert result[0][1]["text"] == f"<b>{wanted[0]}</b>"


def test_a_reopened_index_finds_the_neighbours_of_numpy(tmp_path: Path) -> None:
    index = Index(tmp_path / "index")
    assert index.count("a") == 0
    index.upsert("a", RANDOM, PAYLOADS)
    assert index.count("a") == 700
    check(index)
    reopened = Index(tmp_path / "index")
    check(reopened)
    reopened.upsert("a", RANDOM, PAYLOADS)
    assert reopened.count("a") == 700


def test_the_oldest_collections_are_deleted(tmp_path: Path) -> None:
    index = Index(tmp_path)
    for i in range(MAX_COLLECTIONS + 2):
        index.upsert(f"c{i}", RANDOM[:3], PAYLOADS[:3])
    assert [index.count(f"c{i}") for i in range(MAX_COLLECTIONS + 2)] == [0, 0] + [3] * MAX_COLLECTIONS


def test_many_threads_share_an_index(tmp_path: Path) -> None:
    index, errors = Index(tmp_path), []

    def work(number: int) -> None:
        try:
            for _ in range(3):
                index.upsert("a", RANDOM, PAYLOADS) if number % 2 else index.count("a")
                if index.count("a") == 700:
                    assert index.query("a", RANDOM[number], 1)[0][1]["line"] == number
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    check(index)


def test_two_processes_share_an_index(tmp_path: Path) -> None:
    Index(tmp_path).upsert("a", RANDOM, PAYLOADS)
    other = Index(tmp_path)
    check(other)
    other.upsert("b", RANDOM[:5], PAYLOADS[:5])
    assert Index(tmp_path).count("b") == 5


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:1000], lambda data: b"x" * 500])
def test_a_damaged_file_is_rebuilt(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    index = Index(tmp_path)
    index.upsert("a", RANDOM, PAYLOADS)
    (tmp_path / "a.npz").write_bytes(damage((tmp_path / "a.npz").read_bytes()))
    assert index.count("a") == 0 and index.query("a", RANDOM[0], 3) == []
    index.upsert("a", RANDOM, PAYLOADS)
    check(index)


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match=r"cannot be written to .*file: .*BERTEXPLORER_DATA"):
        Index(tmp_path / "file").upsert("a", RANDOM[:2], PAYLOADS[:2])
    assert Index(tmp_path / "file").count("a") == 0
