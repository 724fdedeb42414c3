"""Weights in pytorch_model.bin, read without running what the file says: an unpickler that knows the few names that
weights need, for the zip format and for the one before PyTorch 1.6. PyTorch itself never sees the file."""

from __future__ import annotations

import mmap
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from bertexplorer.errors import ExplorerError

MAGIC = 0x1950A86A20F9469CFC6C  # of the format before PyTorch 1.6
PROTOCOL = 1001
BITS = np.dtype("<u2")  # of bfloat16, which numpy lacks
LARGEST_PICKLE = 64_000_000  # bytes; that of BERT-large has 70,000
STORAGES = {  # class -> numpy's name of its numbers
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": BITS.str,
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}


class Storage(NamedTuple):
    """Numbers in the file. *key*: their name there; *length*: how many. A tuple, as a pickle can change the attributes
    of other objects."""

    kind: str
    key: str
    length: int


class Weight(NamedTuple):
    """A view of a storage, as the file describes it. *offset* and *stride* count numbers, not bytes."""

    storage: Any
    offset: Any
    shape: Any
    stride: Any


def rebuild(storage: Any, offset: Any, shape: Any, stride: Any, *_: Any) -> Weight:
    """Stands for torch._utils._rebuild_tensor and _rebuild_tensor_v2."""
    return Weight(storage, offset, shape, stride)


def parameter(data: Any, *_: Any) -> Any:
    """Stands for torch._utils._rebuild_parameter."""
    return data


KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor"): rebuild,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild,
    ("torch._utils", "_rebuild_parameter"): parameter,
    **{("torch", kind): kind for kind in STORAGES},
}


class Unpickler(pickle.Unpickler):
    """Knows the names in KNOWN alone, and notes the kind of each storage. Raises ExplorerError for anything else."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream, encoding="latin-1")
        self.kinds: dict[str, str] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            raise ExplorerError(f"it names {module}.{name}, which no weights need"[:200])
        return KNOWN[module, name]

    def persistent_load(self, given: Any) -> Storage:
        tag, kind, key, _, count, *view = given if isinstance(given, tuple) and len(given) >= 5 else ("",) * 5
        known = tag == "storage" and isinstance(kind, str) and kind in STORAGES and isinstance(key, str)
        if not known or type(count) is not int or count < 0 or any(view):
            raise ExplorerError("a storage is not described as PyTorch describes it")
        self.kinds[key] = kind
        return Storage(kind, key, count)

    def load(self) -> Any:
        try:
            return super().load()
        except ExplorerError:
            raise
        except Exception as error:  # damaged pickles raise whatever their opcodes run into
            raise ExplorerError(f"its description cannot be read ({type(error).__name__})") from error


def read(path: Path) -> dict[str, np.ndarray]:
    """Name -> array, mapped from the file *path*; bfloat16 as uint16. Names of the same numbers are given once.

    Raises ExplorerError, whose text continues "PATH cannot be read: …"."""
    with path.open("rb") as opened:
        try:
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise ExplorerError("it is empty") from error
    found, places = of_zip(mapped) if mapped[:4] == b"PK\x03\x04" else of_legacy(mapped)
    if type(found) not in (dict, OrderedDict) or not found:
        raise ExplorerError(f"it holds {article(found)} rather than weights by name")
    arrays: dict[str, np.ndarray] = {}
    seen: set[Weight] = set()
    for name, weight in dict.items(found):  # a pickle may have given the object an attribute of this name
        if type(name) is not str or type(weight) is not Weight:
            raise ExplorerError(f"{str(name)[:80]!r} is {article(weight)} rather than a tensor")
        made = array(weight, places)
        if weight not in seen:
            arrays[name] = made
        seen.add(weight)
    return arrays


def article(found: Any) -> str:
    return "no table" if isinstance(found, dict) else f"a {type(found).__name__}"


def array(weight: Weight, places: Mapping[str, memoryview]) -> np.ndarray:
    """The numbers of *weight*, contiguous. Raises ExplorerError if they are not all in the file, once."""
    storage, offset, shape, stride = weight
    if type(storage) is not Storage or type(shape) is not tuple or type(stride) is not tuple:
        raise ExplorerError("a tensor is not described as PyTorch describes it")
    if not all(type(n) is int and n >= 0 for n in (offset, *shape, *stride)) or len(shape) != len(stride):
        raise ExplorerError(f"a tensor has the shape {shape!s:.80} and the strides {stride!s:.80}")
    kind = np.dtype(STORAGES[storage.kind])
    place = places.get(storage.key, memoryview(b""))
    wanted = storage.length * kind.itemsize
    if len(place) != wanted:
        raise ExplorerError(f"a storage of {storage.length:,} numbers has {len(place):,} bytes; wanted {wanted:,}")
    count = prod(shape)
    last = offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if count > storage.length or (count and last >= storage.length):
        raise ExplorerError(f"a tensor of shape {shape!s:.80} does not fit into its {storage.length:,} numbers")
    numbers = np.frombuffer(place, kind)[offset:]
    strides = [step * kind.itemsize for step in stride]
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(numbers, shape, strides, writeable=False)).reshape(
        shape
    )


def of_zip(mapped: mmap.mmap) -> tuple[Any, dict[str, memoryview]]:
    """(the object, key of a storage -> its bytes) of the zip format. Every entry must be there once, as it is."""
    try:
        with zipfile.ZipFile(cast(Any, mapped)) as opened:  # it reads and seeks like a file
            listed = opened.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise ExplorerError(f"the archive is damaged ({error})"[:200]) from error
    entries = {entry.filename: entry for entry in listed}
    if len(entries) < len(listed):
        raise ExplorerError("two entries of the archive have the same name")
    if packed := [name for name, entry in entries.items() if entry.compress_type != zipfile.ZIP_STORED]:
        raise ExplorerError(f"{packed[0][:80]!r} of the archive is compressed, as PyTorch never writes it")
    held = [name for name in entries if name.endswith("/data.pkl")]
    if len(held) != 1 or entries[held[0]].file_size > LARGEST_PICKLE:
        raise ExplorerError("the archive has no data.pkl of the usual size")
    root, raw = held[0].removesuffix("data.pkl"), memoryview(mapped)
    data = bytes(content(raw, entries[held[0]]))
    order = entries.get(f"{root}byteorder")
    if order and bytes(content(raw, order)) != b"little":
        raise ExplorerError("its numbers are big-endian; only little-endian ones are read")
    within = f"{root}data/"
    places = {name.removeprefix(within): content(raw, one) for name, one in entries.items() if name.startswith(within)}
    return Unpickler(BytesIO(data)).load(), places


def content(raw: memoryview, entry: zipfile.ZipInfo) -> memoryview:
    """The bytes of a stored *entry*, in place."""
    head = bytes(raw[entry.header_offset : entry.header_offset + 30])
    start = entry.header_offset + 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    if head[:4] != b"PK\x03\x04" or start + entry.file_size > len(raw):
        raise ExplorerError("the archive is cut off")
    return raw[start : start + entry.file_size]


def of_legacy(mapped: mmap.mmap) -> tuple[Any, dict[str, memoryview]]:
    """The same of the format before PyTorch 1.6: five pickles in a row, then the storages."""
    parts: list[Any] = []
    kinds: dict[str, str] = {}
    for _ in range(5):
        reader = Unpickler(mapped)
        parts.append(reader.load())
        kinds |= reader.kinds
        if parts[0] != MAGIC:
            raise ExplorerError("PyTorch did not write it")
    _, protocol, system, found, keys = parts
    if protocol != PROTOCOL or not isinstance(system, dict) or system.get("little_endian") is not True:
        raise ExplorerError("it was written by another version of the format, or on another kind of machine")
    if not isinstance(keys, list) or not all(isinstance(key, str) and key in kinds for key in keys):
        raise ExplorerError("its list of storages is damaged")
    at, raw, places = mapped.tell(), memoryview(mapped), {}
    for key in keys:
        size = int.from_bytes(raw[at : at + 8], "little") * np.dtype(STORAGES[kinds[key]]).itemsize
        if at + 8 + size > len(raw):
            raise ExplorerError("it is cut off")
        places[key] = raw[at + 8 : at + 8 + size]
        at += 8 + size
    return found, places
