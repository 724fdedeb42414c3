"""Pulled plugs, full disks, jumping clocks: accepted work is preserved, and failures are reported."""

import contextlib
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from bench.faults import VICTIMS, Drill, drill, signal_runs
from bench.serving import Server
from bertexplorer.runs import run_folder
from tests.runs import running as waiting
from tests.server.test_launch import env, free, refused

until = partial(waiting.until, seconds=90)

pytestmark = pytest.mark.slow

Begin = Callable[..., Server]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Start a server on a folder; at the end, all servers and their runs are stopped."""
    with contextlib.ExitStack() as stack:

        def start(folder: Path, **more: str) -> Server:
            server = Server(str(folder), **more)
            stack.callback(end, server)
            return server

        yield start


def end(server: Server) -> None:
    with contextlib.suppress(ProcessLookupError):
        server.process.kill()
    signal_runs(Path(server.folder))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 1.2 GB; a run requires 1 GB of free space."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1200m", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("a small disk can be made by root only; tests/training hold the same with write errors")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=False)


def test_work_survives_kills_of_the_server_the_run_and_both(begin: Begin, tmp_path: Path) -> None:
    result = drill(begin(tmp_path), len(VICTIMS), seed=2)
    assert not result.wrong and len(result.accepted) >= 2


def test_a_run_continues_when_its_server_is_stopped(begin: Begin, tmp_path: Path) -> None:
    server = begin(tmp_path)
    server.wait("/readyz")
    person = Drill(server, random.Random(1))
    person.begin(person.open(), "goes on")
    until(lambda: person.lives(person.accepted["goes on"]))
    assert server.end() == 0 and person.lives(person.accepted["goes on"])
    person.up()
    assert person.listed(person.open())["goes on"][1] in (*run_folder.ACTIVE_STATES, "finished")


def test_a_full_disk_is_reported_and_the_run_continues_once_there_is_room(begin: Begin, small_disk: Path) -> None:
    server = begin(small_disk)
    server.wait("/readyz")
    person = Drill(server, random.Random(1))
    person.begin(person.open(), "alone")
    person.finish()
    person.begin(person.open(), "on a full disk")
    folder = person.folder(person.accepted["on a full disk"])
    until(lambda: (folder / "events.jsonl").exists())
    signal_runs(small_disk, signal.SIGSTOP)  # so that the disk is full before the run is over
    filler = small_disk / "filler"
    with filler.open("wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 1_000_000)
    signal_runs(small_disk, signal.SIGCONT)
    until(lambda: person.listed(person.open())["on a full disk"][1] in ("failed", "interrupted"))
    time.sleep(5)  # lets the server check the disk, too: nothing shows this while it is full
    with pytest.raises(ValueError, match="GB are free on this disk; a run needs 1.00 GB"):
        person.begin(person.open(), "not begun")
    filler.unlink()
    page = person.open()
    until(lambda: "Make room" in person.headline(page, person.accepted["on a full disk"]))
    person.resume(page, person.accepted["on a full disk"])
    person.finish()
    person.compare()
    assert not person.wrong


def test_a_read_only_disk_is_reported(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    message = refused(env(small_disk, free()))
    assert "Read-only file system" in message and str(small_disk) in message


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    message = refused(env(tmp_path / "file" / "data", free()))
    assert str(tmp_path / "file") in message and "Not a directory" in message


def test_a_jumping_clock_changes_no_order(begin: Begin, tmp_path: Path) -> None:
    """Python's clock is patched, as libfaketime stalls the import of torch."""
    code = tmp_path / "clock"
    code.mkdir()
    shifted = "import os, time\nreal = time.time\ntime.time = lambda: real() + float(os.environ.get('CLOCK', '0'))\n"
    (code / "sitecustomize.py").write_text(shifted)
    accepted: dict[str, str] = {}
    for name, jump in (("first", 0), ("an hour earlier", -3600)):
        server = begin(tmp_path / "data", PYTHONPATH=str(code), CLOCK=str(jump))
        server.wait("/readyz")
        person = Drill(server, random.Random(name), accepted, client=person.client if accepted else None)
        person.begin(person.open(), name)
        shown = person.listed(person.open())
        assert list(shown) == list(accepted)[::-1], "the newest first, as they were accepted"
        server.kill()
