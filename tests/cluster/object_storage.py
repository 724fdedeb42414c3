"""Object storage in memory, and folders to exchange over it."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from fsspec.implementations.memory import MemoryFileSystem

from bertexplorer.cluster.remote_folder import RemoteFolder

UNLIMITED = 10**9


class Objects(MemoryFileSystem):
    """Object storage in memory with a limited number of writes. Like real ones, it can neither rename nor append."""

    protocol = "objects"
    writes_left = UNLIMITED
    written: list[str] = []
    store: dict[str, Any] = {}
    pseudo_dirs: list[str] = [""]

    @classmethod
    def spend(cls, path: str) -> None:
        if cls.writes_left <= 0:
            raise PermissionError(13, "no space", path)
        cls.writes_left -= 1
        cls.written.append(path)

    def pipe_file(self, path: str, value: bytes, **more: Any) -> None:
        self.spend(path)
        super().pipe_file(path, value, **more)

    def put_file(self, lpath: str, rpath: str, **more: Any) -> None:
        self.spend(rpath)
        MemoryFileSystem.pipe_file(self, rpath, Path(lpath).read_bytes())

    def rm_file(self, path: str) -> None:
        if self.writes_left <= 0:
            raise PermissionError(13, "no space", path)
        super().rm_file(path)

    def mv(self, *given: Any, **more: Any) -> None:
        raise NotImplementedError("object storage does not rename")


def remote(owner: bool = True) -> RemoteFolder:
    folder = RemoteFolder("objects://runs/1")
    if owner:
        folder.take_ownership()
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in files.items() if not name.rpartition("/")[2].startswith(".")}


def digest(folder: Path) -> str:
    return sha256(repr(sorted(contents(folder).items())).encode()).hexdigest()
