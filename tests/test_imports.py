"""What is imported when: a page listens before torch is there, and an answer needs nothing of the page."""

import subprocess
import sys

import pytest

from tests.brought import environment
from tests.conftest import ROOT

LISTED = "import sys; print(' '.join({module.partition('.')[0] for module in sys.modules}))"
PAGE = {"fastapi", "gradio", "pandas", "pydantic", "starlette", "uvicorn"}
NEEDED_BY_FEW = {"bertviz", "datasets", "matplotlib", "peft", "plotly", "scipy", "sentence_transformers", "sklearn"}
STARTS = {  # what begins -> (its code, what it must not import)
    "the package": ("import bertexplorer", {"numpy", "tokenizers", "torch", "transformers"} | PAGE | NEEDED_BY_FEW),
    "a first answer": (
        "import bertexplorer as bx; bx.fill_mask('Paris is the [MASK] of France.')",
        {"accelerate", "huggingface_hub", "transformers"} | PAGE | NEEDED_BY_FEW,
    ),
    "the command line": (
        "from bertexplorer.cli.main import main; main(['fill-mask', 'Paris is the [MASK] of France.'])",
        {"accelerate", "huggingface_hub", "transformers"} | PAGE | NEEDED_BY_FEW,
    ),
    "the page until it listens": (
        "import bertexplorer.web.gradio_patches, bertexplorer.server.launch, bertexplorer.store.registry\n"
        "from bertexplorer.views import VIEWS; list(VIEWS)",
        {"accelerate", "torch", "transformers"} | NEEDED_BY_FEW,
    ),
}


READ = "\nfrom bertexplorer.views import plugins; print(plugins.installed.cache_info().misses)"
ENDING = "try: main({words})\nexcept SystemExit: pass\n"
COMMAND = f"from bertexplorer.cli.main import main\n{ENDING}"
UNREAD = {  # code, and how often it reads what is installed: for views that are not ours
    "python": (
        "import bertexplorer as bx; hasattr(bx, '_repr_html_'); hasattr(bx, 'settings')\n"
        "bx.fill_mask('Paris is the [MASK] of France.')\n"
        "bert = bx.load('mini'); bert.fill_mask; hasattr(bert, '_repr_html_')",
        0,
    ),
    "commands": (
        COMMAND.format(words=["fill-mask", "Paris is the [MASK] of France."])
        + "\n".join(ENDING.format(words=words) for words in (["fill-mask", "--help"], ["checkpoints"], ["--version"])),
        0,
    ),
    "the list of commands": (COMMAND.format(words=["--help"]), 1),
    "an unknown name": ("import bertexplorer as bx; hasattr(bx, 'letters')", 1),
}


@pytest.mark.parametrize("what", UNREAD)
def test_what_is_installed_is_read_only_for_views_that_are_not_ours(what: str) -> None:
    code, times = UNREAD[what]
    done = subprocess.run(
        [sys.executable, "-c", f"{code}{READ}"], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == str(times), done.stderr


@pytest.mark.parametrize("start", STARTS)
def test_only_what_is_needed_is_imported(start: str) -> None:
    code, unwanted = STARTS[start]
    done = subprocess.run([sys.executable, "-c", f"{code}\n{LISTED}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.splitlines()[-1].split())
    assert "bertexplorer" in imported and not imported & unwanted
