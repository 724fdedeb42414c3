"""What every test may ask for: tiny checkpoints, the bundled one, and the folder of shared ones where there is one."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false"}
os.environ |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}

import pytest
import torch
from xdist.scheduler import LoadScopeScheduling

from tests import tiny as recipes

ROOT = Path(__file__).parents[1]
BUNDLED = ROOT / "assets" / "checkpoints" / "mini"
SHARED = ROOT.parent / "shared" / "checkpoints"

torch.set_num_threads(1)  # two threads wait for each other when pytest-xdist fills the cores


ALONE = tuple(f"test_{name}.py" for name in ("canary", "people", "server", "training", "tasks", "laboratory"))


class BrowserApart(LoadScopeScheduling):
    """The tests with a browser that is all they wait for, one after the other in one process, first; those that wait
    for runs and for servers of their own, each file by itself; all else wherever there is time."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if not file.startswith("tests/browser/"):
            return nodeid
        return file if file.endswith(ALONE) else "tests/browser"


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> BrowserApart:
    return BrowserApart(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not SHARED.is_dir() and item.get_closest_marker("shared"):
            item.add_marker(pytest.mark.skip(reason="needs ../shared, which only the makers have"))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Name of a recipe -> its folder, written once a session. Never write into it: see `tiny_copy`."""
    root = tmp_path_factory.mktemp("tiny")

    def folder(name: str = "bert") -> Path:
        return root / name if (root / name).is_dir() else recipes.write(root / name, name)

    return folder


@pytest.fixture
def tiny_copy(tiny: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Name of a recipe -> a copy of its folder that a test may damage."""
    return lambda name="bert": Path(shutil.copytree(tiny(name), tmp_path / name))


@pytest.fixture(scope="session")
def bundled() -> Path:
    """The checkpoint that ships with the app."""
    return BUNDLED
