"""A program that uses the public API is checked by mypy as strictly as it wishes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROGRAM = """
# mypy: warn-return-any, disallow-untyped-calls, disallow-subclassing-any
import bertexplorer as bx
from bertexplorer import Bert, Comparison, ExplorerError, Lesson, Result, SuiteRun, TrainingRun

bert: Bert = bx.load("mini")
result: Result = bert.fill_mask("Paris is [MASK].", top=3)
both: Comparison = bx.compare(result, bx.fill_mask("A [MASK].", top=3))
lesson: Lesson = bx.lesson("sure-and-wrong")
run: TrainingRun = bx.train("tiny", task="classification", data=[{"text": "a", "label": "b"}], out="runs/a")
suite: SuiteRun | None = None
try:
    print(bx.attention("The cat.", checkpoint="mini").rows, bx.checkpoints(), bx.__version__, bert.encode(["a"]).shape)
except ExplorerError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_program_is_clean_under_strict_rules(tmp_path: Path) -> None:
    """With the package's own rules, which are strict, and in the program those that the package is spared: so what mypy
    knows of the package is used again."""
    (tmp_path / "program.py").write_text(PROGRAM)
    rules = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *rules, str(tmp_path / "program.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "1 source file" in done.stdout, done.stderr
    assert not [line for line in done.stdout.splitlines() if "program.py" in line]
