"""Examine: a checkpoint from outside is first opened in a separate process, and refused if that hangs or crashes."""

import hashlib
import struct
from contextlib import suppress
from pathlib import Path

from safetensors import safe_open

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Tokenizer
from bertexplorer.store import apart

FORMAT = "1"  # version of this examination; results of other versions are discarded
SECONDS, MEGABYTES = 60.0, 3000
HEADER = 4_000_000  # bytes of a safetensors header; that of BERT-large has 50,000
LARGEST = 200_000_000  # bytes of a vocabulary
SUFFIXES = (".json", ".txt", ".model", ".jinja")  # suffixes of the files that a tokenizer is built from
LONG, SHORT = 2000, 60  # repeated characters: reveal patterns that take cubic or exponential time
PROBES = ("The cat sat on the mat.", "Caf\u00e9 \u4e2d\u6587 \U0001f600 don't 3.14!", "[MASK] <mask>")
REPEATED = ("a", "A", "1", " ", ".", "_", "\n", "\u4e2d", "a ", "a.")
examined: set[str] = set()  # checkpoints that this process found sound


def examine(name: str, folder: Path, memory: Path) -> None:
    """Raises ExplorerError if the checkpoint in *folder* cannot be opened safely. Sound checkpoints are
    remembered in the folder *memory*, by their content."""
    weights = sorted(folder.glob("*.safetensors"))
    others = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())
    for file in others:
        if (size := file.stat().st_size) > LARGEST:
            most = f"{LARGEST / 1e6:,.0f} MB at most"
            raise ExplorerError(f"{file.name} of {name} has {size / 1e6:,.0f} MB; wanted {most}. Choose another one.")
    digest = hashlib.sha256(FORMAT.encode())
    for file in weights:
        digest.update(header(file, name))
    for file in others:
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    key = digest.hexdigest()
    mark = memory / "examined" / key
    if key in examined or mark.is_file():
        return
    try:
        apart.call(opens, str(folder.resolve()), seconds=SECONDS, megabytes=MEGABYTES)
    except apart.Broken as broken:
        raise ExplorerError(
            f"{name} cannot be used: opening its files {broken}, so they are damaged or harmful. Choose another "
            "checkpoint."
        ) from broken
    examined.add(key)
    with suppress(OSError):  # if this fails, it is examined again after a restart
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def header(file: Path, name: str) -> bytes:
    """The name, size and header of a safetensors file. Files that are too short are left for loading to report.
    Raises ExplorerError for a header that no checkpoint has."""
    with file.open("rb") as opened:
        start = opened.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        size = file.stat().st_size
        if HEADER < length <= size:  # a header longer than the file is left for loading to report
            raise ExplorerError(
                f"{file.name} of {name} has a header of {length / 1e6:,.1f} MB; wanted {HEADER / 1e6:.0f} MB at most. "
                "Choose another checkpoint."
            )
        return f"{file.name}\0{size}\0".encode() + start + opened.read(min(length, HEADER))


def opens(folder: str) -> None:
    """Open everything that other libraries parse, and tokenize texts. Errors in plain Python are left for loading to
    report."""
    for file in Path(folder).glob("*.safetensors"):
        with suppress(Exception), safe_open(file, framework="np") as opened:
            for name in opened.keys():  # noqa: SIM118 - not a dict
                opened.get_slice(name).get_shape()
    tokenizer = None
    with suppress(ExplorerError):
        tokenizer = Tokenizer.from_folder(Path(folder), max_tokens=512, pad_id=0)
    if tokenizer is None:
        return
    texts = [*PROBES, *(sign * count + "!" for count in (SHORT, LONG) for sign in REPEATED)]
    for text in texts:
        with suppress(ExplorerError):
            tokenizer.encode(text)
