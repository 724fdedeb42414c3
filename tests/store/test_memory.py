"""A checkpoint that does not fit is rejected with both numbers, and others are evicted for one that would fit."""

from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.settings import Settings
from bertexplorer.store import examine
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny


def test_the_memory_of_a_checkpoint_follows_from_its_headers(tiny: Tiny) -> None:
    loaded_bytes = load(tiny("bert"), precision="fp32").num_bytes
    assert loaded_bytes <= examine.weight_bytes(tiny("bert"), "fp32") < 1.5 * loaded_bytes
    assert examine.weight_bytes(tiny("bert"), "bf16") == examine.weight_bytes(tiny("bert"), "fp32") // 2


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0[]", b'\x07\0\0\0\0\0\0\0{"a":1}'])
def test_loading_reports_unreadable_files(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    assert examine.weight_bytes(tmp_path, "fp32") == 0


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = {"memory.max": "5000000", "memory.current": "3000000", "memory.stat": "anon 1\ninactive_file 400000\n"}
    for name, content in message.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   1000000 kB\n")
    monkeypatch.setattr(examine, "CGROUP", tmp_path)
    monkeypatch.setattr(examine, "MEMINFO", tmp_path / "meminfo")
    assert examine.free_bytes() == 2_400_000
    (tmp_path / "memory.max").write_text("max")
    assert examine.free_bytes() == 1_024_000_000
    monkeypatch.setattr(examine, "MEMINFO", tmp_path / "none")
    assert examine.free_bytes() is None


def test_checkpoints_that_do_not_fit_are_rejected_or_evict_others(
    tiny_copy: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bert", "roberta"):
        tiny_copy(name)
    library = CheckpointRegistry(Settings(models_dir=tmp_path))
    first = library.get("bert", "fp32")
    monkeypatch.setattr(examine, "free_bytes", lambda: examine.RESERVE_BYTES)
    monkeypatch.setattr(examine, "weight_bytes", lambda *_: 30_000_000_000)
    with pytest.raises(ExplorerError, match=r"roberta takes 30.0 GB of memory and 0.0 GB are available"):
        library.get("roberta", "fp32")
    assert library.get("bert", "fp32") is first
    monkeypatch.setattr(examine, "weight_bytes", lambda *_: first.num_bytes)
    second = library.get("roberta", "fp32")
    assert [*library.loaded.values()] == [second]
