"""Files of vectors, canaries, and the command line."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertexplorer as bx
from bertexplorer.cli import main
from bertexplorer.diagnosis import canary, files
from bertexplorer.diagnosis.given import MAX_TEXTS, check
from bertexplorer.diagnosis.texts import TEXTS
from bertexplorer.errors import ExplorerError
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder

WORDS = ["paris is a city", "a cat sat on the mat", "good money", "the doctor works"]


def lines(file: Path, vectors: Any, texts: list[str] = WORDS, name: str = "vector") -> Path:
    rows = [json.dumps({"text": text, name: list(vector)}) for text, vector in zip(texts, vectors, strict=True)]
    file.write_text("\n".join(rows))
    return file


@pytest.fixture
def folder(tiny_copy: Tiny) -> Path:
    return write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"})


def vectors(folder: Path, **options: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: np.ndarray = bx.load(folder, precision="fp32").encode(WORDS, **options).astype(np.float64)
    return made


def test_the_same_vectors_in_each_kind_of_file(folder: Path, tmp_path: Path) -> None:
    made, texts = vectors(folder), tmp_path / "texts.txt"
    texts.write_text("\n".join(WORDS) + "\n")
    np.save(tmp_path / "v.npy", made)
    (tmp_path / "v.json").write_text(json.dumps(made.tolist()))
    answer = {"data": [{"index": i, "embedding": row} for i, row in reversed(list(enumerate(made.tolist())))]}
    (tmp_path / "server.json").write_text(json.dumps(answer))
    read = [
        files.read(lines(tmp_path / "v.jsonl", made)),
        files.read(lines(tmp_path / "e.jsonl", made, name="embedding")),
    ]
    read += [files.read(tmp_path / name, texts) for name in ("v.npy", "v.json", "server.json")]
    for given in read:
        assert given.texts == tuple(WORDS)
        np.testing.assert_allclose(given.vectors, made, atol=1e-7)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "has no line"),
        ("{}", "Line 1 of v.jsonl"),
        ('{"text": "a", "vector": [1, 2]}\nnonsense', "Line 2 of v.jsonl is not JSON"),
        ('{"text": "a", "vector": [1, 2]}\n{"text": "b", "vector": [1]}', "vector of 1 numbers, those before it 2"),
        ('{"text": "a", "vector": [1, null]}\n{"text": "b", "vector": [1, 2]}', "not finite"),
        ('{"text": "a", "vector": [1, NaN]}\n{"text": "b", "vector": [1, 2]}', "not finite"),
        ('{"text": "a", "vector": "x"}', "Line 1 of v.jsonl"),
        ('{"text": 3, "vector": [1]}', "Line 1 of v.jsonl"),
        ("[" * 5000, "is not JSON"),
        ('{"text": "' + "x" * 1_000_001, "longer than 1,000,000 bytes"),
    ],
)
def test_lines_that_cannot_be_used(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text(content)
    with pytest.raises(ExplorerError, match=said):
        files.read(tmp_path / "v.jsonl")


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a\nb\n")
    np.save(tmp_path / "objects.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "three.npy", np.ones((3, 4)))
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "odd.json").write_text('{"a": 1}')
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe{}")
    (tmp_path / "v.pkl").write_bytes(b"")
    for name, said in (
        ("objects.npy", "may run code"),
        ("three.npy", "2 lines and three.npy 3 vectors"),
        ("broken.npy", "numpy.save"),
        ("odd.json", "list of vectors"),
        ("v.pkl", "may run code"),
        ("missing.npy", "cannot be read"),
    ):
        with pytest.raises(ExplorerError, match=said):
            files.read(tmp_path / name, texts)
    with pytest.raises(ExplorerError, match="not UTF-8"):
        files.read(tmp_path / "binary.jsonl")
    with pytest.raises(ExplorerError, match="vectors alone"):
        files.read(tmp_path / "three.npy")


def test_of_a_large_file_only_the_beginning_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = '{"text": "%d", "vector": [%d, 1]}\n'
    (tmp_path / "v.jsonl").write_text("".join(row % (i, i) for i in range(MAX_TEXTS)) + "not JSON")
    assert len(files.read(tmp_path / "v.jsonl").texts) == MAX_TEXTS
    np.save(tmp_path / "v.npy", np.arange(6000.0).reshape(3000, 2))
    (tmp_path / "t.txt").write_text("\n".join(map(str, range(3000))))
    assert len(files.read(tmp_path / "v.npy", tmp_path / "t.txt").texts) == MAX_TEXTS


def test_the_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = lines(tmp_path / "v.jsonl", vectors(folder))
    assert main(["doctor", str(folder), "--vectors", str(file)]) == 0
    assert "as its files say" in capsys.readouterr().err
    lines(file, vectors(folder, pooling="CLS"))
    assert main(["doctor", str(folder), "--vectors", str(file), "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["recipe"]["pooling"] == "cls" and "the first token's vector" in err
    lines(file, np.random.default_rng(0).normal(size=(4, 32)))
    assert main(["doctor", str(folder), "--vectors", str(file)]) == 2
    assert main(["doctor", str(folder)]) == 2
    assert "--vectors" in capsys.readouterr().err
    assert main(["doctor", "texts"]) == 0
    assert capsys.readouterr().out.splitlines() == [text for _, text in TEXTS]


def test_a_canary_is_written_and_checked(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "canary.json"
    assert main(["doctor", "canary", str(folder), "-o", str(file)]) == 0
    kept = json.loads(file.read_text())
    assert kept["revision"].startswith("sha256:") and "the mean over all tokens" in kept["said"]
    made = np.array(kept["vectors"])
    theirs = lines(tmp_path / "v.jsonl", made + 1e-5, kept["texts"])
    assert main(["doctor", str(file), "--vectors", str(theirs)]) == 0
    lines(theirs, made * 2, kept["texts"])
    assert main(["doctor", str(file), "--vectors", str(theirs)]) == 1
    assert "normalisation changed" in capsys.readouterr().err
    lines(theirs, np.abs(made), kept["texts"])
    assert main(["doctor", str(file), "--vectors", str(theirs)]) == 1
    assert "no longer those of the canary" in capsys.readouterr().err


def test_canaries_that_cannot_be_used(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "canary.json"
    for content in ("", "[]", "{}", '{"format": "bertexplorer canary 1"}'):
        file.write_text(content)
        with pytest.raises(ExplorerError, match="doctor canary MODEL"):
            canary.read(file)
    kept = canary.make(bx.load(folder, precision="fp32").checkpoint)
    with pytest.raises(ExplorerError, match="None of the texts"):
        canary.compare(kept, check(WORDS, vectors(folder)))
    texts = kept["texts"]
    narrow = canary.compare(kept, check(texts, np.array(kept["vectors"])[:, :8]))
    assert not narrow.same and "8 numbers" in narrow.said
