"""A further view and a further task need their own files and a word in a list: every channel then knows them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_a_view_and_a_task_of_their_own_files_work_everywhere(tmp_path: Path) -> None:
    script = subprocess.run(
        [sys.executable, "-m", "tests.added.use", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert script.returncode == 0, script.stderr
    letters = [3, 3, 3, 1]
    assert json.loads(script.stdout) == {
        "python": ["4 tokens stand for 10 letters.", letters],
        "command": letters,
        "page": "Letters",
        "view": ["4 tokens stand for 10 letters.", 1],
        "route": letters,
        "preview": ["Is it good?", []],
        "labels": ["question", "statement"],
    }
