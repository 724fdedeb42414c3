"""Writes distributions that bring views, as an installer would leave them, without a network."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import ROOT

ADDED = ROOT / "tests" / "added"
GROUP = "bertexplorer.views"

COMPUTE = '''"""Marks: a view of a test."""

from dataclasses import dataclass
from bertexplorer.views import facts


@dataclass(frozen=True)
class Options:
    pass


def run(checkpoint, text, *, options=Options()):
    return 3


def rows(result):
    return [{"mark": result}]


class Facts(facts.Facts[int]):
    pass
'''
SHOW = '''"""Marks: drawn."""

from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.adaptors.style import finish
from bertexplorer.views.view import Example, View

VIEW = View(__package__, "Input", place=9, title="Marks", question="Which?", note="None.",
            papers=("A, 2019, B",), examples=(Example("A cat", "The cat sat."),))


def draw(result):
    return finish(Chart(), 300)


def say(result):
    return "Three marks."
'''


def install(folder: Path, distribution: str, views: Mapping[str, str]) -> Path:
    """Write the metadata of a *distribution* whose entry points are *views*. Returns *folder*, for PYTHONPATH."""
    metadata = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", "utf-8")
    points = "".join(f"{name} = {package}\n" for name, package in views.items())
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{points}", "utf-8")
    return folder


def write(folder: Path, package: str, compute: str = COMPUTE, show: str = SHOW) -> None:
    """Write a view into *folder*, as the dotted *package*."""
    place = folder.joinpath(*package.split("."))
    place.mkdir(parents=True, exist_ok=True)
    for module, content in (("__init__", ""), ("compute", compute), ("show", show)):
        (place / f"{module}.py").write_text(content, "utf-8")


def bring(folder: Path, name: str, compute: str = COMPUTE, show: str = SHOW) -> Path:
    """A distribution of its own that brings one view."""
    write(folder, f"of_{name}.{name}", compute, show)
    return install(folder, f"bert-{name.replace('_', '-')}", {name: f"of_{name}.{name}"})


def bring_letters(folder: Path) -> list[str]:
    """The package of tests/added, as its pyproject.toml declares it. Returns the folders for PYTHONPATH."""
    project = tomllib.loads((ADDED / "pyproject.toml").read_text("utf-8"))["project"]
    return [str(install(folder, project["name"], project["entry-points"][GROUP])), str(ADDED)]


def environment(*folders: str | Path, plugins: str | None = None) -> dict[str, str]:
    """The environment of a process that finds what is installed in *folders*. *plugins*: BERTEXPLORER_PLUGINS."""
    variables = {name: value for name, value in os.environ.items() if name != "BERTEXPLORER_PLUGINS"}
    variables["PYTHONPATH"] = os.pathsep.join(map(str, folders))
    return variables if plugins is None else variables | {"BERTEXPLORER_PLUGINS": plugins}
