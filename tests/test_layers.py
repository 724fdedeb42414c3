"""Imports point in one direction, layer by layer; a failure names the file that breaks the rule."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "bertexplorer"
FLOORS = (  # lowest first
    {"errors", "interrupt", "wording"},
    {"charts", "csv_safety", "locks", "options", "settings", "version"},
    {"model"},
    {"engine"},
    {"answers", "training"},
    {"store"},
    {"diagnosis", "teaching"},
    {"views"},
    {"analysis", "core"},
    {"runs"},
    {"learn"},
    {"classroom"},
    {"python"},
    {"api"},
    {"web"},
    {"blocks", "cluster", "site"},
    {"server"},
    {"cli"},
    {"gradio_app"},  # it uses the package as others do, by its public names
    {"__main__"},
    {"app"},
)
FLOOR = {part: height for height, parts in enumerate(FLOORS) for part in parts}
FLOOR[""] = FLOOR["cli"]  # import bertexplorer: its public names come from all floors up to here
ALLOWED = {  # library -> the only parts that may import it
    "torch": {"model", "engine", "answers", "diagnosis", "teaching", "training", "store", "views", "site"},
    "plotly": {"charts", "python"},
    "bertviz": {"views"},
    "accelerate": {"training"},
    "nervaluate": {"training"},
    "peft": {"training"},
    "rouge_score": {"training"},
    "sacrebleu": {"training"},
    "sklearn": {"views", "teaching", "training"},
    "scipy": {"answers", "diagnosis", "views", "training"},
    "gradio": {"blocks", "web", "gradio_app"},
    "anywidget": {"web"},
    "fastapi": {"api", "server"},
    "pydantic": {"api"},
    "mcp": {"api"},
    "starlette": {"api", "server", "web"},
    "fsspec": {"cluster"},
    "ray": {"cluster"},
    "uvicorn": {"server"},
    "prometheus_client": {"server"},
    "transformers": {"model"},
    "markdown_it": {"learn"},
    "yaml": {"learn"},
    "segno": {"api"},
}
FILES = [*sorted(PACKAGE.rglob("*.py")), ROOT / "app.py"]


def part_of(file: Path) -> str:
    """The package, or the module of the top, that *file* belongs to."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py") if file.is_relative_to(PACKAGE) else file.stem


def imports(node: ast.AST, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """(dotted name, whether inside a function) of every import below *node*, import_module("…") included."""
    inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    if isinstance(node, ast.Import):
        yield from ((alias.name, inside) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = f"bertexplorer.{node.module or ''}" if node.level else node.module or ""
        yield from ((f"{module}.{alias.name}", inside) for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")) and node.args:
        first = node.args[0]
        yield (first.value if isinstance(first, ast.Constant) else "a name that is computed"), inside
    for child in ast.iter_child_nodes(node):
        yield from imports(child, inside)


def faults(part: str, source: str) -> list[str]:
    """The imports of *source*, a module of *part*, that are not allowed."""
    result = []
    for name, inside in imports(ast.parse(source)):
        library, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if library in ALLOWED and part not in ALLOWED[library]:
            result.append(f"{name} (only {', '.join(sorted(ALLOWED[library]))} may)")
        if library == "transformers" and not inside:
            result.append(f"{name} outside a function")
        if library == "bertexplorer" and target != part and FLOOR.get(target, 99) >= FLOOR[part]:
            result.append(f"{name} (not below {part})")
    return result


def test_imports_point_down() -> None:
    wrong = {}
    for file in FILES:
        if file == PACKAGE / "__init__.py":  # imports all layers, lazily: see tests/public/test_analyses.py
            continue
        part = part_of(file)
        assert part in FLOOR, f"{part} has no floor: add it to FLOORS"
        wrong[str(file.relative_to(ROOT))] = faults(part, file.read_text("utf-8"))
    assert {file: names for file, names in wrong.items() if names} == {}


def test_a_view_imports_no_other_view() -> None:
    """So that a folder can be deleted, and its view is gone."""
    files = sorted((PACKAGE / "views").glob("*/*.py"))
    folders = {f"bertexplorer.views.{file.parent.name}" for file in files}
    assert len(folders) > 30
    wrong = []
    for file in files:
        others = folders - {f"bertexplorer.views.{file.parent.name}"}
        for name, _ in imports(ast.parse(file.read_text("utf-8"))):
            if ".".join(name.split(".")[:3]) in others:
                wrong.append(f"{file.relative_to(ROOT)} imports {name}")
    assert wrong == []


def heads(name: str) -> set[str]:
    """A dotted name and what it is a part of: a.b.c -> a, a.b, a.b.c."""
    parts = name.split(".")
    return {".".join(parts[: end + 1]) for end in range(len(parts))}


def test_no_two_modules_import_each_other() -> None:
    result = {}
    for file in FILES:
        names = [name for name, _ in imports(ast.parse(file.read_text("utf-8")))]
        result[file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")] = set().union(*map(heads, names))
    assert [(a, b) for a in result for b in result[a] & result.keys() if a < b and a in result[b]] == []


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ("model", "from bertexplorer.engine.inference import forward"),
        ("charts", "def f():\n    from bertexplorer.store.registry import CheckpointRegistry"),
        ("errors", "from bertexplorer import options"),
        ("store", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from bertexplorer.cli import main"),
        ("charts", "import torch.nn"),
        ("core", "from torch import Tensor"),
        ("web", "import plotly.graph_objects as go"),
        ("cli", "import gradio as gr"),
        ("model", "from transformers import AutoTokenizer"),
        ("engine", "def f():\n    import transformers"),
        ("model", "import_module('bertexplorer.web')"),
        ("model", "from ..web import page"),
        ("web", "import bertexplorer as bx"),
    ],
)
def test_forbidden_imports_are_found(part: str, source: str) -> None:
    assert faults(part, source)


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ("core", "from bertexplorer.model.checkpoint import Checkpoint"),
        ("model", "def f():\n    from transformers import AutoTokenizer"),
        ("answers", "from bertexplorer.answers.word_scores import named"),
        ("web", "def main():\n    import gradio"),
        ("gradio_app", "import bertexplorer as bx"),
    ],
)
def test_allowed_imports_are_accepted(part: str, source: str) -> None:
    assert not faults(part, source)
