"""The map of the code is complete: each folder's docstring, the tuples of modules, and the size of files."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from bertexplorer.views import TOPICS, VIEWS
from bertexplorer.views.protocols import Analysis, FigureModule
from bertexplorer.views.view import View
from tests.conftest import ROOT
from tests.golden.files import NAMES

PACKAGE = ROOT / "bertexplorer"
FILES = sorted(PACKAGE.rglob("*.py"))
LIMIT = 600  # lines of a file


FOLDERS = sorted(file.parent for file in FILES if file.name == "__init__.py")


def listed(folder: Path) -> list[tuple[str, str]]:
    """(name at the start of a line of the folder's docstring, its description)."""
    doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    return re.findall(r"^(\w+\.py|[\w/]+/) +(.*)$", doc, re.MULTILINE)


def test_the_map_names_every_folder() -> None:
    named = [name.rstrip("/") for name, _ in listed(PACKAGE) if name.endswith("/")]
    folders = [str(folder.relative_to(PACKAGE)) for folder in FOLDERS if folder != PACKAGE]
    assert sorted(named) == [folder for folder in folders if not folder.startswith("views/")]


def test_each_module_opens_with_a_docstring_and_is_short() -> None:
    silent, long = [], []
    for file in FILES:
        source = file.read_text("utf-8")
        is_folder_of_a_view = not source and file.parent.parent == PACKAGE / "views"
        if not is_folder_of_a_view and not ast.get_docstring(ast.parse(source)):
            silent.append(str(file))
        if source.count("\n") > LIMIT:
            long.append(str(file))
    assert (silent, long) == ([], [])


def test_test_files_are_short() -> None:
    files = [file for file in (ROOT / "tests").rglob("*.py") if "browser" not in file.parts]
    assert {file.name: n for file in files if (n := file.read_text("utf-8").count("\n")) > LIMIT} == {}
    assert [file.name for file in files if not ast.get_docstring(ast.parse(file.read_text("utf-8")))] == []


def test_every_folder_is_a_view_with_a_place_of_its_own() -> None:
    folders = {file.parent.name for file in (PACKAGE / "views").glob("*/__init__.py")}
    assert {view.name for view in VIEWS.values()} == folders == set(VIEWS.names)
    assert {view.topic for view in VIEWS.values()} == set(TOPICS)
    for topic in TOPICS:
        places = [view.place for view in VIEWS.values() if view.topic == topic]
        assert places == list(range(1, len(places) + 1)), topic
    assert "nonsense" not in VIEWS and "fill_mask" not in VIEWS


def test_each_view_has_a_golden_file() -> None:
    golden = {name.removeprefix("views/") for name in NAMES if name.startswith("views/")}
    assert golden == {view.slug for view in VIEWS.values()}, "python -m tests.golden views/… --accept writes one"


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.slug)
def test_a_view_names_its_papers_by_authors_year_and_title(view: View) -> None:
    assert view.papers and len(set(view.papers)) == len(view.papers)
    assert [paper for paper in view.papers if not re.fullmatch(r"\D+, (19|20)\d\d, \S.*[^.]", paper)] == []


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.slug)
def test_every_analysis_and_figure_has_the_required_functions(view: View) -> None:
    assert {"run", "rows", "Options"} <= set(vars(view.analysis))
    assert isinstance(view.analysis, Analysis) and isinstance(view.figure, FigureModule)
    assert list(inspect.signature(view.analysis.run).parameters) == ["checkpoint", "text", "options", *view.needs]
    for function in (view.analysis.rows, view.figure.draw, view.figure.say):
        assert list(inspect.signature(function).parameters) == ["result"]


def test_comments_refer_to_classes_that_exist() -> None:
    sources = [file.read_text("utf-8") for file in (ROOT / "bertexplorer").rglob("*.py")]
    # A name before a small letter is that of an author: see Hewitt and Liang.
    cited = {name for source in sources for name in re.findall(r"#.*\bsee ([A-Z][a-z]\w*)\b(?! [a-z])", source)}
    defined = {name for source in sources for name in re.findall(r"^class (\w+)", source, re.MULTILINE)}
    assert cited and cited <= defined


ROLES = {"Options", "Facts", "Example"}  # each view, or each task, has its own


def test_a_name_that_rooms_share_means_one_thing() -> None:
    """Of the classes and types of one name, at most one is imported outside its room: a folder, or a view."""
    homes: dict[str, set[str]] = {}
    shared: dict[str, set[str]] = {}
    for file in FILES:
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        tree = ast.parse(file.read_text("utf-8"))
        for node in tree.body:
            for name in defined(node):
                homes.setdefault(name, set()).add(module)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and room(node.module) != room(module):
                for alias in node.names:
                    shared.setdefault(alias.name, set()).add(node.module)
    doubles = {name: places & shared.get(name, set()) for name, places in homes.items() if name not in ROLES}
    assert {name: places for name, places in doubles.items() if len(places) > 1} == {}
    named = re.findall(
        r"`([A-Z]\w+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Names")[2].partition("\n## ")[0]
    )
    assert named and [name for name in named if name not in homes] == []


def defined(node: ast.stmt) -> list[str]:
    """The class that *node* defines, or the name that it gives to a type."""
    if isinstance(node, ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [each.id for each in targets if isinstance(each, ast.Name) and re.fullmatch("[A-Z][a-z]\\w*", each.id)]


def room(module: str) -> tuple[str, ...]:
    """The folder of a module, and the view that it belongs to, if any."""
    parts = module.split(".")
    return tuple(parts[1:3]) if parts[1:2] == ["views"] else tuple(parts[1:2])
