"""Uploaded vectors: lines of texts, each with the vector that another program made of it."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertexplorer.diagnosis import files
from bertexplorer.diagnosis.given import TextVectors
from bertexplorer.errors import ExplorerError
from bertexplorer.store.text_uploads import Uploads, write_json
from bertexplorer.wording import counted

MAX_NUMBERS = 500_000  # of all vectors that are kept
SUFFIXES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class UploadedVectors:
    """Texts with their vectors, and a message about how they were read."""

    texts: list[str]
    vectors: list[list[float]]
    summary: str

    @property
    def content(self) -> TextVectors:
        return TextVectors(self.texts, self.vectors)


def parse_vectors(content: bytes, filename: str) -> UploadedVectors:
    """The texts and vectors of the first lines of a file, up to MAX_NUMBERS numbers. Raises ExplorerError for any other
    file."""
    name = Path(filename).name
    if Path(filename).suffix.lower() not in SUFFIXES:
        raise ExplorerError(f"{name:.120} is not read here; wanted a .jsonl file of lines {files.EXAMPLE}.")
    texts, vectors = files.parse(io.BytesIO(content), name, MAX_NUMBERS)
    size = counted(len(vectors[0]), "number")
    return UploadedVectors(texts, vectors, f"{name}: {counted(len(texts), 'text')} with vectors of {size}.")


def write_vectors(source: str, filename: str, target: str) -> str:
    """Parse the file *source*, uploaded as *filename*, and write its vectors to *target*; return the message."""
    return write_json(parse_vectors(Path(source).read_bytes(), filename), Path(target))


class VectorUploads(Uploads[UploadedVectors]):
    what = "vectors"
    write_file = staticmethod(write_vectors)

    @staticmethod
    def parse(content: bytes, filename: str) -> UploadedVectors:
        return parse_vectors(content, filename)

    def from_json(self, stored: dict[str, Any]) -> UploadedVectors:
        return UploadedVectors(**stored)
