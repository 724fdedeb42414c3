"""Two processes that share a run's batches train the same weights as one; the command line starts and resumes a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bertexplorer.runs import run_folder
from bertexplorer.training.finetuning.run import finetune
from tests.conftest import ROOT, Tiny
from tests.training.conftest import Begin

pytestmark = pytest.mark.slow


def start(*command: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


TWO = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")


def test_two_processes_train_the_same_weights_as_one(begin: Begin) -> None:
    first, second = (begin(name, epochs=1, dropout=0.0, snapshots=0) for name in ("one", "two"))
    assert [event["event"] for event in finetune(first)][-1] == "finished"
    done = start(*TWO, "-m", "bertexplorer", "train", str(second))
    assert done.returncode == 0, done.stderr[-2000:]
    ready = [[e for e in run_folder.history(folder) if e["event"] == "ready"][0] for folder in (first, second)]
    assert [r["processes"] for r in ready] == [1, 2]
    weights = [load_file(next((folder / "best").glob("*/model.safetensors"))) for folder in (first, second)]
    # Adam's steps have the size of the rate even for tiny gradients: rounding differences may grow
    assert all(torch.allclose(weights[0][key], weights[1][key], atol=1e-3) for key in weights[0])
    message = [
        [e["loss"]["label"] for e in run_folder.history(folder) if e["event"] == "steps"] for folder in (first, second)
    ]
    assert 0.5 < sum(message[1]) / len(message[1]) / (sum(message[0]) / len(message[0])) < 2


SCRIPT = """
import os, sys
from bertexplorer.cli import main
from bertexplorer.training.finetuning import run
run.COMMIT = 0.0 if os.environ["RANK"] == "0" else 1e9
sys.exit(main(["train", FOLDER]))
"""


def test_processes_whose_clocks_disagree_commit_together(begin: Begin, tmp_path: Path) -> None:
    """The main one decides: it finds a commit due after every step, the other one never. Only the head is trained, so
    both also write the vectors of the encoder at the same time."""
    folder = begin("clocks", epochs=1, dropout=0.0, snapshots=0, method="frozen")
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.replace("FOLDER", repr(str(folder))))
    done = start(*TWO, str(script))
    assert done.returncode == 0, done.stderr[-2000:]
    assert sum(event["event"] == "committed" for event in run_folder.history(folder)) > 1
    assert [path.name for path in (folder / "vectors").iterdir()] == ["vectors.npy"]


def test_the_command_line_starts_and_resumes_a_run(tiny: Tiny, tmp_path: Path) -> None:
    file, out = tmp_path / "rows.csv", tmp_path / "out"
    lines = [f"{'great' if i % 2 else 'bad'} film {i % 7};{'pos' if i % 2 else 'neg'}" for i in range(60)]
    file.write_text("sentence;what\n" + "\n".join([*lines, "one;two;three"]) + "\n", "utf-8")
    given = ("--task", "classification", "--data", str(file), "--checkpoint", str(tiny("bert")), "--out", str(out))
    done = start("-m", "bertexplorer", "train", *given, "--epochs", "1", "--map", "text=sentence", "label=what")
    assert done.returncode == 0, done.stderr
    assert "skipped: line 62" in done.stderr and "finished" in done.stdout and list((out / "best").glob("step-*"))
    bad = start("-m", "bertexplorer", "train", *given[:-1], str(tmp_path / "other"), "--strict")
    assert bad.returncode == 2 and "Fix them" in bad.stderr and "Traceback" not in bad.stderr
