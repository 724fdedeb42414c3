"""Read the weights in pytorch_model.bin without running code from the file: the unpickler knows only the few names that
weights need. Reads the zip format and the one before PyTorch 1.6. PyTorch itself never opens the file."""

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
BFLOAT16_BITS = np.dtype("<u2")  # numpy has no bfloat16
MAX_PICKLE_BYTES = 64_000_000  # that of BERT-large has 70,000
MAX_INTEGER = 2**40  # numbers beyond it take long to multiply, and describe no tensor
MAX_DIMENSIONS = 8
STORAGES = {  # class -> dtype in numpy
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": BFLOAT16_BITS.str,
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}


class Storage(NamedTuple):
    """Numbers in the file. *key*: their name there. *length*: their count. A tuple, because a pickle can change the
    attributes of other objects."""

    kind: str
    key: str
    length: int


class Weight(NamedTuple):
    """A view of a storage, as the file describes it, unchecked: `to_array` does that. *offset* and *stride* count
    numbers, not bytes."""

    storage: Any
    offset: Any
    shape: Any
    stride: Any


def rebuild_tensor(storage: Any, offset: Any, shape: Any, stride: Any, *_: Any) -> Weight:
    """Replaces torch._utils._rebuild_tensor and _rebuild_tensor_v2."""
    return Weight(storage, offset, shape, stride)


def rebuild_parameter(data: Any, *_: Any) -> Any:
    """Replaces torch._utils._rebuild_parameter."""
    return data


KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor"): rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): rebuild_parameter,
    **{("torch", kind): kind for kind in STORAGES},
}


class Unpickler(pickle.Unpickler):
    """Knows only the names in KNOWN, and records the kind of each storage. Raises ExplorerError for anything else."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream, encoding="latin-1")
        self.kinds: dict[str, str] = {}  # key of a storage -> its class, one of STORAGES

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            raise ExplorerError(f"it names {module}.{name}, which no weights need"[:200])
        return KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Storage:
        """The storage that the pickle refers to by *pid*: ("storage", class, key, device, count)."""
        malformed = ExplorerError("a storage is not described as PyTorch describes it")
        if not isinstance(pid, tuple) or len(pid) < 5:
            raise malformed
        tag, kind, key, _, count, *view = pid
        if tag != "storage" or not isinstance(kind, str) or kind not in STORAGES or not isinstance(key, str):
            raise malformed
        if type(count) is not int or count < 0 or any(view):
            raise malformed
        self.kinds[key] = kind
        return Storage(kind, key, count)

    def load(self) -> Any:
        """The object in the pickle. Raises ExplorerError alone."""
        try:
            return super().load()
        except ExplorerError:
            raise
        except Exception as error:  # a damaged pickle can raise any error
            raise ExplorerError(f"its description cannot be read ({type(error).__name__})") from error


def read(path: Path) -> dict[str, np.ndarray]:
    """Name -> array, mapped from the file *path*; bfloat16 as uint16. Of several names for the same tensor, only the
    first is included.

    Raises ExplorerError, whose text continues "PATH cannot be read: …"."""
    with path.open("rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise ExplorerError("it is empty") from error
    weights, buffers = read_zip(mapped) if mapped[:4] == b"PK\x03\x04" else read_legacy(mapped)
    if type(weights) not in (dict, OrderedDict) or not weights:
        raise ExplorerError(f"it contains {type_of(weights)} rather than weights by name")
    arrays: dict[str, np.ndarray] = {}
    added: set[Weight] = set()
    for name, weight in dict.items(weights):  # a pickle can shadow the method items of the object
        if type(name) is not str or type(weight) is not Weight:
            raise ExplorerError(f"{str(name)[:80]!r} is {type_of(weight)} rather than a tensor")
        array = to_array(weight, buffers)
        if weight not in added:
            arrays[name] = array
        added.add(weight)
    return arrays


def type_of(value: Any) -> str:
    """What a pickle holds in place of weights, in words."""
    return "an empty table" if isinstance(value, dict) else f"an object of type {type(value).__name__}"


def to_array(weight: Weight, buffers: Mapping[str, memoryview]) -> np.ndarray:
    """The numbers of *weight*, contiguous. Raises ExplorerError if they do not all lie in its storage."""
    storage, offset, shape, stride = weight
    if type(storage) is not Storage or type(shape) is not tuple or type(stride) is not tuple:
        raise ExplorerError("a tensor is not described as PyTorch describes it")
    sizes = (offset, *shape, *stride)
    if any(type(n) is int and abs(n) > MAX_INTEGER for n in sizes) or len(shape) > MAX_DIMENSIONS:
        raise ExplorerError("a tensor is larger than any weights are")
    if not all(type(n) is int and n >= 0 for n in sizes) or len(shape) != len(stride):
        raise ExplorerError(f"a tensor has the shape {shape!s:.80} and the strides {stride!s:.80}")
    dtype = np.dtype(STORAGES[storage.kind])
    buffer = buffers.get(storage.key, memoryview(b""))
    wanted = storage.length * dtype.itemsize
    if len(buffer) != wanted:
        raise ExplorerError(f"a storage of {storage.length:,} numbers has {len(buffer):,} bytes; wanted {wanted:,}")
    count = prod(shape)
    last = offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if count > storage.length or (count and last >= storage.length):
        raise ExplorerError(f"a tensor of shape {shape!s:.80} does not fit into its {storage.length:,} numbers")
    numbers = np.frombuffer(buffer, dtype)[offset:]
    strides = [step * dtype.itemsize for step in stride]  # in bytes
    view = np.lib.stride_tricks.as_strided(numbers, shape, strides, writeable=False)
    return np.ascontiguousarray(view).reshape(shape)  # a scalar has become a row


def read_zip(mapped: mmap.mmap) -> tuple[Any, dict[str, memoryview]]:
    """(the object, key of a storage -> its bytes) of the zip format. Entries must be unique and not compressed."""
    try:
        with zipfile.ZipFile(cast(Any, mapped)) as archive:  # mmap reads and seeks like a file
            infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise ExplorerError(f"the archive is damaged ({error})"[:200]) from error
    entries = {entry.filename: entry for entry in infos}
    if len(entries) < len(infos):
        raise ExplorerError("two entries of the archive have the same name")
    if compressed := [name for name, entry in entries.items() if entry.compress_type != zipfile.ZIP_STORED]:
        raise ExplorerError(f"{compressed[0][:80]!r} of the archive is compressed, as PyTorch never writes it")
    pickles = [name for name in entries if name.endswith("/data.pkl")]
    if len(pickles) != 1 or entries[pickles[0]].file_size > MAX_PICKLE_BYTES:
        raise ExplorerError("the archive has no data.pkl of the usual size")
    raw = memoryview(mapped)
    description = bytes(content(raw, entries[pickles[0]]))
    root = pickles[0].removesuffix("data.pkl")
    order = entries.get(f"{root}byteorder")
    if order and bytes(content(raw, order)) != b"little":
        raise ExplorerError("its numbers are big-endian; only little-endian ones are read")
    prefix = f"{root}data/"
    buffers = {}
    for name, entry in entries.items():
        if name.startswith(prefix):
            buffers[name.removeprefix(prefix)] = content(raw, entry)
    return Unpickler(BytesIO(description)).load(), buffers


def content(raw: memoryview, entry: zipfile.ZipInfo) -> memoryview:
    """The bytes of an uncompressed *entry*, without copying them. Raises ExplorerError if they are not all there."""
    header = bytes(raw[entry.header_offset : entry.header_offset + 30])
    name_length = int.from_bytes(header[26:28], "little")
    extra_length = int.from_bytes(header[28:30], "little")
    start = entry.header_offset + 30 + name_length + extra_length
    if header[:4] != b"PK\x03\x04" or start + entry.file_size > len(raw):
        raise ExplorerError("the archive is truncated")
    return raw[start : start + entry.file_size]


def read_legacy(mapped: mmap.mmap) -> tuple[Any, dict[str, memoryview]]:
    """The same for the format before PyTorch 1.6: five pickles in a row, then the storages."""
    if mapped[:1] != b"\x80":  # an HTML page, for example
        raise ExplorerError("PyTorch did not write it")
    parts: list[Any] = []
    kinds: dict[str, str] = {}
    for _ in range(5):
        reader = Unpickler(mapped)
        parts.append(reader.load())
        kinds |= reader.kinds
        if parts[0] != MAGIC:
            raise ExplorerError("PyTorch did not write it")
    _, protocol, system, weights, keys = parts
    if protocol != PROTOCOL or not isinstance(system, dict) or system.get("little_endian") is not True:
        raise ExplorerError("it was written by another version of the format, or on another kind of machine")
    if not isinstance(keys, list) or not all(isinstance(key, str) and key in kinds for key in keys):
        raise ExplorerError("its list of storages is damaged")
    start = mapped.tell()
    raw = memoryview(mapped)
    buffers = {}
    for key in keys:  # of each storage, the count of its numbers, then these
        count = int.from_bytes(raw[start : start + 8], "little")
        end = start + 8 + count * np.dtype(STORAGES[kinds[key]]).itemsize
        if end > len(raw):
            raise ExplorerError("it is truncated")
        buffers[key] = raw[start + 8 : end]
        start = end
    return weights, buffers
