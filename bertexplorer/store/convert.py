"""Convert pytorch_model.bin to safetensors in a separate process. The result is stored by the SHA-256 of the files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from bertexplorer.errors import ExplorerError
from bertexplorer.model.file_state import FileState, file_state
from bertexplorer.model.layout import encoder_folder
from bertexplorer.store import sandbox, sentence_files

SINGLE, INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors")  # of weights
LENS = "tuned-lens.safetensors"  # beside the weights; engine/tuned_lens.py reads it
ORIGIN = "converted.json"  # says which files the weights come from
SHA256 = re.compile(r"[0-9a-f]{64}")
SUFFIXES = (".json", ".txt", ".model", ".md", ".metadata")  # of the files that are copied
SECONDS = 300.0
MARGIN_BYTES = 64_000_000  # of memory and of disk, in addition to the size of the weights
BASE_BYTES = 400_000_000  # of memory that the process needs before it reads anything
MAX_BYTES = 20_000_000_000


class HarmfulError(ExplorerError):
    """What is in the files is refused, whatever the machine has room for."""


def pickle_files(folder: Path) -> list[Path]:
    """The weight files to convert; [] if the folder has safetensors, or no weights. Raises ExplorerError for an index
    that names files outside the folder."""
    if any((folder / name).is_file() for name in SAFETENSORS):
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


def with_safetensors(name: str, folder: Path, data_dir: Path, *, allowed: bool) -> Path:
    """*folder* if it has safetensors, else a folder in *data_dir* with its weights converted. Raises ExplorerError if
    there are only pickles and they are not *allowed*, if they are not what the hub published, and HarmfulError if they
    contain anything but weights."""
    # 1. The pickles: whether they may be converted, and are as they were published.
    inner = encoder_folder(folder)
    files = pickle_files(inner)
    if not files:
        return folder
    names = ", ".join(file.name for file in files)
    if not allowed:
        raise ExplorerError(
            f"{name} has its weights in {names} alone, which may run code when opened, and this page is open to "
            "others. Start it with BERTEXPLORER_PICKLE=convert to have such files converted, or choose another one."
        )
    size = sum(file.stat().st_size for file in files)
    if size > MAX_BYTES:
        raise ExplorerError(f"{names} of {name} has {size / 1e9:,.1f} GB; wanted {MAX_BYTES / 1e9:.0f} GB at most.")
    before = file_state(files)
    digests = {file.name: digest(file) for file in files}
    for file in files:
        published = published_digest(file)
        if published not in ("", digests[file.name]):
            raise ExplorerError(
                f"{file.name} of {name} has the SHA-256 {digests[file.name][:12]}…; the hub published "
                f"{published[:12]}…. The download is damaged: delete it from the hub's cache, and open it again."
            )
    # 2. The folder that is named by their content and by that of the files beside them.
    others = files_to_copy(folder, inner)
    key = hashlib.sha256()
    for sha in digests.values():
        key.update(sha.encode())
    for path, file in others.items():
        key.update(f"{path} {digest(file)}".encode())
    target = data_dir / "converted" / key.hexdigest()
    if (target / ORIGIN).is_file():
        return target
    try:
        convert(name, files, others=others, target=target, digests=digests, before=before)
    except OSError as error:
        raise ExplorerError(f"{name} cannot be converted ({error.strerror or error}). Make room.") from error
    return target


def files_to_copy(folder: Path, inner: Path) -> dict[Path, Path]:
    """Path in a converted checkpoint -> file that is copied there: those of the encoder in the folder *inner*, which
    comes to lie in the new folder itself, and those of the sentence encoder in *folder*. Sorted by path."""
    files = {file.relative_to(folder): file for file in sentence_files.find_files(folder)}
    for file in inner.iterdir():
        if file.is_file() and (file.suffix in SUFFIXES or file.name == LENS):
            files[file.relative_to(inner)] = file
    return dict(sorted(files.items()))


def convert(
    name: str,
    files: list[Path],
    *,
    others: Mapping[Path, Path],
    target: Path,
    digests: dict[str, str],
    before: FileState,
) -> None:
    """Create the folder *target*, in one step, from *files* whose `file_state` was *before* and whose SHA-256 are
    *digests*, by name. *others*: path in the new folder -> file to copy. Raises OSError, and ExplorerError as
    `with_safetensors` does."""
    target.parent.mkdir(parents=True, exist_ok=True)
    delete_abandoned(target.parent)
    needed = sum(file.stat().st_size for file in files) + MARGIN_BYTES
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise ExplorerError(
            f"{name} cannot be converted: this needs {needed / 1e9:.2f} GB, and {free / 1e9:.2f} GB are free. Make "
            "room."
        )
    with tempfile.TemporaryDirectory(".partial", f".{target.name}.", target.parent, ignore_cleanup_errors=True) as made:
        write(name, files, others=others, digests=digests, partial=Path(made))
        if file_state(files) != before:
            raise ExplorerError(f"The weights of {name} changed while they were converted. Try again.")
        if target.is_dir() and not (target / ORIGIN).is_file():
            shutil.rmtree(target, ignore_errors=True)  # its deletion was interrupted
        Path(made).chmod(0o755)
        try:
            os.replace(made, target)
        except OSError:
            if not (target / ORIGIN).is_file():  # unless another process has converted it meanwhile
                raise


def write(name: str, files: list[Path], *, others: Mapping[Path, Path], digests: dict[str, str], partial: Path) -> None:
    """Write the converted weights of *files*, and copies of the *others*, into the empty folder *partial*. Raises as
    `convert` does."""
    size = sum(file.stat().st_size for file in files)
    try:
        for path, file in others.items():
            (partial / path).parent.mkdir(exist_ok=True)
            shutil.copyfile(file, partial / path)
        sandbox.call(
            write_safetensors,
            {file.name: str(file.resolve()) for file in files},
            str((partial / "model.safetensors").resolve()),
            seconds=SECONDS,
            megabytes=(BASE_BYTES + MARGIN_BYTES + 2 * size) // 1_000_000,
            disk=size + MARGIN_BYTES,
        )
        (partial / ORIGIN).write_text(json.dumps({"converted_from": digests}, indent=1), "utf-8")
    except sandbox.SandboxError as error:
        raise ExplorerError(
            f"{name} cannot be used: converting its weights {error}, so the file is damaged or harmful. Choose "
            "another checkpoint."
        ) from error
    except ExplorerError as error:
        raise HarmfulError(f"{name} cannot be used: {error}. Choose another checkpoint.") from error


def delete_abandoned(folder: Path) -> None:
    """Delete what processes that were killed while they converted have left in *folder*."""
    for partial in folder.glob(".*.partial"):
        with suppress(FileNotFoundError):  # it was just renamed
            if partial.stat().st_mtime < time.time() - 2 * SECONDS:
                shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def kept_if_usable(converted: Path, source: Path) -> Iterator[None]:
    """Delete the folder *converted*, unless it is the *source* itself, if the with block raises ExplorerError."""
    try:
        yield
    except ExplorerError:
        if converted != source:
            shutil.rmtree(converted, ignore_errors=True)
        raise


def digest(file: Path) -> str:
    """The SHA-256 of *file*, 64 hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def published_digest(file: Path) -> str:
    """The SHA-256 that the hub published for a large *file*, by which its cache names the blob; "" for other files."""
    blob = file.resolve().name
    return blob if file.is_symlink() and SHA256.fullmatch(blob) else ""


def conversion_note(folder: Path) -> str:
    """Which files the weights in *folder* come from, for people; "" if they were not converted."""
    try:
        digests = json.loads((folder / ORIGIN).read_text("utf-8"))["converted_from"]
        names = ", ".join(f"{name} (sha256 {sha[:12]}…)" for name, sha in digests.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    return f"converted from {names}"


def write_safetensors(files: Mapping[str, str], target: str) -> None:
    """Read the weights in *files*, name -> path, and write them as safetensors. Called in the separate process. Raises
    ExplorerError for a file that contains anything else."""
    from safetensors import TensorSpec, serialize_file

    from bertexplorer.store.pickled_weights import BFLOAT16_BITS, read

    arrays: dict[str, np.ndarray] = {}
    for name, path in files.items():
        try:
            arrays |= read(Path(path))
        except ExplorerError as error:
            raise ExplorerError(f"{name} cannot be read: {error}") from error
    specs = {}
    for name, array in arrays.items():
        specs[name] = TensorSpec(
            dtype="bfloat16" if array.dtype == BFLOAT16_BITS else array.dtype.name,
            shape=array.shape,
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
    serialize_file(specs, target, {"format": "pt"})
