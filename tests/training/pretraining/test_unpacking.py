"""Texts in .xz files are unpacked while reading, up to the limit."""

import lzma
from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.training.pretraining import sentences
from bertexplorer.training.pretraining.sentences import XzReader, count_distinct, read_documents

TEXT = "".join(f"Sentence {i} \u00e9.\nAnother.\n\n" for i in range(20_000))


def packed(path: Path, *parts: bytes) -> Path:
    path.write_bytes(b"".join(parts))
    return path


def test_packed_text_is_read_back(tmp_path: Path) -> None:
    plain = tmp_path / "a.txt"
    plain.write_text(TEXT, "utf-8")
    halves = [lzma.compress(part) for part in (TEXT.encode()[:300_001], TEXT.encode()[300_001:])]
    whole = packed(tmp_path / "a.txt.xz", halves[0], b"\0" * 8, halves[1])
    assert list(read_documents(whole)) == list(read_documents(plain)) and len(list(read_documents(whole))) == 20_000
    assert count_distinct(str(whole), len(TEXT.encode())) == 20_000


def test_unpacking_stops_at_the_limit(tmp_path: Path) -> None:
    bomb = packed(tmp_path / "bomb.txt.xz", lzma.compress(b"a" * 30_000_000))
    assert bomb.stat().st_size < 10_000
    with pytest.raises(ExplorerError, match=r"bomb\.txt\.xz unpacks to more than 1 MB, the limit on this page"):
        count_distinct(str(bomb), 1_000_000)
    reading = XzReader(bomb, 1_000_000)
    with reading, pytest.raises(ExplorerError):
        while reading.read(65_536):
            pass
    assert reading.count <= 1_000_000 + 65_536


def test_unpacking_has_a_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "a.txt.xz", lzma.compress(TEXT.encode(), preset=6))
    monkeypatch.setattr(sentences, "DICTIONARY", 1 << 20)
    with pytest.raises(ExplorerError, match=r"a\.txt\.xz is not a whole .xz file \(Memory usage limit"):
        list(read_documents(path))


@pytest.mark.parametrize("part", [lzma.compress(TEXT.encode())[:-20], b"", b"not packed at all"])
def test_a_truncated_file_is_reported(tmp_path: Path, part: bytes) -> None:
    with pytest.raises(ExplorerError, match=r"a\.txt\.xz is not a whole .xz file"):
        list(read_documents(packed(tmp_path / "a.txt.xz", part)))
