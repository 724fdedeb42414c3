"""Convert pytorch_model.bin to safetensors: once for each file, in a process of its own, kept by the file's SHA-256."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from bertexplorer.errors import ExplorerError
from bertexplorer.store import apart

SINGLE, INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
ORIGIN = "converted.json"  # where the weights come from, beside them
SUFFIXES = (".json", ".txt", ".model", ".md")  # of the files that go along
SECONDS = 300.0
BESIDES = 64_000_000  # bytes of memory and of disk beyond those that the source needs
MEMORY = 400_000_000  # bytes that the process needs before it reads anything
LARGEST = 20_000_000_000


def sources(folder: Path) -> list[Path]:
    """The files of weights to convert; [] if the folder has safetensors, or neither. Raises ExplorerError for an index
    that names other files."""
    if any(folder.glob("*.safetensors")) or (folder / "model.safetensors.index.json").is_file():
        return []
    if (folder / SINGLE).is_file():
        return [folder / SINGLE]
    if not (folder / INDEX).is_file():
        return []
    try:
        names = sorted(set(json.loads((folder / INDEX).read_text("utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ExplorerError(f"{INDEX} is not a list of weight files. Download it again.") from error
    for name in names:
        if not isinstance(name, str) or Path(name).name != name or not (folder / name).is_file():
            raise ExplorerError(f"{INDEX} names {name!r:.80}, which is not a file of this folder. Download it again.")
    return [folder / name for name in names]


def readable(name: str, folder: Path, memory: Path, *, allowed: bool) -> Path:
    """*folder*, or one in *memory* with its weights converted to safetensors. Raises ExplorerError if there is nothing
    but pickles and they are not *allowed*, or if they hold anything but weights."""
    files = sources(folder)
    if not files:
        return folder
    names = ", ".join(file.name for file in files)
    if not allowed:
        raise ExplorerError(
            f"{name} has its weights in {names} alone, which may run code when opened, and this page is open to "
            "others. Start it with BERTEXPLORER_PICKLE=convert to have such files converted, or choose another one."
        )
    size = sum(file.stat().st_size for file in files)
    if size > LARGEST:
        raise ExplorerError(f"{names} of {name} has {size / 1e9:,.1f} GB; wanted {LARGEST / 1e9:.0f} GB at most.")
    digests = {file.name: digest(file) for file in files}
    others = sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES and file.is_file())
    key = hashlib.sha256()
    for one in (*digests.values(), *(f"{file.name} {digest(file)}" for file in others)):
        key.update(one.encode())
    place = memory / "converted" / key.hexdigest()
    if not (place / ORIGIN).is_file():
        convert(name, files, others, place, digests)
    return place


def convert(name: str, files: list[Path], others: list[Path], place: Path, digests: dict[str, str]) -> None:
    """Fill the folder *place*, which is whole or not there."""
    size = sum(file.stat().st_size for file in files)
    aside = place.with_name(f".{place.name}.{os.getpid()}.partial")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for file in others:
            shutil.copyfile(file, aside / file.name)
        given = [str(file.resolve()) for file in files]
        limits = {"megabytes": (MEMORY + BESIDES + 2 * size) // 1_000_000, "disk": size + BESIDES}
        apart.call(write, given, str((aside / "model.safetensors").resolve()), seconds=SECONDS, **limits)
        (aside / ORIGIN).write_text(json.dumps({"converted_from": digests}, indent=1), "utf-8")
        os.replace(aside, place)
    except apart.Broken as broken:
        raise ExplorerError(
            f"{name} cannot be used: converting its weights {broken}, so the file is damaged or harmful. Choose "
            "another checkpoint."
        ) from broken
    except ExplorerError as error:
        raise ExplorerError(f"{name} cannot be used: {error}. Choose another checkpoint.") from error
    except OSError as error:
        if not (place / ORIGIN).is_file():  # another process was faster, which is as good
            raise ExplorerError(f"{name} cannot be converted ({error.strerror or error}). Make room.") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def origin(folder: Path) -> str:
    """Where the weights in *folder* come from, in words; "" if they were not converted."""
    try:
        held = json.loads((folder / ORIGIN).read_text("utf-8"))["converted_from"]
        return "converted from " + ", ".join(f"{name} (sha256 {one[:12]}…)" for name, one in held.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""


def write(files: Iterable[str], target: str) -> None:
    """Read the weights in *files* and write them as safetensors. Called in the other process."""
    from safetensors import TensorSpec, serialize_file

    from bertexplorer.store.pickled_weights import BITS, read

    found: dict[str, np.ndarray] = {}
    for file in files:
        try:
            found |= read(Path(file))
        except ExplorerError as error:
            raise ExplorerError(f"{Path(file).name} cannot be read: {error}") from error
    kinds = {name: "bfloat16" if one.dtype == BITS else one.dtype.name for name, one in found.items()}
    specs = {
        name: TensorSpec(dtype=kinds[name], shape=one.shape, data_ptr=one.ctypes.data, data_len=one.nbytes)
        for name, one in found.items()
    }
    serialize_file(specs, target, {"format": "pt"})
