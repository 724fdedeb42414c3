"""One server per data folder, and the leftovers of a crash, of damage or of a newer version."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.runs.jobs import Jobs
from tests.conftest import ROOT
from tests.runs.test_jobs import SPEC
from tests.runs.test_run_folder import tell


@pytest.mark.slow
def test_a_second_server_is_rejected_in_one_sentence(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, reserve=0)
    with pytest.raises(ExplorerError, match=r"Another BERT Explorer \(process \d+\) uses .* BERTEXPLORER_DATA"):
        Jobs(tmp_path)
    command = [sys.executable, "-m", "tests.runs.fake_server", str(tmp_path), "0", "1"]
    other = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert other.returncode == 2 and other.stdout.count("\n") == 1 and "Another BERT Explorer" in other.stdout
    jobs.close()
    Jobs(tmp_path).close()


def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExplorerError, match="cannot be saved"):
        Jobs(tmp_path / "file" / "runs")


def test_damage_and_a_newer_version_are_reported_and_release_the_lock(tmp_path: Path) -> None:
    for _ in range(2):
        (tmp_path / "jobs.sqlite").write_bytes(b"no database at all" * 100)
        with pytest.raises(ExplorerError, match="not a database"):
            Jobs(tmp_path)
    (tmp_path / "jobs.sqlite").unlink()
    db = sqlite3.connect(tmp_path / "jobs.sqlite")
    db.execute("PRAGMA user_version=7")
    db.close()
    for _ in range(2):
        with pytest.raises(ExplorerError, match="newer BERT Explorer"):
            Jobs(tmp_path)


def test_leftovers_of_a_crash_are_cleaned_up(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, reserve=0)
    run, other = jobs.accept("ann", "a", SPEC), jobs.accept("ann", "b", SPEC)
    jobs.table.execute("UPDATE jobs SET wanted = 'deleted', deleted = ? WHERE id = ?", jobs.table.now(), run.id)
    unaccepted, trained = tmp_path / ("e" * 32), tmp_path / ("f" * 32)
    for folder in (unaccepted, trained):
        folder.mkdir()
    tell(trained, {"event": "begun", "time": 1.0, "step": 0})  # its table was lost, its work is not
    (tmp_path / "notes").mkdir()
    jobs.close()
    jobs = Jobs(tmp_path, reserve=0)
    assert [r.id for r in jobs.runs()] == [other.id] and other.folder.is_dir()
    assert {path.name for path in (tmp_path / ".trash").iterdir()} == {run.id, unaccepted.name}
    assert trained.is_dir() and (tmp_path / "notes").is_dir()
    assert jobs.restore(run.id, "ann").state == "stopped"
    jobs.close()
