"""Text files -> a WordPiece vocabulary, and token ids on disk, tokenised once and then memory-mapped."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.pretraining.sentences import read_documents, split_sentences

FORMAT = 1
GROUP_CHARACTERS = 2_000_000  # characters tokenised at a time
HASHED_CHARACTERS = 200  # characters that identify a document


@dataclass(frozen=True, eq=False)
class Shard:
    """One text file as ids, s sentences in d documents, without [CLS] and [SEP]."""

    name: str
    ids: NDArray[Any]  # uint16, or int32 for a vocabulary beyond 65,536
    sentences: NDArray[np.int64]  # s + 1 offsets into ids
    documents: NDArray[np.int64]  # d + 1 offsets into sentences
    hashes: NDArray[np.uint64]  # d of them, see `document_hash`

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Tokens of each document."""
        return np.diff(self.sentences[self.documents])


def token_counts(shards: Sequence[Shard], documents: Sequence[NDArray[np.bool_]], size: int) -> NDArray[np.float64]:
    """How often each of *size* tokens occurs in the chosen *documents* of each shard."""
    counts = np.zeros(size)
    for shard, chosen in zip(shards, documents, strict=True):
        for document in np.flatnonzero(chosen):
            begin, end = shard.sentences[shard.documents[document : document + 2]]
            counts += np.bincount(shard.ids[begin:end], minlength=size)
    return counts


@dataclass(frozen=True)
class Progress:
    """The progress of tokenising one file."""

    file: str
    documents: int  # so far
    tokens: int
    done: bool = False


def document_hash(paragraphs: Sequence[str]) -> int:
    """The first 8 bytes of the SHA-1 of a document's first 200 characters (its lines joined by \\n)."""
    return int.from_bytes(sha1("\n".join(paragraphs)[:HASHED_CHARACTERS].encode("utf-8")).digest()[:8], "big")


def cache_folder(file: Path, tokenizer: Tokenizer, cache: Path) -> Path:
    """The cache folder of *file*: named by a hash of its contents and of the tokenizer, so that it never goes stale."""
    digest = sha256(f"{FORMAT} {HASHED_CHARACTERS} {tokenizer.backend.to_str()}".encode())
    with file.open("rb") as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return cache / f"{file.name.partition('.')[0]}-{digest.hexdigest()[:16]}"


def tokenize_files(files: Sequence[Path], tokenizer: Tokenizer, cache: Path) -> Iterator[Progress | Shard]:
    """Tokenise the files that are not in *cache* yet, yielding Progress, and yield the Shard of each file.

    The tokenizers library uses every core if TOKENIZERS_PARALLELISM allows it. Raises ExplorerError for an unreadable
    or empty file, or a full disk; files that are already cached stay."""
    for file in files:
        target = cache_folder(file, tokenizer, cache)
        if not target.is_dir():
            partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
            try:
                partial.mkdir(parents=True, exist_ok=True)
                yield from write_shard(file, tokenizer, partial)
                os.replace(partial, target)
            except OSError as error:
                if not target.is_dir():  # else another process was quicker
                    raise ExplorerError(
                        f"The ids of {file.name} could not be written to {cache} ({error.strerror or error}). "
                        "Make room, or name another folder; nothing else was changed."
                    ) from error
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        yield read_shard(target, file.name.partition(".")[0])


def write_shard(file: Path, tokenizer: Tokenizer, folder: Path) -> Iterator[Progress]:
    """Write ids.npy, sentences.npy, documents.npy, hashes.npy and about.json into *folder* (see Shard), yielding
    Progress. Raises ExplorerError if the file has no text."""
    dtype = np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.int32
    ids: list[NDArray[Any]] = []  # of each sentence
    counts: list[int] = []  # sentences of each document
    hashes: list[int] = []  # of each document
    tokens = 0
    for group in group_documents(read_documents(file)):
        # 1. The sentences of the group as ids, all at once
        sentences = []
        for paragraphs in group:
            sentences.append([sentence for paragraph in paragraphs for sentence in split_sentences(paragraph)])
        encoded = iter(encode_texts(tokenizer, [sentence for document in sentences for sentence in document]))

        # 2. Document by document, without sentences and documents that the tokenizer drops
        for document, paragraphs in zip(sentences, group, strict=True):
            all_pieces = [next(encoded) for _ in document]
            pieces = [np.array(piece, dtype) for piece in all_pieces if piece]
            if pieces:
                ids += pieces
                counts.append(len(pieces))
                hashes.append(document_hash(paragraphs))
                tokens += sum(map(len, pieces))
        yield Progress(file.name, len(counts), tokens)
    if not counts:
        raise ExplorerError(f"{file.name} holds no text. Give a file with one paragraph per line.")

    # 3. The files
    np.save(folder / "ids.npy", np.concatenate(ids))
    np.save(folder / "sentences.npy", np.cumsum([0, *map(len, ids)], dtype=np.int64))
    np.save(folder / "documents.npy", np.cumsum([0, *counts], dtype=np.int64))
    np.save(folder / "hashes.npy", np.array(hashes, dtype=np.uint64))
    summary = {
        "format": FORMAT,
        "file": file.name,
        "documents": len(counts),
        "sentences": len(ids),
        "tokens": tokens,
    }
    (folder / "about.json").write_text(json.dumps(summary, indent=1), "utf-8")
    yield Progress(file.name, len(counts), tokens, done=True)


def group_documents(all_documents: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    """Documents in groups of about GROUP_CHARACTERS characters."""
    group: list[list[str]] = []
    size = 0
    for document in all_documents:
        group.append(document)
        size += sum(map(len, document))
        if size >= GROUP_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def encode_texts(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    """Ids of each text without [CLS] and [SEP]. A special token in a text is read as plain characters."""
    backend = tokenizer.backend
    previous = backend.encode_special_tokens
    backend.encode_special_tokens = True
    try:
        return [encoding.ids for encoding in backend.encode_batch_fast(texts, add_special_tokens=False)]
    finally:
        backend.encode_special_tokens = previous


def read_shard(folder: Path, name: str) -> Shard:
    """The Shard in *folder*, its ids memory-mapped. Raises ExplorerError if a file is damaged."""
    try:
        shard = Shard(
            name,
            ids=np.load(folder / "ids.npy", mmap_mode="r"),
            sentences=np.load(folder / "sentences.npy"),
            documents=np.load(folder / "documents.npy"),
            hashes=np.load(folder / "hashes.npy"),
        )
        is_complete = shard.sentences[-1] == len(shard.ids) and shard.documents[-1] == len(shard.sentences) - 1
        if not is_complete:
            raise ValueError("the files do not belong together")
    except (OSError, ValueError, IndexError) as error:
        raise ExplorerError(f"The cached ids in {folder} are damaged ({error}). Delete that folder.") from error
    return shard


SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_wordpiece(files: Iterable[Path], pieces: int) -> tokenizers.Tokenizer:
    """An uncased WordPiece tokenizer of at most *pieces* pieces (Schuster & Nakajima, 2012, by merging pairs)."""
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=pieces, special_tokens=list(SPECIAL), limit_alphabet=min(400, pieces // 2), show_progress=False
    )
    paragraphs = (paragraph for file in files for document in read_documents(file) for paragraph in document)
    tokenizer.train_from_iterator(paragraphs, trainer)
    ids = tokenizer.get_vocab()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return tokenizer
