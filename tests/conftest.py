"""Fixtures for all tests: tiny checkpoints, the bundled one, and the optional shared ones."""

import gc
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false"}
os.environ |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}
os.environ["BERTEXPLORER_PLUGINS"] = ""  # whatever is installed on this machine
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of commands and servers too: threads of several wait for each other

import hypothesis
import pytest
import torch
from jaxtyping import config as shapes, install_import_hook

from tests import tiny as recipes

ROOT = Path(__file__).parents[1]
BUNDLED = ROOT / "assets" / "checkpoints" / "mini"
SHARED = ROOT.parent / "shared" / "checkpoints"
Tiny = Callable[[str], Path]  # the fixture `tiny`

torch.set_num_threads(1)  # two threads wait for each other when pytest-xdist fills the cores
hypothesis.settings.register_profile("any machine", deadline=None)  # a busy machine is slow, not wrong
hypothesis.settings.load_profile("any machine")


SHAPED = ("model", "engine")  # their annotated shapes are checked at every call in their own fast tests


def shaped() -> list[str]:
    """The modules with annotated shapes that are checked."""
    files = [file for part in SHAPED for file in (ROOT / "bertexplorer" / part).rglob("*.py")]
    named = [file.relative_to(ROOT).with_suffix("") for file in files if "from jaxtyping" in file.read_text("utf-8")]
    return [".".join(path.parts) for path in named]


install_import_hook(shaped(), "beartype.beartype")


LONGEST = (  # files of tests that take half a minute and more, the longest first
    "site", "site_checkpoints", "training", "faults", "access", "components", "onnx", "gradio_app", "canary",
    "worker_pool", "people", "processes", "views", "runs", "schema", "state", "class_killed", "suite", "experiments",
    "tasks", "suite_folder", "influence", "killed", "attribution", "marks", "bad_input", "examples", "class", "learn",
    "advisories", "look_inside", "doors", "weights",
)  # fmt: skip


def pytest_collection_finish() -> None:
    """Leave what is imported and collected, two million objects, out of every later collection of garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest files first, so that no process is left with one of them at the end."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem.removeprefix("test_"), len(order)))
    for item in items:
        if item.path.is_relative_to(ROOT / "tests" / "browser"):
            item.add_marker(pytest.mark.browser)
        if selects_precision(item.path):
            item.add_marker(pytest.mark.precision)
        if not SHARED.is_dir() and item.get_closest_marker("shared"):
            item.add_marker(pytest.mark.skip(reason="needs the optional shared checkpoints"))


@cache
def selects_precision(file: Path) -> bool:
    """Whether the tests of *file* let `auto` select a precision."""
    return '"auto"' in file.read_text("utf-8")


def pytest_runtest_setup(item: pytest.Item) -> None:
    torch.set_num_threads(1)  # whatever a test before left
    own = any(item.path.is_relative_to(ROOT / "tests" / part) for part in SHAPED)
    long = any(item.get_closest_marker(name) for name in ("slow", "golden", "browser"))
    shapes.update("jaxtyping_disable", long or not own)  # where they are checked, small models take a third longer


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--auto", choices=("fp32", "bf16"), help="what the precision auto selects, whatever the processor")


@pytest.fixture(scope="session", autouse=True)
def auto_precision(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let `auto` select the precision of --auto, as it does on a processor without bf16, or with it."""
    wanted = request.config.getoption("--auto")
    with pytest.MonkeyPatch.context() as patch:
        if wanted:
            patch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: wanted == "bf16", raising=False)
        yield


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Name of a recipe -> its folder, written once a session. Never write into it: see `tiny_copy`."""
    root = tmp_path_factory.mktemp("tiny")

    def folder(name: str = "bert") -> Path:
        return root / name if (root / name).is_dir() else recipes.write(root / name, name)

    return folder


@pytest.fixture
def tiny_copy(tiny: Tiny, tmp_path: Path) -> Tiny:
    """Name of a recipe -> a copy of its folder that a test may damage."""
    return lambda name="bert": Path(shutil.copytree(tiny(name), tmp_path / name))


@pytest.fixture(scope="session")
def bundled() -> Path:
    """The checkpoint that ships with the app."""
    return BUNDLED
