"""The package starts on a system without fcntl and resource, such as Windows, and also locks its runs there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bertexplorer import locks
from bertexplorer.errors import ExplorerError
from bertexplorer.training.run_process import lock_run
from tests.conftest import ROOT

PROGRAM = """
import sys
sys.modules |= {"fcntl": None, "resource": None, "pwd": None, "grp": None}
import importlib, os, pkgutil
from pathlib import Path
import bertexplorer
import bertexplorer.web.gradio_patches  # noqa: F401
names = [m.name for m in pkgutil.walk_packages(bertexplorer.__path__, "bertexplorer.")]
names = [name for name in names if not name.endswith(("__main__", "ray_router"))]  # Ray imports the latter
for name in names:
    importlib.import_module(name)
from bertexplorer import locks
from bertexplorer.errors import ExplorerError
from bertexplorer.training.run_process import lock_run, memory_mb
folder = Path(sys.argv[1])
for _ in range(2):
    with lock_run(folder):
        assert locks.is_locked(folder / "lock") and locks.holder_pid(folder / "lock") == os.getpid()
        try:
            with lock_run(folder):
                raise SystemExit("held twice")
        except ExplorerError as error:
            assert "another process" in str(error)
    assert not locks.is_locked(folder / "lock")
assert memory_mb() == 0.0
print(len(names))
"""


@pytest.mark.slow
def test_without_fcntl_and_resource_every_module_is_imported_and_a_run_locked(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_a_run_is_locked_with_the_functions_of_the_system(tmp_path: Path) -> None:
    for _ in range(2):
        with lock_run(tmp_path):
            assert locks.holder_pid(tmp_path / "lock") == os.getpid()
            with pytest.raises(ExplorerError, match="another process"), lock_run(tmp_path):
                pass
        assert not locks.is_locked(tmp_path / "lock") and locks.holder_pid(tmp_path / "lock") == 0
