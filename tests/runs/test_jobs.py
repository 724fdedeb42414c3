"""The table of jobs: accepted runs are durable, regardless of owner, repeated clicks and clock."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bertexplorer import locks
from bertexplorer.errors import ExplorerError
from bertexplorer.runs import job_db as table_module, jobs as jobs_module
from bertexplorer.runs.jobs import Jobs
from bertexplorer.runs.run_folder import duration, ordinal
from tests.runs.test_run_folder import tell

SPEC = {"task": "fake", "steps": 3}
EVIL = "../../x</script><img src=x onerror=1>'; DROP TABLE jobs; --\ud800\0"
DAY = 86_400


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    table = Jobs(tmp_path / "runs", reserve=0)
    yield table
    table.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock of the table and of the folders ahead by some seconds."""
    real = time.time

    def ahead(seconds: float) -> None:
        now = lambda: real() + seconds  # noqa: E731
        monkeypatch.setattr(table_module.time, "time", now)
        monkeypatch.setattr(table_module.os, "utime", lambda path: utime(path, (now(), now())))

    utime = table_module.os.utime
    return ahead


def states(jobs: Jobs, owner: str | None = None) -> dict[str, str]:
    return {run.name: run.state for run in jobs.runs(owner)}


def test_other_people_do_not_wait_while_files_are_written(jobs: Jobs) -> None:
    go = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(jobs.accept, "ann", "large", SPEC, fill=lambda folder: bool(go.wait(20)), key="k")
        try:
            assert pool.submit(jobs.accept, "ben", "small", SPEC).result(10).state == "queued"
        finally:
            go.set()
        assert first.result(20).name == "large" and len(list(jobs.folder.glob("*/spec.json"))) == 2


def test_an_accepted_run_is_on_the_disk(jobs: Jobs) -> None:
    def fill(folder: Path) -> None:
        (folder / "data").mkdir()
        (folder / "data" / "train.jsonl").write_text("{}")

    run = jobs.accept("ann", "Reviews", SPEC, fill=fill, seconds=90, group="g")
    assert (run.name, run.owner, run.state, run.task, run.group) == ("Reviews", "ann", "queued", "fake", "g")
    assert run.spec == SPEC and run.folder.parent == jobs.folder and run.message == "1st in line"
    assert (run.folder / "data" / "train.jsonl").read_text() == "{}"
    jobs.close()
    reopened = Jobs(jobs.folder, reserve=0)
    assert [r.id for r in reopened.runs("ann")] == [run.id]
    assert reopened.table.execute("PRAGMA journal_mode") == [("delete",)] and reopened.table.execute(
        "PRAGMA synchronous"
    ) == [(2,)]
    reopened.close()


def test_the_folder_is_flushed_before_the_row_is_written(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    execute = jobs.table.execute

    def execute_and_record(sql: str, *values: object) -> list[object]:
        order.extend(["row"] if sql.startswith("INSERT") else [])
        return execute(sql, *values)

    monkeypatch.setattr(jobs_module, "flush", lambda path: order.append(path.name))
    monkeypatch.setattr(jobs.table, "execute", execute_and_record)
    run = jobs.accept("ann", "a", SPEC)
    assert order == ["spec.json", run.id, "runs", "row"]


def test_what_a_killed_preview_left_is_deleted_at_the_start(tmp_path: Path) -> None:
    first = Jobs(tmp_path / "runs", reserve=0)
    run = first.accept("a", "b", SPEC)
    first.close()
    for name in ("tmpab12_xyz", "tmp of mine"):
        (tmp_path / "runs" / name).mkdir()
        (tmp_path / "runs" / name / "rows.csv").write_text("text,label")
    again = Jobs(tmp_path / "runs", reserve=0)
    try:
        assert not (tmp_path / "runs" / "tmpab12_xyz").exists()
        assert (tmp_path / "runs" / "tmp of mine").exists() and run.folder.exists()
    finally:
        again.close()


def test_five_clicks_start_one_run(jobs: Jobs) -> None:
    gate = threading.Barrier(5)

    def click(_: int) -> str:
        gate.wait()
        return jobs.accept("ann", "Reviews", SPEC, key="one form").id

    with ThreadPoolExecutor(5) as pool:
        assert len(set(pool.map(click, range(5)))) == 1
    assert len(jobs.runs()) == len(list(jobs.folder.glob("?" * 32))) == 1
    assert jobs.accept("ben", "Reviews", SPEC, key="one form").id != jobs.runs("ann")[0].id
    assert jobs.accept("ann", "Reviews", SPEC).id != jobs.accept("ann", "Reviews", SPEC).id, "no key: no limit"


def test_simultaneous_runs_are_queued_in_order(jobs: Jobs) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda who: jobs.accept(who, who, SPEC, seconds=240), ("ann", "ben")))
    first, second = sorted((jobs.run(run.id, None) for run in both), key=lambda run: run.message)
    assert (first.message, second.message) == ("1st in line", "2nd in line, about 4 min")
    third = jobs.accept("ann", "third", SPEC)
    assert third.message == "3rd in line, about 8 min"
    assert jobs.accept("ann", "fourth", SPEC).message == "4th in line", "one of unknown length is ahead"
    jobs.stop(first.id, None)
    assert jobs.run(second.id, None).message == "1st in line"
    assert jobs.resume(first.id, None).message == "4th in line", "at the end of the line, as it left it"
    jobs.mark_started(second.id)
    lock = locks.acquire(second.folder / "process")
    tell(second.folder, {"event": "steps", "time": 1.0, "step": 1, "share": 0.75})
    assert lock and jobs.run(third.id, None).message == "1st in line, about 1 min"
    lock.close()


def test_names_are_never_interpreted_and_durations_are_written_in_words(jobs: Jobs) -> None:
    assert " ".join(map(ordinal, (1, 2, 3, 4, 11, 12, 13, 21, 1112))) == "1st 2nd 3rd 4th 11th 12th 13th 21st 1,112th"
    words = ["less than a minute", "about 1 min", "about 60 min", "about 2 h"]
    assert [duration(seconds) for seconds in (5, 60, 3600, 9000)] == words
    run = jobs.accept(EVIL, EVIL, SPEC, key=EVIL, group=EVIL)
    assert run.folder.parent == jobs.folder and run.name.startswith("../../x</script>") and run.name.isprintable()
    assert [r.id for r in jobs.runs(EVIL)] == [run.id] and jobs.runs("*") == [] == jobs.runs("")
    assert len(jobs.accept("ann", "x" * 999, SPEC).name) == 80
    assert jobs.accept("ann", " \n\u200b", SPEC).name.startswith("Run ")
    for id in (EVIL, "", "*", run.id.upper(), "x" * 10**6, "../" + run.id):
        with pytest.raises(ExplorerError, match="There is no run"):
            jobs.run(id, None)


def test_runs_of_other_owners_are_invisible(jobs: Jobs) -> None:
    run = jobs.accept("ann", "Reviews", SPEC)
    assert jobs.runs("ben") == []
    for act in (jobs.run, jobs.stop, jobs.resume, jobs.delete, jobs.restore, jobs.erase, jobs.retry):
        with pytest.raises(ExplorerError, match="There is no run"):
            act(run.id, "ben")
    with pytest.raises(ExplorerError, match="There is no run"):
        jobs.rename(run.id, "ben", "mine", 1)
    assert jobs.run(run.id, "ann").state == "queued"


def test_the_later_of_two_simultaneous_renames_fails(jobs: Jobs) -> None:
    run = jobs.accept("ann", "Reviews", SPEC)
    gate = threading.Barrier(6)

    def rename(n: int) -> bool:
        gate.wait()
        try:
            jobs.rename(run.id, "ann", f"name {n}", run.version)
        except ExplorerError as error:
            assert "was renamed to “name" in str(error)
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(rename, range(6))) == 1
    assert jobs.rename(run.id, "ann", "mine", jobs.run(run.id, "ann").version).name == "mine"
    with pytest.raises(ExplorerError, match="name is empty"):
        jobs.rename(run.id, "ann", " \x00 ", 3)


def test_simultaneous_changes_leave_no_partial_state(jobs: Jobs) -> None:
    accepted = [jobs.accept("ann", f"{n}", SPEC) for n in range(4)]

    def act(n: int) -> None:
        run = accepted[n % 4]
        try:
            (jobs.delete if n % 3 else jobs.stop)(run.id, "ann")
            jobs.rename(run.id, "ann", "new", jobs.run(run.id, "ann").version)
        except ExplorerError as error:
            assert "renamed" in str(error)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(act, range(24)))
    present = {path.name for path in jobs.folder.glob("?" * 32)}
    deleted = {path.name for path in (jobs.folder / ".trash").iterdir()}
    assert {run.id for run in jobs.runs()} == present and {run.id for run in jobs.runs(deleted=True)} == deleted
    assert len(present | deleted) == 4 and not present & deleted


def test_deleted_runs_can_be_restored_for_a_week(jobs: Jobs, clock: Callable[[float], None]) -> None:
    kept, run = jobs.accept("ann", "kept", SPEC), jobs.accept("ann", "gone", SPEC, key="k")
    tell(run.folder, {"event": "finished", "time": 1.0, "step": 3})
    jobs.delete(run.id, "ann")
    assert not run.folder.exists() and states(jobs) == {"kept": "queued"}
    assert [(r.state, r.spec) for r in jobs.runs("ann", deleted=True)] == [("deleted", SPEC)]
    assert jobs.accept("ann", "new", SPEC, key="k").id != run.id, "its key is free again"
    assert jobs.restore(run.id, "ann").state == "finished"
    jobs.delete(run.id, "ann")
    clock(7 * DAY)
    jobs.trash.purge()
    assert jobs.run(run.id, "ann").folder.is_dir()
    clock(7 * DAY + 7_300)
    jobs.trash.purge()
    assert jobs.runs(deleted=True) == [] and list((jobs.folder / ".trash").iterdir()) == []
    assert jobs.run(kept.id, "ann").folder.is_dir()


def test_a_changed_clock_deletes_nothing_too_early(jobs: Jobs, clock: Callable[[float], None]) -> None:
    clock(30 * DAY)
    jobs.trash.purge()
    clock(0)
    run = jobs.accept("ann", "a", SPEC)
    jobs.delete(run.id, "ann")  # counted from the latest time ever seen
    for ahead in (-9 * DAY, 3600, 8 * DAY, 30 * DAY, 36 * DAY):
        clock(ahead)
        jobs.trash.purge()
        assert jobs.run(run.id, "ann").state == "deleted"
    young = jobs.accept("ann", "b", SPEC)
    clock(40 * DAY)
    jobs.delete(young.id, "ann")
    jobs.table.execute("UPDATE jobs SET deleted = 1")  # an old row alone is not enough
    jobs.trash.purge()
    assert {r.id for r in jobs.runs(deleted=True)} == {young.id}


def test_erasing_frees_space_immediately(jobs: Jobs) -> None:
    run = jobs.accept("ann", "a", SPEC)
    with pytest.raises(ExplorerError, match="Delete it first"):
        jobs.erase(run.id, "ann")
    jobs.delete(run.id, "ann")
    jobs.erase(run.id, "ann")
    assert jobs.runs(deleted=True) == [] and not list((jobs.folder / ".trash").iterdir())


def test_a_running_run_is_neither_deleted_nor_queued_twice(jobs: Jobs) -> None:
    run = jobs.accept("ann", "a", SPEC)
    lock = locks.acquire(run.folder / "process")
    jobs.mark_started(run.id)
    with pytest.raises(ExplorerError, match="a is starting. Stop it first"):
        jobs.delete(run.id, "ann")
    assert jobs.resume(run.id, "ann").state == "starting" and jobs.queued() == []
    assert jobs.stop(run.id, "ann").state == "stopping" and (run.folder / "stop").exists()
    with pytest.raises(ExplorerError, match="is being stopped"):
        jobs.resume(run.id, "ann")
    assert lock
    lock.close()
    jobs.mark_ended(run.id, "")
    assert jobs.run(run.id, "ann").state == "stopped" and jobs.resume(run.id, "ann").state == "queued"
    tell(run.folder, {"event": "finished", "time": 1.0, "step": 3})
    jobs.mark_started(run.id)
    with pytest.raises(ExplorerError, match="is finished; there is nothing"):
        jobs.resume(run.id, "ann")
    retried = jobs.retry(run.id, "ann", key="twice")
    assert (retried.id, retried.name, retried.spec) == (jobs.retry(run.id, "ann", key="twice").id, "a (again)", SPEC)
    assert jobs.retry(retried.id, "ann").name == "a (again)"


def test_no_run_is_accepted_below_the_disk_reserve(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    run = jobs.accept("ann", "a", SPEC)
    jobs.stop(run.id, "ann")
    jobs.reserve = 1_000_000_000
    monkeypatch.setattr(jobs_module.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 9, 400_000_000))
    for act in (lambda: jobs.accept("ann", "b", SPEC), lambda: jobs.resume(run.id, "ann")):
        with pytest.raises(ExplorerError, match=r"0\.40 GB are free on this disk; a run needs 1\.00 GB"):
            act()
    assert states(jobs) == {"a": "stopped"} and len(list(jobs.folder.glob("?" * 32))) == 1


def test_an_unwritable_run_is_not_accepted(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path) -> None:
        (folder / "part").write_text("x")
        raise OSError(28, "No space left on device")

    with pytest.raises(ExplorerError, match="No space left on device"):
        jobs.accept("ann", "a", SPEC, fill=full)
    with pytest.raises(TypeError):
        jobs.accept("ann", "a", {"odd": object()})
    jobs.table.execute("PRAGMA max_page_count = 1")
    with pytest.raises(ExplorerError, match="full"):
        for n in range(99):
            jobs.accept("ann", "x" * 80, SPEC, group="y" * 200, key=f"{n}" + "z" * 190)
    assert {run.id for run in jobs.runs()} == {path.name for path in jobs.folder.glob("?" * 32)}
