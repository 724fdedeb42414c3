"""Foreign checkpoints that hang or crash a process are rejected with a reason; the others are opened once."""

import json
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store import examine, sandbox
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny

GROWING = [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}] * 5
ONE_MANY = {"type": "Replace", "pattern": {"String": "\u0436"}, "content": "a" * 100_000}
BACKWARDS = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}


@pytest.fixture
def crafted(tiny_copy: Tiny) -> Callable[..., Path]:
    """A copy of a tiny checkpoint with another tokenizer.json."""

    def make(**change: Any) -> Path:
        folder = tiny_copy("bert")
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
        return folder

    return make


def hang(folder: str) -> None:
    time.sleep(600)


def library(folder: Path) -> CheckpointRegistry:
    return CheckpointRegistry(Settings(models_dir=folder.parent, data_dir=folder.parent / "data"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "/////w=="}},  # aborts when it is read
        {"normalizer": {"type": "Sequence", "normalizers": GROWING}},  # asks for more memory than there is
        {"pre_tokenizer": BACKWARDS},
        {"normalizer": ONE_MANY},  # in a letter that no text of ours has
    ],
)
def test_a_checkpoint_that_would_crash_the_process_is_rejected(
    crafted: Callable[..., Path], change: dict[str, Any]
) -> None:
    folder = crafted(**change)
    with pytest.raises(ExplorerError, match="bert cannot be used: .* Choose another checkpoint"):
        library(folder).get("bert")
    assert [mark.suffix for mark in (folder.parent / "data" / "examined").iterdir()] != [""], "it did not pass"


@pytest.mark.slow
def test_a_checkpoint_that_hangs_is_rejected(crafted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    slow = {**BACKWARDS, "pattern": {"Regex": "(?:a|a){20}[b-c]"}}
    monkeypatch.setattr(examine, "open_files", hang)
    monkeypatch.setattr(examine, "SECONDS", 3.0)
    with pytest.raises(ExplorerError, match="opening its files took longer than 3 s"):
        library(crafted(pre_tokenizer=slow)).get("bert")


@pytest.mark.slow
def test_what_was_refused_stays_refused_while_its_files_are_the_same(
    crafted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    call = sandbox.call

    def counted(*given: Any, **more: Any) -> Any:
        calls.append(given)
        return call(*given, **more)

    monkeypatch.setattr(sandbox, "call", counted)
    monkeypatch.setattr(examine, "verdicts", {})
    folder = crafted(normalizer=ONE_MANY)
    for _ in range(3):
        with pytest.raises(ExplorerError, match="bert cannot be used: The normalizer makes 100,000 characters of one"):
            library(folder).get("bert")
        assert len(calls) == 1
        examine.verdicts.clear()  # as after a restart
    (folder / "tokenizer_config.json").write_text("{}", "utf-8")
    with pytest.raises(ExplorerError, match="bert cannot be used"):
        library(folder).get("bert")
    assert len(calls) == 2


def test_what_hung_is_examined_again_on_another_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: list[Exception | None] = [sandbox.SandboxError("took longer than 60 s"), None]

    def call(*_: Any, **__: Any) -> None:
        if outcome := outcomes.pop(0):
            raise outcome

    monkeypatch.setattr(sandbox, "call", call)
    monkeypatch.setattr(examine, "verdicts", {})
    folder = tmp_path / "model"
    folder.mkdir()
    for _ in range(2):
        with pytest.raises(ExplorerError, match="model cannot be used: opening its files took longer than 60 s"):
            examine.examine("model", folder, tmp_path)
    [mark] = (tmp_path / "examined").iterdir()
    yesterday = mark.stat().st_mtime - examine.RETRY_S
    os.utime(mark, (yesterday, yesterday))
    examine.examine("model", folder, tmp_path)
    examine.examine("model", folder, tmp_path)
    assert not outcomes


def test_an_impossible_header_is_rejected_immediately(tiny_copy: Tiny) -> None:
    folder = tiny_copy("bert")
    entry = {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(100_000)}
    head = json.dumps(entry).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head)
    begun = time.perf_counter()
    with pytest.raises(ExplorerError, match=r"model\.safetensors of bert has a header of [5-9]\.\d MB; wanted 4 MB at"):
        library(folder).get("bert")
    assert time.perf_counter() - begun < 5


def test_an_oversized_vocabulary_is_rejected(tiny_copy: Tiny) -> None:
    folder = tiny_copy("bert")
    with (folder / "vocab.txt").open("wb") as opened:
        opened.truncate(examine.MAX_FILE_BYTES + 1)
    with pytest.raises(ExplorerError, match=r"vocab\.txt of bert has 100 MB; wanted 100 MB at most"):
        library(folder).get("bert")


@pytest.mark.slow
def test_a_valid_checkpoint_is_examined_once_and_again_after_a_change(
    tiny_copy: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    call = sandbox.call
    monkeypatch.setattr(sandbox, "call", lambda *given, **more: (calls.append(given), call(*given, **more)))
    monkeypatch.setattr(examine, "verdicts", {})
    folder = tiny_copy("bert")
    config = folder / "tokenizer_config.json"
    for count in (1, 1):
        library(folder).get("bert")
        assert len(calls) == count
    examine.verdicts.clear()  # as after a restart
    library(folder).get("bert")
    assert len(calls) == 1
    config.write_text(json.dumps({"do_lower_case": False}), "utf-8")
    library(folder).get("bert")
    assert len(calls) == 2


def test_bundled_checkpoints_are_not_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "call", lambda *_, **__: pytest.fail("a process was started"))
    assert CheckpointRegistry(Settings(data_dir=tmp_path)).get("tiny").name == "tiny"
