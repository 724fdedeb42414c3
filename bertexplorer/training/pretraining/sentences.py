"""Plain text files -> documents -> paragraphs -> sentences, by a simple rule.

A sentence ends at . ! or ? (with closing quotes and brackets) before a space and anything but a lower-case letter,
unless the full stop belongs to an abbreviation or an initial. A paragraph always ends a sentence."""

import io
import lzma
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TextIO

from bertexplorer.errors import ExplorerError

END = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[^\sa-z])")
ABBREVIATED = re.compile(
    r"(?:^|[\s(\"“'‘\[])(?:[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]|Mr|Mrs|Ms|Dr|St|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Jr|Sr|Hon|Messrs|Mme"
    r"|Mt|Ft|No|Nos|Vol|vol|vs|cf|ca|pp|ed|eds|al|Inc|Ltd|Co|Corp|Fig|fig|Jan|Feb|Mar|Apr|Aug|Sept|Sep|Oct|Nov|Dec)$"
)
PORTION = 65_536  # bytes read at a time
DICTIONARY = 128 << 20  # bytes that unpacking may keep; xz -9 wants half of it
SUFFIXES = (".txt", ".txt.xz")


def split_sentences(paragraph: str) -> Iterator[str]:
    """The sentences of *paragraph*; concatenated they are the paragraph, up to white space."""
    start = 0
    for end in END.finditer(paragraph):
        if paragraph[end.start()] == "." and ABBREVIATED.search(paragraph, max(start, end.start() - 12), end.start()):
            continue
        yield paragraph[start : end.end()].rstrip()
        start = end.end()
    remainder = paragraph[start:].strip()
    if remainder:
        yield remainder


def read_documents(path: Path, max_bytes: int = 0) -> Iterator[list[str]]:
    """The documents of a .txt or .txt.xz file, each a list of paragraphs (one per line; blank lines between documents).
    *max_bytes*: limit on the bytes that an .xz file unpacks to, 0 for none. Raises ExplorerError if the file cannot be
    read, is not UTF-8, is binary, or exceeds the limit, beyond which nothing is unpacked."""
    try:
        with open_text(path, max_bytes) as lines:
            yield from split_documents(lines, path)
    except UnicodeDecodeError as error:
        raise ExplorerError(f"{path.name} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from error
    except (lzma.LZMAError, EOFError) as error:
        raise ExplorerError(f"{path.name} is not a whole .xz file ({error}). Copy it again.") from error
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read ({error.strerror or error}).") from error


def count_distinct(path: str, max_bytes: int) -> int:
    """The number of distinct documents in the file at *path*; *max_bytes* and errors as in `read_documents`."""
    return len({hash(tuple(paragraphs)) for paragraphs in read_documents(Path(path), max_bytes)})


class XzReader(io.RawIOBase):
    """The bytes of an .xz file, unpacked while reading, up to *max_bytes* of them (0: no limit)."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.count = 0
        self.packed = path.open("rb")
        self.decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=DICTIONARY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack into *buffer*; returns the number of bytes, 0 at the end. Raises EOFError for a file that is cut off,
        and ExplorerError beyond the limit."""
        unpacked = b""
        while not unpacked:
            if self.decompressor.eof:  # of one of several streams in a row
                packed = (self.decompressor.unused_data or self.packed.read(PORTION)).lstrip(b"\0")
                if not packed:
                    return 0
                self.decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=DICTIONARY)
            else:
                packed = self.packed.read(PORTION) if self.decompressor.needs_input else b""
                if self.decompressor.needs_input and not packed:
                    raise EOFError("it ends too early")
            unpacked = self.decompressor.decompress(packed, max_length=len(buffer))
        self.count += len(unpacked)
        if self.max_bytes and self.count > self.max_bytes:
            raise ExplorerError(
                f"{self.path.name} unpacks to more than {self.max_bytes / 1e6:,.0f} MB, the limit on this page. "
                "Use part of it, or use the command line: python -m bertexplorer pretrain."
            )
        buffer[: len(unpacked)] = unpacked
        return len(unpacked)

    def close(self) -> None:
        self.packed.close()
        super().close()


def open_text(path: Path, max_bytes: int = 0) -> AbstractContextManager[TextIO]:
    """The lines of a .txt or .txt.xz file."""
    if path.suffix == ".xz":
        return io.TextIOWrapper(io.BufferedReader(XzReader(path, max_bytes)), encoding="utf-8-sig", newline="\n")
    return path.open(encoding="utf-8-sig", newline="\n")  # a lone \r ends no line


def split_documents(lines: Iterable[str], path: Path) -> Iterator[list[str]]:
    """The paragraphs of each document of the file *path*. Raises ExplorerError if it is binary."""
    paragraphs: list[str] = []
    for line in lines:
        if "\0" in line:
            raise ExplorerError(f"{path.name} is a binary file; wanted plain text, one paragraph per line.")
        text = line.strip()
        if text:
            paragraphs.append(text)
        elif paragraphs:
            yield paragraphs
            paragraphs = []
    if paragraphs:
        yield paragraphs


def text_files(paths: Iterable[str | Path]) -> list[Path]:
    """The given files, and the text files in the given folders, sorted. Raises ExplorerError if one is missing, if a
    folder has none, and for two of the same name."""
    files: list[Path] = []
    for path in map(Path, paths):
        if not path.exists():
            raise ExplorerError(f"There is no text at {path}. A run needs it to start and to resume; put it back.")
        matching = [path]
        if path.is_dir():
            matching = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
        if not matching or not all(p.is_file() for p in matching):
            raise ExplorerError(f"{path} is neither a text file nor a folder of them; wanted .txt or .txt.xz.")
        files += matching
    if len({p.name for p in files}) < len(files):
        raise ExplorerError("Two of the text files have the same name. Rename one of them.")
    return files
