"""A view of another package, and a task of its own file and a word in a list: every channel then knows them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.brought import bring_letters, environment
from tests.conftest import ROOT


@pytest.mark.slow
def test_the_view_of_a_package_and_a_task_of_its_own_file_work_everywhere(tmp_path: Path) -> None:
    folders = bring_letters(tmp_path / "installed")
    script = subprocess.run(
        [sys.executable, "-m", "tests.added.use", str(tmp_path)],
        cwd=ROOT,
        env=environment(*folders),
        capture_output=True,
        text=True,
        check=False,
    )
    assert script.returncode == 0, script.stderr
    letters, said = [3, 3, 3, 1], "4 tokens stand for 10 letters."
    assert json.loads(script.stdout) == {
        "python": [said, letters, letters],
        "command": letters,
        "page": "Letters",
        "link": ["6 tokens stand for 10 letters.", {"special": True}, 1],
        "route": letters,
        "program": True,
        "documented": True,
        "preview": ["Is it good?", []],
        "labels": ["question", "statement"],
    }
