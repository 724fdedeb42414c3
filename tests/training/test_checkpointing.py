"""A commit is written completely or not at all; damaged ones, and those of a run that was taken over, are not used."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors import SafetensorError

from bertexplorer.errors import ExplorerError
from bertexplorer.training import ownership
from bertexplorer.training.checkpointing import MANIFEST, commit, find_fault, list_commits, newest_first
from bertexplorer.training.events import Event
from bertexplorer.training.run_process import log_events


def write(text: str):
    def into(folder: Path) -> None:
        (folder / "model").mkdir()
        (folder / "model" / "weights").write_text(text * 1000)
        (folder / "state.json").write_text(text)

    return into


def test_a_commit_is_read_back_and_older_ones_are_deleted(tmp_path: Path) -> None:
    for number in range(4):
        commit(tmp_path, f"step-{number}", write(str(number)), keep=2)
    assert (
        [p.name for p in list_commits(tmp_path)] == ["step-2", "step-3"] == sorted(p.name for p in tmp_path.iterdir())
    )
    assert list(newest_first(tmp_path)) == [(tmp_path / "step-3", "")]
    assert (tmp_path / "step-3" / "model" / "weights").read_text() == "3" * 1000


def test_the_next_commit_deletes_leftovers_of_a_crash(tmp_path: Path) -> None:
    commit(tmp_path, "step-1", write("1"))
    (tmp_path / "step-1" / MANIFEST).unlink()  # killed while it was deleted
    (tmp_path / ".step-2.partial").mkdir()  # killed while it was written
    commit(tmp_path, "step-3", write("3"))
    assert [p.name for p in tmp_path.iterdir()] == ["step-3"]


def test_a_commit_of_the_same_name_replaces_the_earlier_one(tmp_path: Path) -> None:
    commit(tmp_path, "a", write("old"))
    commit(tmp_path, "a", write("new"))
    assert (tmp_path / "a" / "state.json").read_text() == "new" and find_fault(tmp_path / "a") == ""


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("state.json", lambda p: p.unlink(), "missing"),
        ("model/weights", lambda p: p.write_text("1" * 999), "bytes"),
        ("model/weights", lambda p: p.write_text("2" * 1000), "damaged"),
        (MANIFEST, lambda p: p.write_text('{"a": '), "cannot be read"),
        (MANIFEST, lambda p: p.write_text("[]"), "cannot be read"),
    ],
)
def test_a_torn_commit_is_skipped(tmp_path: Path, file: str, change, message: str) -> None:
    for number in (0, 1):
        commit(tmp_path, f"step-{number}", write(str(number)))
    change(tmp_path / "step-1" / file)
    result = list(newest_first(tmp_path))
    assert [p.name for p, _ in result] == ["step-1", "step-0"] and message in result[0][1] and result[1][1] == ""


def test_a_folder_without_a_manifest_is_ignored(tmp_path: Path) -> None:
    commit(tmp_path, "step-0", write("0"))
    commit(tmp_path, "step-1", write("1"))
    (tmp_path / "step-1" / MANIFEST).unlink()
    (tmp_path / "step-0").rename(tmp_path / ".step-2")  # as a commit is called until it is complete
    commit(tmp_path, "step-0", write("0"))
    assert [p.name for p, _ in newest_first(tmp_path)] == ["step-0"]
    assert list(newest_first(tmp_path / "nothing")) == []


FULL = OSError(28, "No space left on device"), SafetensorError("I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__name__)
def test_a_crash_or_a_full_disk_leaves_the_last_commit_intact(tmp_path: Path, error: Exception) -> None:
    commit(tmp_path, "step-0", write("0"))

    def crash(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise KeyboardInterrupt

    def full(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise error

    with pytest.raises(KeyboardInterrupt):
        commit(tmp_path, "step-1", crash)
    with pytest.raises(ExplorerError, match="No space left.* Make room"):
        commit(tmp_path, "step-1", full)
    assert [(p.name, wrong) for p, wrong in newest_first(tmp_path)] == [("step-0", "")]
    commit(tmp_path, "step-1", write("1"))
    assert next(newest_first(tmp_path)) == (tmp_path / "step-1", "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-0", "step-1"]


class Run:
    """Yields one event per step; at the second, another process takes over the run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def events(self) -> Iterator[Event]:
        for step in range(5):
            if step == 2:
                ownership.begin_epoch(self.folder)
            yield {"event": "steps", "share": step / 5}

    def position(self) -> Event:
        return {"stretch": 0, "step": 0}


def test_a_superseded_process_stops_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ownership.VARIABLE, str(ownership.begin_epoch(tmp_path)))
    with pytest.raises(ownership.Superseded, match="Another process has taken over"):
        list(log_events(tmp_path, lambda stop: Run(tmp_path), lambda: False))
    log = (tmp_path / "events.jsonl").read_text().splitlines()
    assert len(log) == 2 and not any("failed" in line for line in log)


def test_without_a_cluster_ownership_is_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ownership.VARIABLE, raising=False)
    assert ownership.current_epoch(tmp_path) == 0
    assert len(list(log_events(tmp_path, lambda stop: Run(tmp_path), lambda: False))) == 5


def test_epochs_increase_and_a_torn_file_restarts_them(tmp_path: Path) -> None:
    assert [ownership.begin_epoch(tmp_path) for _ in range(3)] == [1, 2, 3]
    (tmp_path / "epoch").write_text("torn")
    assert ownership.begin_epoch(tmp_path) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["epoch"]
