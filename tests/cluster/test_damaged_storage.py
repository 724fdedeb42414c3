"""Damaged, incomplete and malicious contents of the storage, and files that change during their upload."""

import json
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from bertexplorer.cluster.remote_folder import SMALL_BYTES, RemoteFolder, StorageError
from tests.cluster.object_storage import Objects, contents, remote, write

pytestmark = pytest.mark.usefixtures("objects")


def test_damage_is_detected(tmp_path: Path, objects: type[Objects]) -> None:
    write(tmp_path / "here", {"data/rows": "rows", "log.txt": "one\n"})
    remote().push(tmp_path / "here")
    for path in [path for path in objects.store if "/blobs/" in path]:
        MemoryFileSystem.pipe_file(objects(), path, b"else")
    with pytest.raises(StorageError, match="is damaged"):
        remote(owner=False).pull(tmp_path / "there")


def test_a_file_that_changes_during_its_upload_is_uploaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, source, write_blob, versions = tmp_path / "here", remote(), RemoteFolder.write, iter(range(2))
    write(here, {"best/model": "0" * (SMALL_BYTES + 1)})

    def change(self: RemoteFolder, name: str, content: bytes | Path) -> None:
        if isinstance(content, Path) and (version := next(versions, None)) is not None:
            content.write_text(f"{version + 1}" * (SMALL_BYTES + 2 + version))
        write_blob(self, name, content)

    monkeypatch.setattr(RemoteFolder, "write", change)
    assert source.push(here) and remote(owner=False).pull(tmp_path / "there")
    assert contents(tmp_path / "there") == contents(here)


def test_a_state_writes_only_into_its_folder(tmp_path: Path, objects: type[Objects]) -> None:
    source = remote()
    write(tmp_path / "here", {"best.json": "1"})
    source.push(tmp_path / "here")
    (path,) = [path for path in objects.store if "/states/" in path]
    state = json.loads(objects.store[path].getvalue())["files"]
    for number, name in enumerate(("../../outside", "/tmp/outside", "data/../../outside"), 1):
        content = json.dumps({"files": state | {name: state["best.json"]}}).encode()
        MemoryFileSystem.pipe_file(objects(), f"{source.root}/states/{source.owner}.{number:08d}", content)
    there = tmp_path / "a" / "b" / "there"
    assert not remote(owner=False).pull(there) and not list(tmp_path.rglob("outside"))


def test_an_incomplete_state_is_skipped_for_the_previous_one(tmp_path: Path, objects: type[Objects]) -> None:
    source = remote()
    write(tmp_path / "here", {"best.json": "1"})
    source.push(tmp_path / "here")
    MemoryFileSystem.pipe_file(objects(), f"{source.root}/states/{source.owner}.00000009", b'{"files": {"best')
    assert remote(owner=False).pull(tmp_path / "there")
    assert contents(tmp_path / "there") == {"best.json": b"1"}
