"""A run as described by its folder: its state by locks and last events, its growing events, its checkpoints."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertexplorer import locks
from bertexplorer.runs import run_folder
from bertexplorer.runs.run_folder import Job
from bertexplorer.store import trained
from bertexplorer.training.events import Log

ID = "0123456789abcdef" * 2


def write(folder: Path, *said: tuple[str, int], share: float | None = None) -> None:
    log = Log(folder)
    for n, (event, step) in enumerate(said):
        more = {} if share is None else {"share": share}
        log.write({"event": event, "time": 1000.0 + n, "stretch": 0, "step": step} | more)
    log.close()


def tell(folder: Path, *events: dict[str, object]) -> None:
    with (folder / "events.jsonl").open("a") as opened:
        opened.writelines(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize(
    ("wanted", "message", "state"),
    [
        ("queued", "", "queued"),
        ("queued", "finished", "queued"),  # an ended process is restarted only if it was queued again
        ("going", "", "interrupted"),
        ("going", "steps", "interrupted"),
        ("ended", "steps", "interrupted"),
        ("ended", "finished", "finished"),
        ("ended", "failed", "failed"),
        ("stop", "stopped", "stopped"),
        ("stop", "finished", "finished"),
        ("stopped", "steps", "stopped"),
        ("stopped", "", "stopped"),
        ("deleted", "finished", "deleted"),
        ("", "", "queued"),
        ("", "steps", "interrupted"),
        ("", "stopped", "stopped"),
    ],
)
def test_a_run_without_a_process_is_never_active(tmp_path: Path, wanted: str, message: str, state: str) -> None:
    if message:
        write(tmp_path, ("begun", 0), (message, 5))
    assert run_folder.read(tmp_path, Job(ID, wanted=wanted)).state == state
    assert not run_folder.is_alive(tmp_path)


@pytest.mark.parametrize("lock", ["lock", "process"])
def test_a_run_with_a_process_is_active(tmp_path: Path, lock: str) -> None:
    job = Job(ID, wanted="going")
    acquired = locks.acquire(tmp_path / lock)
    assert acquired and run_folder.is_alive(tmp_path)
    assert run_folder.read(tmp_path, job).state == "starting"
    write(tmp_path, ("begun", 0), ("steps", 3))
    assert run_folder.read(tmp_path, job).state == "running"
    assert run_folder.read(tmp_path, Job(ID, wanted="stop")).state == "stopping"
    (tmp_path / "stop").touch()
    assert run_folder.read(tmp_path, job).state == "stopping"
    acquired.close()
    assert run_folder.read(tmp_path, job).state == "interrupted"


def test_events_before_a_resume_do_not_end_the_run(tmp_path: Path) -> None:
    write(tmp_path, ("begun", 0), ("stopped", 4), share=0.4)
    since = (tmp_path / "events.jsonl").stat().st_size
    resumed = Job(ID, wanted="going", since=since)
    assert run_folder.read(tmp_path, resumed).state == "interrupted"
    acquired = locks.acquire(tmp_path / "process")
    run = run_folder.read(tmp_path, resumed)
    assert (run.state, run.step, run.progress) == ("starting", 4, 0.4)
    write(tmp_path, ("resumed", 4))
    assert run_folder.read(tmp_path, resumed).state == "running"
    assert acquired
    acquired.close()


def test_a_run_is_running_until_its_process_has_ended(tmp_path: Path) -> None:
    job = Job(ID, wanted="going")
    acquired = locks.acquire(tmp_path / "process")
    assert acquired
    write(tmp_path, ("begun", 0), ("steps", 9), ("finished", 10), share=1.0)
    run = run_folder.read(tmp_path, job)
    assert (run.state, run.progress) == ("running", 1.0)
    acquired.close()
    assert run_folder.read(tmp_path, job).state == "finished"


def test_a_run_says_that_it_reads_its_text(tmp_path: Path) -> None:
    job = Job(ID, wanted="going")
    acquired = locks.acquire(tmp_path / "process")
    assert acquired
    for fields, words in (
        ({}, "reading the text"),
        ({"documents": 1200}, "reading the text, 1,200 documents"),
        ({"text": "The frozen encoder reads every row once."}, "The frozen encoder reads every row once."),
    ):
        tell(tmp_path, {"event": "reading", "time": 1000.0, "stretch": 0, "step": 0, **fields})
        assert run_folder.read(tmp_path, job).message == words
    write(tmp_path, ("ready", 0))
    assert run_folder.read(tmp_path, job).message == ""
    acquired.close()


def test_checking_for_a_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    for _ in range(3):
        assert not run_folder.is_alive(tmp_path)
    acquired = locks.acquire(tmp_path / "lock", wait_s=0)
    assert acquired
    assert locks.acquire(tmp_path / "lock", wait_s=0) is None
    acquired.close()


def test_a_lock_names_its_process_and_is_released_when_it_is_killed(tmp_path: Path) -> None:
    code = "import sys, time; from pathlib import Path; from bertexplorer import locks"
    code += "; held = locks.acquire(Path(sys.argv[1])); locks.write_process(held, __import__('os').getpid())"
    code += "; print('held', flush=True); time.sleep(30)"
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "lock")], stdout=subprocess.PIPE)
    assert child.stdout and child.stdout.readline()
    assert locks.is_locked(tmp_path / "lock")
    assert locks.holder_pid(tmp_path / "lock") == child.pid
    child.kill()
    while locks.start_time(child.pid):  # it stays a zombie, which counts as ended
        time.sleep(0.01)
    assert not locks.is_locked(tmp_path / "lock")
    assert locks.holder_pid(tmp_path / "lock") == 0
    child.wait()


def test_without_flock_the_named_process_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "fcntl", None)
    path = tmp_path / "lock"
    acquired = locks.acquire(path, wait_s=0)
    assert acquired
    locks.write_process(acquired, os.getpid())
    assert locks.is_locked(path) and locks.acquire(path, wait_s=0) is None
    path.write_text(f"{os.getpid()} of another boot")  # the pid is in use again, by another process
    assert not locks.is_locked(path)
    for odd in ("", "what", "-1 x", "99999999 x", f"{os.getpid()}"):
        path.write_text(odd)
        assert not locks.is_locked(path) and locks.holder_pid(path) == 0


def test_processes_are_distinguished_without_proc_too() -> None:
    assert locks.start_time(os.getpid()) == locks.start_time(os.getpid()) != ""
    assert locks.start_time(os.getppid()) != ""
    assert locks.start_time_from_ps(os.getpid()) and not locks.start_time_from_ps(99_999_999)


def test_events_are_read_as_they_grow(tmp_path: Path) -> None:
    assert run_folder.read_events(tmp_path) == ([], 0)
    write(tmp_path, ("begun", 0), ("steps", 1))
    first, at = run_folder.read_events(tmp_path)
    assert [e["step"] for e in first] == [0, 1]
    assert run_folder.read_events(tmp_path, at) == ([], at)
    path = tmp_path / "events.jsonl"
    with path.open("a") as opened:
        opened.write('{"event": "steps", "step"')
    assert run_folder.read_events(tmp_path, at) == ([], at), "half a line is left for later"
    with path.open("a") as opened:
        opened.write(': 2}\n[1]\n{"step": 3}\nrubbish\n\n{"event": "steps", "step": "3"}\n')
    more, end = run_folder.read_events(tmp_path, at)
    assert [e["step"] for e in more] == [2]
    assert end == path.stat().st_size


def test_repeated_steps_are_listed_once_wherever_the_file_is_cut(tmp_path: Path) -> None:
    write(tmp_path, ("begun", 0), *(("steps", n) for n in (1, 2, 3, 4)))
    write(tmp_path, ("resumed", 2), *(("steps", n) for n in (3, 4, 5)), ("finished", 5))
    whole = (tmp_path / "events.jsonl").read_bytes()
    wanted = run_folder.history(tmp_path)
    assert [event["step"] for event in wanted] == [0, 1, 2, 2, 3, 4, 5, 5]
    for cut in range(0, len(whole), 29):
        (tmp_path / "events.jsonl").write_bytes(whole[:cut])
        first, at = run_folder.read_events(tmp_path)
        (tmp_path / "events.jsonl").write_bytes(whole)
        second, _ = run_folder.read_events(tmp_path, at)
        assert run_folder.merge_events([*run_folder.merge_events(first), *second]) == wanted


def test_progress_and_remaining_time_follow_the_latest_pace(tmp_path: Path) -> None:
    begun = {"event": "begun", "time": 0.0, "step": 0}
    slow = [{"event": "steps", "time": 1000.0 * n, "step": n, "share": n / 100} for n in (1, 2)]
    resumed = {"event": "resumed", "time": 5000.0, "step": 2}
    fast = [{"event": "steps", "time": 5000.0 + n, "step": n, "share": n / 100} for n in (10, 20)]
    tell(tmp_path, begun, *slow, resumed, *fast)
    acquired = locks.acquire(tmp_path / "lock")
    run = run_folder.read(tmp_path, Job(ID, wanted="going"))
    assert acquired and (run.state, run.step, run.progress) == ("running", 20, 0.2)
    assert run.seconds_left == pytest.approx(80)  # one second for each hundredth
    tell(tmp_path, {"event": "steps", "time": 1.0, "step": 30, "share": 0.3})  # the clock was set back
    assert run_folder.read(tmp_path, Job(ID, wanted="going")).seconds_left is None
    tell(tmp_path, {"event": "steps", "time": None, "step": 31, "share": "x"})
    assert run_folder.read(tmp_path, Job(ID, wanted="going")).progress == 0.3
    acquired.close()
    assert run_folder.read(tmp_path, Job(ID, wanted="ended")).seconds_left is None


def test_long_files_are_read_from_their_end(tmp_path: Path) -> None:
    filling = {"event": "steps", "time": 1.0, "step": 1, "share": 0.1, "more": "x" * 1000}
    tell(tmp_path, *[filling] * 2000)
    tell(tmp_path, {"event": "finished", "time": 2.0, "step": 9})
    begun = time.perf_counter()
    for _ in range(20):
        run = run_folder.read(tmp_path, Job(ID, wanted="ended"))
    assert (time.perf_counter() - begun) / 20 < 0.05
    assert (run.state, run.step, run.progress) == ("finished", 9, 1.0)
    tell(tmp_path, {"event": "failed", "time": 2.0, "step": 9, "error": "x" * 100_000})  # longer than the end
    assert run_folder.read(tmp_path, Job(ID, wanted="ended")).state == "failed"


def test_an_error_is_one_printable_line(tmp_path: Path) -> None:
    tell(tmp_path, {"event": "failed", "time": 2.0, "step": 9, "error": "no\x1b[31m\nroom\ud800 " + "x" * 9999})
    run = run_folder.read(tmp_path, Job(ID, wanted="ended"))
    assert run.message.startswith("no [31m room xxx") and len(run.message) == 500
    assert run_folder.one_line("  a\u202eb\ud800\0c\td ") == "a b c d"
    output = 'Traceback (most recent call last):\n  File "/secret/x.py", line 1\nRuntimeError: dry\n'
    (tmp_path / "output.txt").write_text("hello\n" + output)
    assert run_folder.last_output(tmp_path) == "hello / RuntimeError: dry"


@pytest.mark.parametrize("content", ["", "[1]", "{", "[" * 100_000, '{"task": 7}'])
def test_an_unreadable_spec_counts_as_missing(tmp_path: Path, content: str) -> None:
    assert run_folder.read(tmp_path).spec is None
    (tmp_path / "spec.json").write_text(content)
    assert run_folder.read(tmp_path).task in ("", "7")


def test_only_complete_checkpoints_have_names(tmp_path: Path) -> None:
    folder = tmp_path / ID
    for n in (20, 5, 100):
        (folder / "snapshots" / f"step-{n:09d}").mkdir(parents=True)
        (folder / "snapshots" / f"step-{n:09d}" / "manifest.json").touch()
    (folder / "snapshots" / "step-000000200").mkdir()  # incomplete without its manifest
    best = folder / "best" / "step-000000020"
    best.mkdir(parents=True)
    (folder / "name").write_text("Reviews")
    assert [saved.name for saved in trained.list_checkpoints(folder)] == [f"run:{ID}@{n}" for n in (5, 20, 100)]
    (best / "manifest.json").touch()
    assert [saved.label for saved in trained.list_checkpoints(folder)][::3] == ["Reviews, step 5", "Reviews, best"]
    assert trained.find(tmp_path, f"run:{ID}") == best
    assert trained.find(tmp_path, f"run:{ID}@20") == folder / "snapshots" / "step-000000020"
    for name in (f"run:{ID}@200", f"run:{'f' * 32}", "run:../../etc", f"run:{ID}@20/..", f"run:{ID}\n", "mini", "run:"):
        assert trained.find(tmp_path, name) is None
