"""Uploads: files that a page sent, and exports made for it. They stay for a day and have owners.

gradio puts a file into a folder that is named after the hash of its content. The name of an empty file next to it is
that of its owner. Anyone who sends the same file becomes an owner too."""

import tempfile
from pathlib import Path


def add_owner(file: Path, owner: str) -> None:
    """Make *owner* an owner of *file* and of everything else in its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    owner_mark(file, owner).touch()


def is_owner(file: str | Path, folder: Path, owner: str) -> bool:
    """Whether *file* is in the folder of uploads and belongs to *owner*."""
    try:
        path = Path(file).resolve()
        return path.is_relative_to(folder.resolve()) and owner_mark(path, owner).is_file()
    except (OSError, ValueError):  # a NUL character, or a name that is too long
        return False


def new_file(folder: Path, name: str, owner: str) -> Path:
    """An unguessable path at which a file called *name* may be written for *owner*."""
    folder.mkdir(parents=True, exist_ok=True)
    file = Path(tempfile.mkdtemp(dir=folder)) / name
    add_owner(file, owner)
    return file


def folders_of(folder: Path, owner: str) -> list[Path]:
    """The folders of the files that belong to *owner*."""
    return [mark.parent for mark in folder.glob(f"*/{owner_mark(Path(), owner).name}")]


def owner_mark(file: Path, owner: str) -> Path:
    return file.parent / f".of-{owner}"
