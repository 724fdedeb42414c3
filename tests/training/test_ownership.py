"""A process whose run has been taken over stops writing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bertexplorer.training import ownership
from bertexplorer.training.events import Event
from bertexplorer.training.run_process import log_events


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
