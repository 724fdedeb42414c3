"""What is imported when: a page listens before torch is there, and an answer needs nothing of the page."""

import subprocess
import sys

import pytest

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
        "import bertexplorer.web.gradio_patches, bertexplorer.server.launch, bertexplorer.store.registry",
        {"accelerate", "torch", "transformers"} | NEEDED_BY_FEW,
    ),
}


@pytest.mark.parametrize("start", STARTS)
def test_only_what_is_needed_is_imported(start: str) -> None:
    code, unwanted = STARTS[start]
    done = subprocess.run([sys.executable, "-c", f"{code}\n{LISTED}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.splitlines()[-1].split())
    assert "bertexplorer" in imported and not imported & unwanted
