"""Checkpoints that survive a crash: written to a temporary folder, flushed, sealed by a manifest, renamed; read only if
whole."""

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
    """Have *write* fill a folder, then move it to *folder*/*name* atomically. The last *keep* commits are kept.

    Earlier commits stay readable whatever happens. Raises ExplorerError if the disk is full."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{name}.partial"
    shutil.rmtree(aside, ignore_errors=True)
    target = folder / name
    try:
        aside.mkdir()
        write(aside)
        files = sorted(p for p in aside.rglob("*") if p.is_file())
        sums = {str(p.relative_to(aside)): {"sha256": digest(p), "bytes": p.stat().st_size} for p in files}
        (aside / MANIFEST).write_text(json.dumps(sums, indent=1), "utf-8")
        for path in [*files, aside / MANIFEST, *(p for p in aside.rglob("*") if p.is_dir()), aside]:
            flush(path)
        shutil.rmtree(target, ignore_errors=True)  # of the same step, from before a crash
        os.replace(aside, target)
        flush(folder)
    except (OSError, SafetensorError) as error:  # safetensors has its own for a full disk
        shutil.rmtree(aside, ignore_errors=True)
        why = getattr(error, "strerror", None) or error
        raise ExplorerError(
            f"The checkpoint {name} could not be written to {folder} ({why}). Make room and resume; the earlier "
            "checkpoints are whole."
        ) from error
    for old in set(folder.iterdir()) - set(committed(folder)[-keep:]):  # what a crash left half written or deleted, too
        shutil.rmtree(old, ignore_errors=True)
    return target


def flush(path: Path) -> None:
    """Write *path* (a file, or the entries of a folder) through to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest(path: Path) -> str:
    found = sha256()
    with path.open("rb") as opened:
        while block := opened.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def committed(folder: Path) -> list[Path]:
    """The commits in *folder* that have a manifest, oldest first (their names sort so)."""
    return sorted(p for p in folder.glob("[!.]*") if (p / MANIFEST).is_file())


def fault(folder: Path) -> str:
    """What is wrong with a commit, "" if every file has the contents recorded in the manifest."""
    try:
        sums = json.loads((folder / MANIFEST).read_text("utf-8"))
        for name, entry in sums.items():
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


def newest(folder: Path) -> Iterator[tuple[Path, str]]:
    """(commit, what is wrong with it or ""), from the newest down to the first whole one."""
    for path in reversed(committed(folder)):
        wrong = fault(path)
        yield path, wrong
        if not wrong:
            return
