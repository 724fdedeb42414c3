"""Sentences keep the text, and the cached ids equal those of a new tokenisation."""

import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.pretraining import corpus
from bertexplorer.training.pretraining.corpus import Progress, Shard, cache_folder, document_hash, tokenize_files
from bertexplorer.training.pretraining.sentences import read_documents, split_sentences, text_files

HARD = [
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("Dr. Smith met J. K. Rowling in the U.S. Army.", ["Dr. Smith met J. K. Rowling in the U.S. Army."]),
    ('"Stop!" He ran. "Why?" she said.', ['"Stop!"', "He ran.", '"Why?" she said.']),
    ("It cost 3.50 dollars. i mean it. And more.", ["It cost 3.50 dollars. i mean it.", "And more."]),
    ("It ended in May. 1910 began.", ["It ended in May.", "1910 began."]),
    ("The cat saw him. I ran.", ["The cat saw him.", "I ran."]),
    ("  spaced  out  ", ["spaced  out"]),
    ("", []),
    ("...", ["..."]),
    ("שלום. Ünder. Éa!", ["שלום.", "Ünder.", "Éa!"]),
]


@pytest.mark.parametrize(("text", "wanted"), HARD)
def test_a_text_is_split_into_sentences(text: str, wanted: list[str]) -> None:
    assert list(split_sentences(text)) == wanted


def test_sentences_lose_nothing(texts: Path, tmp_path: Path) -> None:
    for file in texts.iterdir():
        for document in read_documents(file):
            for paragraph in document:
                assert "".join("".join(split_sentences(paragraph)).split()) == "".join(paragraph.split())
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfOne.\r\rTwo.\r\nThree.\r\n\r\nFour.\n \n\nFive.")
    assert list(read_documents(tmp_path / "a.txt")) == [["One.\r\rTwo.", "Three."], ["Four."], ["Five."]]


def test_the_cache_equals_direct_tokenisation(texts: Path, shards: list[Shard], tokenizer: Tokenizer) -> None:
    for file, shard in zip(sorted(texts.iterdir()), shards, strict=True):
        assert shard.ids.dtype == np.uint16 and isinstance(shard.ids, np.memmap)
        read = list(read_documents(file))
        assert len(read) == len(shard.hashes)
        for number, paragraphs in enumerate(read):
            wanted = [s for paragraph in paragraphs for s in split_sentences(paragraph)]
            start, end = shard.documents[number : number + 2]
            assert end - start == len(wanted)
            for at, text in zip(range(start, end), wanted, strict=True):
                ids = shard.ids[shard.sentences[at] : shard.sentences[at + 1]].tolist()
                assert ids == tokenizer.backend.encode(text, add_special_tokens=False).ids
            assert shard.hashes[number] == document_hash(paragraphs)
            assert shard.tokens[number] == shard.sentences[end] - shard.sentences[start]


def test_xz_is_read_directly_and_then_from_the_cache(texts: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "first.txt.xz").write_bytes(lzma.compress((texts / "first.txt").read_bytes()))
    plain = list(tokenize_files([texts / "first.txt"], tokenizer, tmp_path / "a"))[-1]
    unpacked = list(tokenize_files([tmp_path / "first.txt.xz"], tokenizer, tmp_path / "b"))
    third = list(tokenize_files([tmp_path / "first.txt.xz"], tokenizer, tmp_path / "b"))
    assert isinstance(unpacked[0], Progress) and unpacked[-2].done and len(third) == 1
    for shard in (unpacked[-1], third[0]):
        assert np.array_equal(shard.ids, plain.ids) and np.array_equal(shard.hashes, plain.hashes)


def test_each_vocabulary_and_text_has_its_own_cache(texts: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    file = Path(shutil.copy(texts / "first.txt", tmp_path))
    before = cache_folder(file, tokenizer, tmp_path)
    cased = Tokenizer(tokenizer.backend.__class__.from_str(tokenizer.backend.to_str()), max_tokens=64)
    cased.backend.normalizer = None
    assert cache_folder(file, cased, tmp_path) != before
    file.write_text(file.read_text() + ".")
    assert cache_folder(file, tokenizer, tmp_path) != before


def test_special_tokens_in_the_text_are_plain_characters(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The [MASK] and [SEP] of </s>\n")
    shard = list(tokenize_files([tmp_path / "a.txt"], tokenizer, tmp_path / "cache"))[-1]
    assert not set(shard.ids.tolist()) & {tokenizer.mask_id, *tokenizer.special_ids} - {
        tokenizer.backend.token_to_id("[UNK]")
    }
    assert tokenizer.backend.token_to_id("[MASK]") in tokenizer.backend.encode("the [MASK]").ids, (
        "and the tokenizer is as before"
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", b"", "no text"),
        ("blank.txt", b"\n \n\n", "no text"),
        ("binary.txt", b"GIF89a\0\0\0\0", "binary"),
        ("latin.txt", "Müller läuft.".encode("latin-1"), "UTF-8"),
        ("torn.txt.xz", lzma.compress(b"One. Two.\n" * 5000)[:100], "xz"),
        ("plain.txt.xz", b"One. Two.\n", "xz"),
    ],
)
def test_bad_files_are_rejected_and_leave_the_cache_unchanged(
    name: str, content: bytes, message: str, texts: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    cache = tmp_path / "cache"
    list(tokenize_files([texts / "first.txt"], tokenizer, cache))
    before = sorted(p.name for p in cache.rglob("*"))
    with pytest.raises(ExplorerError, match=message):
        list(tokenize_files([tmp_path / name], tokenizer, cache))
    assert sorted(p.name for p in cache.rglob("*")) == before


def test_a_full_disk_is_reported_and_leaves_the_cache_intact(
    texts: Path, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    list(tokenize_files([texts / "first.txt"], tokenizer, cache))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(corpus.np, "save", full)
    with pytest.raises(ExplorerError, match="No space left"):
        list(tokenize_files([texts / "second.txt"], tokenizer, cache))
    assert [p.name.partition("-")[0] for p in cache.iterdir()] == ["first"]
    assert len(list(tokenize_files([texts / "first.txt"], tokenizer, cache))) == 1


def test_a_damaged_cache_is_reported(texts: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    list(tokenize_files([texts / "first.txt"], tokenizer, tmp_path))
    file = cache_folder(texts / "first.txt", tokenizer, tmp_path) / "ids.npy"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(ExplorerError, match="Delete that folder"):
        list(tokenize_files([texts / "first.txt"], tokenizer, tmp_path))


def test_missing_files_and_repeated_names_are_rejected(texts: Path, tmp_path: Path) -> None:
    assert [f.name for f in text_files([texts])] == ["first.txt", "second.txt"]
    for given in ([tmp_path / "none.txt"], [tmp_path], [texts, texts / "first.txt"]):
        with pytest.raises(ExplorerError):
            text_files(given)
