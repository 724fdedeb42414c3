"""Real processes: runs start in order, outlive the server, stop on request, and the cause of a crash is reported."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bertexplorer import locks
from bertexplorer.errors import ExplorerError
from bertexplorer.runs import run_folder, supervisor as trainer_module
from bertexplorer.runs.jobs import Jobs
from bertexplorer.runs.run_folder import Run
from bertexplorer.runs.supervisor import JobSupervisor, environment, explain_end
from tests.conftest import ROOT
from tests.runs.running import COMMAND, clear, until

pytestmark = pytest.mark.slow

Make = Callable[..., JobSupervisor]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A supervisor of the jobs in a folder; an earlier one is closed first, as if the server had restarted."""
    supervisors: list[JobSupervisor] = []

    def again(**options: object) -> JobSupervisor:
        close()
        given = {"command": COMMAND, "poll_s": 0.02} | options
        supervisors.append(JobSupervisor(Jobs(tmp_path, reserve=0), **given))
        return supervisors[-1]

    def close() -> None:
        for supervisor in supervisors:
            supervisor.close()
            supervisor.jobs.close()
        supervisors.clear()

    yield again
    close()
    clear(tmp_path)


@pytest.fixture
def supervisor(make: Make) -> JobSupervisor:
    return make()


def accept(supervisor: JobSupervisor, name: str = "a", **spec: object) -> Run:
    return supervisor.jobs.accept("ann", name, {"task": "fake", "steps": 5} | spec)


def now(supervisor: JobSupervisor, run: Run) -> Run:
    return supervisor.jobs.run(run.id, "ann")


def reached(supervisor: JobSupervisor, run: Run, *states: str) -> Run:
    until(lambda: now(supervisor, run).state in states)
    until(lambda: states[0] in run_folder.LIVE_STATES or run.id not in {job.id for job in supervisor.jobs.started()})
    return now(supervisor, run)


def steps(run: Run) -> list[int]:
    """The steps in the events, each of which must occur once."""
    return [e["step"] for e in run_folder.history(run.folder) if e["event"] == "steps"]


def test_a_queued_run_is_trained_to_its_end(supervisor: JobSupervisor) -> None:
    run = accept(supervisor)
    done = reached(supervisor, run, "finished")
    assert (done.progress, done.step, done.attempts, done.message) == (1.0, 5, 1, "")
    assert steps(run) == [1, 2, 3, 4, 5]
    until(lambda: not supervisor.children, 5)


def test_runs_start_one_after_the_other_without_delay(supervisor: JobSupervisor) -> None:
    accepted = [accept(supervisor, name, pause=0.05) for name in "abc"]
    until(lambda: [now(supervisor, run).state for run in accepted] == ["finished"] * 3)
    ends = [run_folder.history(run.folder)[-1]["time"] for run in accepted]
    begins = [run_folder.history(run.folder)[0]["time"] for run in accepted]
    assert all(end < begin < end + 10 for end, begin in zip(ends, begins[1:], strict=False)), (begins, ends)


def test_two_slots_train_two_runs(make: Make) -> None:
    supervisor = make(slots=2)
    accepted = [accept(supervisor, name, pause=0.2) for name in "abc"]
    until(lambda: [now(supervisor, run).state for run in accepted] == ["running", "running", "queued"])
    assert now(supervisor, accepted[2]).message == "1st in line"
    supervisor.stop(accepted[0].id, "ann")
    until(lambda: now(supervisor, accepted[2]).state == "running")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_the_process_is_detached_and_silent_and_gets_no_secrets(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "s3cret")
    supervisor = make()
    run = accept(supervisor, faults={"1": "sleep"})
    until(lambda: (run.folder / "faulted").exists())
    pid = locks.holder_pid(run.folder / "process")
    assert os.getsid(pid) == pid != os.getsid(0)
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19
    words = Path(f"/proc/{pid}/environ").read_text().split("\0")
    assert "OMP_NUM_THREADS=1" in words and not any("s3cret" in line for line in words)
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    assert os.readlink(f"/proc/{pid}/fd/1") == os.readlink(f"/proc/{pid}/fd/2") == str(run.folder / "output.txt")
    supervisor.stop(run.id, "ann", kill=True)
    assert reached(supervisor, run, "stopped").message == ""


def test_a_stopped_run_ends_after_a_commit_and_can_be_resumed(supervisor: JobSupervisor) -> None:
    run = accept(supervisor, steps=400)
    until(lambda: now(supervisor, run).step >= 3)
    assert supervisor.stop(run.id, "ann").state == "stopping"
    stopped = reached(supervisor, run, "stopped")
    assert 3 <= stopped.step < 400 and (run.folder / "commits" / "counter").read_text() == str(stopped.step)
    (run.folder / "spec.json").write_text(json.dumps({"steps": stopped.step + 3}))
    assert supervisor.jobs.resume(run.id, "ann").state in ("queued", "starting", "running")
    assert reached(supervisor, run, "finished").attempts == 2
    assert steps(run) == list(range(1, stopped.step + 4))


def test_a_run_that_ignores_the_stop_file_gets_sigterm_and_sigkill_only_on_request(make: Make) -> None:
    supervisor = make(patience_s=0.2, slots=2)
    polite, deaf = accept(supervisor, steps=9999, by_signal=True), accept(supervisor, steps=9999, deaf=True)
    until(lambda: now(supervisor, polite).step and now(supervisor, deaf).step)
    for run in (polite, deaf):
        supervisor.stop(run.id, "ann")
    reached(supervisor, polite, "stopped")
    assert run_folder.history(polite.folder)[-1]["event"] == "stopped"
    until(lambda: supervisor.stopped_at.get(deaf.id) == float("inf"))
    time.sleep(0.3)
    assert now(supervisor, deaf).state == "stopping"
    supervisor.stop(deaf.id, "ann", kill=True)
    reached(supervisor, deaf, "stopped")


def test_a_stop_during_the_start_is_obeyed(supervisor: JobSupervisor) -> None:
    run = accept(supervisor, steps=9999, warm_up=0.5)
    until(lambda: now(supervisor, run).state == "starting")
    supervisor.stop(run.id, "ann")
    assert reached(supervisor, run, "stopped").step < 9999


@pytest.mark.parametrize(
    ("fault", "state", "words"),
    [
        ("kill", "interrupted", "It was killed, perhaps because memory ran out. Try a smaller batch"),
        ("memory", "interrupted", "Memory ran out. Try a smaller batch"),
        ("raise", "interrupted", "It ended with exit code 1: RuntimeError: the well is dry"),
        ("tell", "failed", "Out of memory at batch 32. Try 16."),
    ],
)
def test_the_cause_of_a_crash_is_reported_and_a_resume_repeats_no_step(
    supervisor: JobSupervisor, fault: str, state: str, words: str
) -> None:
    run, after = accept(supervisor, faults={"3": fault}), accept(supervisor, "next")
    died = reached(supervisor, run, state)
    assert died.message.startswith(words) and not run_folder.is_alive(run.folder)
    assert "/" not in died.message, "no path of the server"
    assert died.state == "failed" or died.message.endswith("Resume continues from its last commit.")
    reached(supervisor, after, "finished")  # it delays no other run
    supervisor.jobs.resume(run.id, "ann")
    assert reached(supervisor, run, "finished").message == ""
    assert steps(run) == [1, 2, 3, 4, 5]


def test_causes_are_explained_in_words_and_secrets_recognised_by_their_names(tmp_path: Path) -> None:
    assert explain_end(-11, tmp_path) == "It was ended by SIGSEGV."
    assert explain_end(0, tmp_path) == "It ended with exit code 0."
    assert explain_end(None, tmp_path) == "It ended while no server was running."
    (tmp_path / "output.txt").write_text("RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory\n")
    assert explain_end(1, tmp_path).startswith("Memory ran out.")
    given = {"PATH": "p", "HF_TOKEN": "x", "api_key": "x", "AWS_SECRET_ACCESS": "x", "DB_PASSWORD": "x", "HOME": "h"}
    assert environment(given) == {"PATH": "p", "HOME": "h", "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def test_a_missing_command_is_reported_and_does_not_block_the_queue(make: Make) -> None:
    supervisor = make(command=("/no/such/program",))
    first, second = accept(supervisor), accept(supervisor)
    for run in (first, second):
        assert "could not be started (No such file or directory)" in reached(supervisor, run, "interrupted").message


def test_the_next_server_adopts_running_runs(supervisor: JobSupervisor, make: Make) -> None:
    run, second = accept(supervisor, steps=60, pause=0.02), accept(supervisor, "b")
    until(lambda: now(supervisor, run).step >= 2)
    pid = locks.holder_pid(run.folder / "process")
    supervisor = make()
    assert locks.holder_pid(run.folder / "process") == pid and now(supervisor, run).state == "running"
    time.sleep(0.2)
    assert now(supervisor, second).state == "queued", "its slot is taken"
    assert reached(supervisor, run, "finished").attempts == 1
    assert reached(supervisor, second, "finished") and steps(run) == list(range(1, 61))


@pytest.mark.parametrize("late", [False, True])
def test_a_started_but_unrecorded_process_is_not_started_twice(
    supervisor: JobSupervisor, make: Make, late: bool
) -> None:
    supervisor.close()
    run = accept(supervisor, steps=30, pause=0.02)
    child = trainer_module.spawn(COMMAND, run.folder)  # the server died here
    until(lambda: child.poll() is not None if late else run_folder.read_events(run.folder)[0])
    supervisor = make()
    assert reached(supervisor, run, "finished").attempts == 1
    assert child.wait(5) == 0 and steps(run) == list(range(1, 31))
    assert [e["event"] for e in run_folder.history(run.folder)].count("finished") == 1


@pytest.mark.parametrize("resume", [False, True])
def test_interrupted_runs_are_not_resumed_by_default(supervisor: JobSupervisor, make: Make, resume: bool) -> None:
    supervisor.close()
    run, queued = accept(supervisor, faults={"3": "kill"}), accept(supervisor, "b")
    supervisor.jobs.mark_started(run.id)
    trainer_module.spawn(COMMAND, run.folder).wait(10)
    supervisor = make(resume_interrupted=resume)
    if resume:
        assert reached(supervisor, run, "finished").attempts == 2
    else:
        assert "while no server was running" in reached(supervisor, run, "interrupted").message
    assert reached(supervisor, queued, "finished")
    assert now(supervisor, run).state == ("finished" if resume else "interrupted")
    assert steps(run)[:3] == [1, 2, 3]


def test_other_processes_receive_no_signal(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = make(command=("/no/such/program",))
    run = accept(supervisor, steps=9999)
    reached(supervisor, run, "interrupted")
    sent: list[int] = []
    monkeypatch.setattr(trainer_module.os, "killpg", lambda pid, number: sent.append(pid))
    by_hand = subprocess.Popen([*COMMAND, str(run.folder)], cwd=ROOT)  # a person trains it outside the server
    until(lambda: now(supervisor, run).state == "running")
    (run.folder / "process").write_text(f"{os.getpid()} another time")
    supervisor.stop(run.id, "ann", kill=True)
    assert by_hand.wait(10) == 0 and sent == []


def test_a_full_disk_does_not_end_the_queue(supervisor: JobSupervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    queued, broken = supervisor.jobs.queued, [True]

    def fails() -> list[run_folder.Job]:
        if broken.pop() if broken else False:
            raise ExplorerError("no room")
        return queued()

    monkeypatch.setattr(supervisor.jobs, "queued", fails)
    until(lambda: not broken)
    assert reached(supervisor, accept(supervisor), "finished")


@pytest.mark.parametrize("seed", range(5))
def test_a_server_killed_at_any_moment_loses_no_accepted_run(make: Make, tmp_path: Path, seed: int) -> None:
    command = [sys.executable, "-m", "tests.runs.fake_server", str(tmp_path), "4", "8"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert server.stdout and server.stdout.readline() == "ready\n"
    time.sleep(random.Random(seed).uniform(0.0, 0.7))
    server.send_signal(signal.SIGKILL)
    accepted = server.stdout.read().split()
    server.wait()
    begun = time.monotonic()
    supervisor = make()
    listed = {run.id: run for run in supervisor.jobs.runs("ann")}
    assert time.monotonic() - begun < 10 and set(accepted) <= set(listed)
    for run in listed.values():
        lives = now(supervisor, run).state not in run_folder.ACTIVE_STATES or run_folder.is_alive(run.folder)
        assert lives or now(supervisor, run).state not in run_folder.ACTIVE_STATES, "running without a process"
        reached(supervisor, run, "finished")
        assert steps(run) == list(range(1, 9))
        assert [e["event"] for e in run_folder.history(run.folder)].count("finished") == 1
