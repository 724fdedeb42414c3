"""A suite in a folder: stopped, killed and resumed, it ends with the table of an uninterrupted run."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertexplorer.cli import main
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.runs import suite_folder
from bertexplorer.runs.suite_folder import MAX_ROWS, SuiteFolder
from bertexplorer.views.suite import compute as suite, scores as suite_scores
from tests.conftest import ROOT, Tiny

CHUNK = 12
COUNT = 3 * CHUNK + 5
ROWS = [
    (n, {"good": f"the cat sat on mat {n} .", "bad": f"the cat sit on mat {n} .", "category": str(n % 3)})
    for n in range(COUNT)
]
ROWS[5] = (5, {"good": "the same", "bad": "the same"})


@pytest.fixture(scope="module", autouse=True)
def small_batches() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite_folder, "CHUNK", CHUNK)
        patch.setattr(suite_scores, "CHUNK", CHUNK)
        yield


@pytest.fixture(scope="module")
def checkpoint(tiny: Tiny) -> Checkpoint:
    return load(tiny("bert"), precision="fp32")


@pytest.fixture(scope="module")
def whole(checkpoint: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The table of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole") / "suite"
    *_, last = SuiteFolder(folder, checkpoint, ROWS, "the whole sentence").run()
    assert last.done == last.total == COUNT - 1
    return (folder / "cases.csv").read_text("utf-8")


def test_the_folder_gives_the_same_result_as_the_view(whole: str, checkpoint: Checkpoint, tmp_path: Path) -> None:
    folder = SuiteFolder(tmp_path, checkpoint, ROWS[:CHUNK], "the whole sentence")
    list(folder.run())
    direct = suite.run(checkpoint, rows=ROWS[:CHUNK], options=suite.Options(most=1000))
    results = folder.result()
    assert (results.total, results.shares, results.unusable) == (direct.total, direct.shares, direct.unusable)
    assert suite.rows(results) == suite.rows(direct)


def test_a_stopped_and_resumed_suite_ends_with_the_same_table(
    whole: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    calls = 0

    def stopped() -> bool:
        nonlocal calls
        calls += 1
        return calls > 1

    *_, last = SuiteFolder(tmp_path, checkpoint, ROWS, "the whole sentence").run(stopped)
    assert last.done == CHUNK and last.seconds_left is not None and not (tmp_path / "cases.csv").exists()
    assert SuiteFolder(tmp_path, checkpoint, ROWS, "the whole sentence").result().left_out == COUNT - 1 - CHUNK
    *_, last = SuiteFolder(tmp_path, checkpoint, ROWS, "the whole sentence").run()
    assert last.done == COUNT - 1 and (tmp_path / "cases.csv").read_text("utf-8") == whole


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.75, 0.999])
def test_a_damaged_file_is_truncated_to_its_last_complete_batch(
    whole: str, checkpoint: Checkpoint, tmp_path: Path, cut: float
) -> None:
    folder = SuiteFolder(tmp_path, checkpoint, ROWS, "the whole sentence")
    list(folder.run())
    content = folder.file.read_bytes()
    folder.file.write_bytes(content[: int(cut * len(content))])
    first, *_ = SuiteFolder(tmp_path, checkpoint, ROWS, "the whole sentence").run()
    assert first.done % CHUNK == 0 and first.done <= cut * COUNT
    assert (tmp_path / "cases.csv").read_text("utf-8") == whole


@pytest.mark.parametrize("what", ["scoring", "rows"])
def test_a_folder_of_another_suite_is_unchanged(checkpoint: Checkpoint, tmp_path: Path, what: str) -> None:
    list(SuiteFolder(tmp_path, checkpoint, ROWS[:3], "the whole sentence").run())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    other = (ROWS[:3], "the differing piece") if what == "scoring" else (ROWS[:4], "the whole sentence")
    with pytest.raises(ExplorerError, match=f"contains a suite with other {what}"):
        list(SuiteFolder(tmp_path, checkpoint, *other).run())  # type: ignore[arg-type]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_bad_folders_and_too_many_rows_are_rejected(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExplorerError, match="cannot be used"):
        list(SuiteFolder(tmp_path / "file", checkpoint, ROWS[:3], "the whole sentence").run())
    with pytest.raises(ExplorerError, match="100,001 rows were given; the limit is 100,000"):
        SuiteFolder(tmp_path, checkpoint, [ROWS[0]] * (MAX_ROWS + 1), "the whole sentence")
    folder = SuiteFolder(tmp_path / "one", checkpoint, ROWS[:3], "the whole sentence").run()
    next(folder)
    with pytest.raises(ExplorerError, match="Another process is working in"):
        list(SuiteFolder(tmp_path / "one", checkpoint, ROWS[:3], "the whole sentence").run())


@pytest.mark.slow
def test_a_suite_continues_after_a_kill_at_any_moment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command, killed in its first batch, as soon as that is in the file, and in its second batch."""
    table = tmp_path / "pairs.csv"
    table.write_text(
        "good,bad\n" + "".join(f"The {n} cats sleep.,The {n} cats sleeps.\n" for n in range(2, 252)), "utf-8"
    )
    command = ["suite", "--rows", str(table), "--out"]
    assert main([*command, str(tmp_path / "whole")]) == 0
    for seen, seconds in (("spec.json", 0.2), ("outcomes.jsonl", 0.0), ("outcomes.jsonl", 0.2)):
        folder = tmp_path / f"killed {seconds} s after {seen}"
        process = [sys.executable, "-m", "bertexplorer", *command, str(folder)]
        killed = subprocess.Popen(process, cwd=ROOT, stderr=subprocess.DEVNULL)
        while not (folder / seen).exists():
            assert killed.poll() is None, "it was over before the kill"
            time.sleep(0.01)
        time.sleep(seconds)
        assert killed.poll() is None, "it was over before the kill"
        killed.kill()
        killed.wait()
        capsys.readouterr()
        assert main([*command, str(folder)]) == 0
        assert "250 pairs" in capsys.readouterr().out
        assert (folder / "cases.csv").read_bytes() == (tmp_path / "whole" / "cases.csv").read_bytes(), folder
