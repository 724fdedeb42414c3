"""Uploads: files that a page sent, or that were made for it to be taken along. They lie for a day and have owners.

gradio puts a file into a folder of the hash of its content. An empty file beside it says who sent it; whoever sends the
same has it too."""

import tempfile
from pathlib import Path


def give(file: Path, owner: str) -> None:
    """Let *owner* have *file*, and what else lies in its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mark(file, owner).touch()


def has(file: str | Path, folder: Path, owner: str) -> bool:
    """Whether *file* lies in the folder of uploads and is *owner*'s."""
    try:
        path = Path(file).resolve()
        return path.is_relative_to(folder.resolve()) and mark(path, owner).is_file()
    except (OSError, ValueError):  # NUL, or a name too long
        return False


def make(folder: Path, name: str, owner: str) -> Path:
    """Where a new file called *name* may be written for *owner*; nobody guesses it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = Path(tempfile.mkdtemp(dir=folder)) / name
    give(file, owner)
    return file


def folders(folder: Path, owner: str) -> list[Path]:
    """The folders of the files that are *owner*'s."""
    return [found.parent for found in folder.glob(f"*/{mark(Path(), owner).name}")]


def mark(file: Path, owner: str) -> Path:
    return file.parent / f".of-{owner}"
