"""A trainer killed by SIGKILL at random moments ends with the weights of an undisturbed run."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertexplorer.runs import run_folder
from bertexplorer.training.finetuning.run import finetune
from tests.conftest import ROOT
from tests.training.conftest import Begin

pytestmark = pytest.mark.slow

OFTEN = """
import sys
from pathlib import Path
from bertexplorer.training.finetuning import run
run.COMMIT, run.SPENT = 0.0, 1e9  # a commit after every step, so that the kill falls into them too
for _ in run.finetune(Path(sys.argv[1])):
    pass
"""
KILLS = 2


def digest(folder: Path) -> str:
    (best,) = (folder / "best").glob("step-*")
    return hashlib.sha256((best / "model.safetensors").read_bytes()).hexdigest()


def committed_since(folder: Path, since: float) -> bool:
    return any(path.stat().st_mtime > since for path in (folder / "commits").glob("step-*"))


def kill_while_it_works(folder: Path, after: float) -> None:
    """Continue the run in *folder* and kill it *after* so many seconds of commits."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    since, until = time.time(), time.monotonic() + 100
    process = subprocess.Popen([sys.executable, "-c", OFTEN, str(folder)], cwd=ROOT, env=env)
    while not committed_since(folder, since) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_run_killed_at_any_moment_ends_with_the_same_weights(begin: Begin) -> None:
    quiet, killed = begin("quiet", epochs=60), begin("killed", epochs=60)
    assert [event["event"] for event in finetune(quiet)][-1] == "finished"
    draw = random.Random(7)
    for _ in range(KILLS):
        kill_while_it_works(killed, draw.uniform(0.0, 0.5))
    assert run_folder.history(killed)[-1]["event"] != "finished", "it was over before the last kill"
    message = [event["event"] for event in finetune(killed)]
    assert "resumed" in message and message[-1] == "finished"
    assert digest(killed) == digest(quiet)
    steps = [event["step"] for event in run_folder.history(killed) if event["event"] == "evaluated"]
    assert steps == sorted(set(steps)), "as a reader sees it, no evaluation stands there twice"
