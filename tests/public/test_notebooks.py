"""The notebooks of examples/ run from top to bottom, and what they show can be shown."""

import ast
import json
from pathlib import Path

import pytest

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def shown(source: str, names: dict[str, object]) -> object:
    """What a cell displays: the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(notebook: Path) -> None:
    names: dict[str, object] = {}
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            value = shown("".join(cell["source"]), names)
            if hasattr(value, "_repr_mimebundle_"):
                json.dumps(value._repr_mimebundle_())
            assert repr(value)


def test_notebooks_are_stored_without_output() -> None:
    assert len(NOTEBOOKS) == 5
    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        assert not [cell for cell in cells if cell.get("outputs")]
