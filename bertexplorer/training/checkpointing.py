"""Checkpoints that survive a crash: written to a temporary folder, flushed, sealed by a manifest, renamed; read only if
complete and undamaged."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from safetensors import SafetensorError

from bertexplorer.errors import ExplorerError

MANIFEST = "manifest.json"


def commit(folder: Path, name: str, write: Callable[[Path], None], *, keep: int = 2) -> Path:
    """Have *write* fill a folder, then move it atomically to *folder*/*name*, which is returned. The last *keep*
    commits are kept, the others deleted.

    Earlier commits stay readable whatever happens. Raises ExplorerError if the disk is full."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    target = folder / name
    try:
        # 1. The files, and a manifest of them
        partial.mkdir()
        write(partial)
        manifest = {}
        for path in sorted(partial.rglob("*")):
            if path.is_file():
                name_inside = str(path.relative_to(partial))
                manifest[name_inside] = {"sha256": digest(path), "bytes": path.stat().st_size}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1), "utf-8")

        # 2. Through to disk, and into place
        for path in [*partial.rglob("*"), partial]:
            flush(path)
        shutil.rmtree(target, ignore_errors=True)  # a commit of the same step from before a crash
        os.replace(partial, target)
        flush(folder)
    except (OSError, SafetensorError) as error:  # safetensors reports a full disk by its own error
        shutil.rmtree(partial, ignore_errors=True)
        reason = getattr(error, "strerror", None) or error
        raise ExplorerError(
            f"The checkpoint {name} could not be written to {folder} ({reason}). Make room and resume; the earlier "
            "checkpoints are intact."
        ) from error

    # 3. Without what is too old, or was left half written by a crash
    newest = list_commits(folder)[-keep:]
    for path in list(folder.iterdir()):
        if path not in newest:
            shutil.rmtree(path, ignore_errors=True)
    return target


def flush(path: Path) -> None:
    """Write *path* (a file, or the entries of a folder) through to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    checksum = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum.update(block)
    return checksum.hexdigest()


def list_commits(folder: Path) -> list[Path]:
    """The commits in *folder* that have a manifest, oldest first (their names sort so)."""
    return sorted(p for p in folder.glob("[!.]*") if (p / MANIFEST).is_file())


def find_fault(folder: Path) -> str:
    """Describe the first fault of a commit; "" if every file has the contents recorded in the manifest."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        for name, entry in manifest.items():
            path = folder / name
            if not path.is_file():
                return f"{name} is missing"
            if path.stat().st_size != entry["bytes"]:
                return f"{name} has {path.stat().st_size:,} bytes, not {entry['bytes']:,}"
            if digest(path) != entry["sha256"]:
                return f"{name} is damaged"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{MANIFEST} cannot be read ({error})"
    return ""


def newest_first(folder: Path) -> Iterator[tuple[Path, str]]:
    """(commit, its fault or ""), from the newest to the first that is undamaged."""
    for path in reversed(list_commits(folder)):
        fault = find_fault(path)
        yield path, fault
        if not fault:
            return
