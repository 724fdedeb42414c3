"""Weights that would keep the process busy, or that only look like weights, are rejected quickly."""

import os
import shutil
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.store import convert
from bertexplorer.store.pickled_weights import read
from tests.conftest import Tiny
from tests.store.conftest import NAME, Hub
from tests.store.test_convert import archive, library, pickled

POSIX = b"posix\nsystem\n"
ORDERED = b"ccollections\nOrderedDict\n)R"
RUNS = {  # one for every opcode that can call or set something
    "GLOBAL": b"\x80\x02c" + POSIX + b"U\x01x\x85R.",
    "STACK_GLOBAL": b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x01x\x85R.",
    "INST": b"(S'x'\ni" + POSIX + b".",
    "OBJ": b"(c" + POSIX + b"U\x01xo.",
    "NEWOBJ": b"\x80\x02c" + POSIX + b"U\x01x\x85\x81.",
    "BUILD": b"\x80\x02" + ORDERED + b"}U\x0c__setstate__c" + POSIX + b"sb.",
    "BUILD with slots": b"\x80\x02" + ORDERED + b"N}U\x09__class__c" + POSIX + b"s\x86b.",
    "EXT1": b"\x80\x02\x82\x01.",
    "PERSID": b"P../../etc/passwd\n.",
    "BINPERSID": b"\x80\x02(U\x07storagec" + POSIX + b"U\x010U\x03cpuK\x04tQ.",
    "attribute of a known name": b"\x80\x04\x8c\x0bcollections\x8c\x14OrderedDict.fromkeys\x93.",
}


def huge(digits: int) -> bytes:
    """A number of that many bytes, as a pickle describes it."""
    return b"\x8b" + struct.pack("<i", digits) + b"\x7f" * digits


def described(shape: bytes, stride: bytes) -> bytes:
    """A pickle of one tensor of 4 numbers with the shape and strides that these opcodes leave."""
    storage = b"(U\x07storagectorch\nFloatStorage\nU\x010U\x03cpuK\x04tQ"
    rebuilt = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + shape + stride + b"\x89" + ORDERED + b"tR"
    return b"\x80\x02}U\x01w" + rebuilt + b"s."


@pytest.mark.parametrize("way", RUNS)
def test_no_opcode_runs_anything(tmp_path: Path, way: str) -> None:
    with pytest.raises(ExplorerError, match="no weights need|cannot be read|not described"):
        read(archive(tmp_path / "weights", RUNS[way]))


@pytest.mark.parametrize(
    ("shape", "stride"),
    [
        (b"(" + 200 * huge(100_000) + b"t", b"(" + 200 * b"K\x01" + b"t"),  # takes minutes to multiply
        (b"K\x00" + huge(100_000) + b"\x86", b"K\x01K\x01\x86"),
        (b"K\x01\x85", huge(9) + b"\x85"),
        (b"(" + 65 * b"K\x01" + b"t", b"(" + 65 * b"K\x01" + b"t"),  # more dimensions than numpy has
    ],
)
def test_impossible_sizes_are_rejected_immediately(tmp_path: Path, shape: bytes, stride: bytes) -> None:
    path = archive(tmp_path / "weights", described(shape, stride))
    began = time.monotonic()
    with pytest.raises(ExplorerError, match="larger than any weights are"):
        read(path)
    assert time.monotonic() - began < 2


def test_a_file_of_the_hub_is_reported_by_its_name(hub: Hub, tiny: Tiny, tmp_path: Path) -> None:
    """Not by the hash that is its name in the cache."""
    hub.put(NAME, tiny("bert"), without=("model.safetensors",))
    hub.repos[NAME]["pytorch_model.bin"] = b"<!DOCTYPE html><html>Not found</html>"
    shelf = library(tmp_path / "models" / "x")
    list(shelf.fetch(NAME))
    with pytest.raises(ExplorerError) as caught:
        shelf.get(NAME)
    assert "pytorch_model.bin cannot be read: PyTorch did not write it. Choose another" in str(caught.value)


def test_a_harmful_download_is_deleted(hub: Hub, tiny: Tiny, tmp_path: Path) -> None:
    hub.put(NAME, tiny("bert"), without=("model.safetensors",))
    harmful = archive(tmp_path / "weights", RUNS["GLOBAL"]).read_bytes()
    hub.repos[NAME]["pytorch_model.bin"] = harmful
    shelf = library(tmp_path / "models" / "x")
    list(shelf.fetch(NAME))
    with pytest.raises(ExplorerError, match="no weights need.*The download was deleted."):
        shelf.get(NAME)
    assert NAME not in shelf.offline() and shelf.find(NAME) is None
    left = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert left and not any(file.read_bytes() == harmful for file in left)
    assert list((tmp_path / "models" / "data" / "converted").iterdir()) == []


@pytest.mark.parametrize("lack", ["bert.pooler.dense.bias", "bert.embeddings.LayerNorm.weight"])
def test_unusable_converted_weights_are_deleted(tiny_copy: Tiny, lack: str) -> None:
    folder = pickled(tiny_copy)
    weights = torch.load(folder / convert.SINGLE, weights_only=True)
    torch.save({name: tensor for name, tensor in weights.items() if name != lack}, folder / convert.SINGLE)
    with pytest.raises(ExplorerError, match="lack"):
        library(folder).get("bert")
    assert list((folder.parent / "data" / "converted").iterdir()) == []


def test_two_conversions_of_the_same_file_do_not_interfere(tiny_copy: Tiny) -> None:
    """For example when two people open a checkpoint in two precisions."""
    folder = pickled(tiny_copy)
    at_once = partial(convert.with_safetensors, "bert", folder, folder.parent / "data", allowed=True)
    with ThreadPoolExecutor(3) as pool:
        targets = [future.result() for future in [pool.submit(at_once) for _ in range(3)]]
    assert len(set(targets)) == 1 and list(targets[0].parent.iterdir()) == [targets[0]]
    assert library(folder).get("bert").config.num_layers > 0


def test_an_interrupted_deletion_does_not_block_a_checkpoint(tiny_copy: Tiny) -> None:
    folder = pickled(tiny_copy)
    target = convert.with_safetensors("bert", folder, folder.parent / "data", allowed=True)
    (target / convert.ORIGIN).unlink()
    assert convert.with_safetensors("bert", folder, folder.parent / "data", allowed=True) == target
    assert (target / convert.ORIGIN).is_file() and (target / "model.safetensors").is_file()


def test_a_full_disk_is_not_reported_as_a_damaged_file(tiny_copy: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = pickled(tiny_copy)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=60_000_000))
    with pytest.raises(ExplorerError, match=r"bert cannot be converted: this needs 0\.0\d GB, and 0\.06 GB are free"):
        convert.with_safetensors("bert", folder, folder.parent / "data", allowed=True)


def test_a_file_that_changes_during_conversion_is_not_stored_under_its_old_hash(
    tiny_copy: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pickled(tiny_copy)
    original = convert.convert

    def while_copied(*arguments: Any, **more: Any) -> None:
        (folder / convert.SINGLE).touch()
        original(*arguments, **more)

    monkeypatch.setattr(convert, "convert", while_copied)
    with pytest.raises(ExplorerError, match="changed while they were converted. Try again"):
        convert.with_safetensors("bert", folder, folder.parent / "data", allowed=True)
    assert list((folder.parent / "data" / "converted").iterdir()) == []


def test_leftovers_of_a_killed_process_are_deleted(tiny_copy: Tiny) -> None:
    folder = pickled(tiny_copy)
    left, new = (folder.parent / "data" / "converted" / f".{name}.1.partial" for name in ("left", "new"))
    for folder_left in (left, new):
        folder_left.mkdir(parents=True)
    os.utime(left, (time.time() - 3 * convert.SECONDS,) * 2)
    library(folder).get("bert")
    assert not left.exists() and new.exists(), "another process may still be at the new one"
