"""The index finds what numpy finds, after it was closed and opened again too, and says what is in its way."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.store.index import KEPT, Index
from tests.tolerance import of_sum

RANDOM = np.random.default_rng(0).normal(size=(700, 24)).astype(np.float32)
PAYLOADS = [{"line": i, "text": f"<b>{i}</b>"} for i in range(len(RANDOM))]


def check(index: Index) -> None:
    ones = RANDOM / np.linalg.norm(RANDOM, axis=1, keepdims=True)
    for query in (RANDOM[3], -RANDOM[600], np.ones(24)):
        scores = ones @ (query / np.linalg.norm(query))
        wanted = np.argsort(-scores)[:20]
        found = index.query("a", query, 20)
        assert [payload["line"] for _, payload in found] == wanted.tolist()
        assert [score for score, _ in found] == pytest.approx(scores[wanted], abs=of_sum(24))
        assert found[0][1]["text"] == f"<b>{wanted[0]}</b>"


def test_the_nearest_as_numpy_finds_them_after_opening_again(tmp_path: Path) -> None:
    index = Index(tmp_path / "index")
    assert index.count("a") == 0
    index.upsert("a", RANDOM, PAYLOADS)
    assert index.count("a") == 700
    check(index)
    index.close()
    again = Index(tmp_path / "index")
    check(again)
    again.upsert("a", RANDOM, PAYLOADS)
    assert again.count("a") == 700
    again.close()


def test_in_memory() -> None:
    index = Index()
    index.upsert("a", RANDOM, PAYLOADS)
    check(index)


def test_the_oldest_collections_go(tmp_path: Path) -> None:
    index = Index(tmp_path)
    for i in range(KEPT + 2):
        index.upsert(f"c{i}", RANDOM[:3], PAYLOADS[:3])
    assert [index.count(f"c{i}") for i in range(KEPT + 2)] == [0, 0] + [3] * KEPT
    index.close()


def test_many_threads(tmp_path: Path) -> None:
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
    index.close()


def test_another_process_holds_the_folder(tmp_path: Path) -> None:
    held = (
        "import sys, pathlib; from bertexplorer.store.index import Index\n"
        "index = Index(pathlib.Path(sys.argv[1])); index.count('a'); print('held', flush=True); sys.stdin.read()"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", held, str(tmp_path)]
    other = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout and other.stdout.readline() == "held\n"
        with pytest.raises(ExplorerError, match=r"open in another BERT Explorer.*BERTEXPLORER_QDRANT_URL"):
            Index(tmp_path).count("a")
    finally:
        other.communicate()
    assert Index(tmp_path).count("a") == 0


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(ExplorerError, match=r"http://127.0.0.1:9 cannot be used.*Qdrant server runs"):
        Index(url="http://127.0.0.1:9").count("a")


def test_a_broken_folder(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(ExplorerError, match=r"cannot be used.*Delete that folder"):
        Index(tmp_path).count("a")
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="cannot be used"):
        Index(tmp_path / "file").count("a")
