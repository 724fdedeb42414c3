"""The files of a test collection, found by their names in a folder or a ZIP: queries, documents and judgements.

BEIR has corpus.jsonl, queries.jsonl and qrels/test.tsv; MS MARCO collection.tsv, queries.dev.tsv and qrels.dev.tsv.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.decode import MAX_BYTES, decode, display_name
from bertexplorer.training.data.qrels import collection_rows
from bertexplorer.training.data.rows import Row

PARTS = {  # part -> how the names of its files begin
    "queries": ("queries", "query", "topics"),
    "documents": ("corpus", "collection", "documents", "docs", "passages"),
    "judgements": ("qrels",),
}
SPLITS = ("test", "dev", "val", "train")  # in order of preference
SUFFIXES = (".jsonl", ".tsv", ".txt", "")
MAX_FILES = 1_000
KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_folder(folder: Path) -> tuple[list[Row], str]:
    """(the rows of the collection in *folder*, which files they are from). Raises ExplorerError if one of the three is
    missing, too large or malformed."""
    files = [file for file in (*folder.glob("*"), *folder.glob("*/*")) if file.is_file()]
    names = [file.relative_to(folder).as_posix() for file in files[:MAX_FILES]]

    def read(name: str) -> bytes:
        with (folder / name).open("rb") as file:
            return file.read(MAX_BYTES + 1)

    return read_parts(names, read, folder.name)


def read_zip(content: bytes, filename: str) -> tuple[list[Row], str]:
    """The same for a ZIP. Of each file no more is unpacked than may be read, whatever the ZIP says of its size."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:

            def read(name: str) -> bytes:
                if archive.getinfo(name).compress_type not in KNOWN:  # others may take gigabytes to unpack
                    raise NotImplementedError("its compression is not read")
                with archive.open(name) as file:
                    return file.read(MAX_BYTES + 1)

            return read_parts(archive.namelist()[:MAX_FILES], read, display_name(filename))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError) as error:  # damaged, encrypted, unknown
        raise ExplorerError(
            f"{display_name(filename)} cannot be unpacked ({error}). Pack the three files again, without a password."
        ) from error


def read_parts(names: Sequence[str], read: Callable[[str], bytes], where: str) -> tuple[list[Row], str]:
    chosen = choose(names, where)
    queries, documents, judgements = (decode(read(chosen[part]), display_name(chosen[part]))[0] for part in PARTS)
    rows = collection_rows(queries, documents, judgements)
    return rows, f"{len(rows):,} rows from {', '.join(display_name(name) for name in chosen.values())}."


def choose(names: Sequence[str], where: str) -> dict[str, str]:
    """Part -> its file among *names*. Of several, the one whose name has the first of SPLITS. Raises ExplorerError,
    which says what *where* lacks."""
    chosen = {}
    for part, beginnings in PARTS.items():
        fitting = [name for name in names if is_part(name, beginnings)]
        if fitting:
            chosen[part] = min(fitting, key=lambda name: (split_of(name), name))
    if len(chosen) < len(PARTS):
        missing = ", ".join(part for part in PARTS if part not in chosen)
        raise ExplorerError(
            f"{where[:60]} has no file for the {missing}. Wanted three, such as queries.jsonl, corpus.jsonl and "
            "qrels/test.tsv."
        )
    return chosen


def is_part(name: str, beginnings: tuple[str, ...]) -> bool:
    """Whether the file, or a folder that it is in, has such a name."""
    path = Path(name.lower())
    hidden = any(part.startswith((".", "__")) for part in path.parts)
    return not hidden and path.suffix in SUFFIXES and any(part.startswith(beginnings) for part in path.parts)


def split_of(name: str) -> int:
    """Its place among SPLITS."""
    return next((place for place, split in enumerate(SPLITS) if split in name.lower()), len(SPLITS))
