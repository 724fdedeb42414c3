"""Our own JavaScript: imports that hold where the files lie, and the types of what Python hands over."""

import re
from pathlib import Path

import pytest

from docs import api_types, figure_types
from tests.conftest import ROOT

FOLDERS = "bertexplorer/web/static", "bertexplorer/views"
SCRIPTS = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*.js") if "vendor" not in path.relative_to(ROOT).parts
)
IMPORT = re.compile(r"""^(?:import\s*|(?:import|export)\s[^;"'=]*?\bfrom\s*)["']([^"']*)["']""", re.MULTILINE)
LATER = re.compile(r"""\bimport\(\s*["'`]([^"'`$]*)["'`]""")
BESIDE = re.compile(r"""new URL\(["'`]([^"'`$]*)["'`], import\.meta\.url\)""")


def absent(script: Path) -> list[str]:
    """What *script* imports, at once or later, or fetches from beside itself, that is not there."""
    source = script.read_text("utf-8")
    imported = IMPORT.findall(source) + LATER.findall(source)
    beside = [name for name in BESIDE.findall(source) if not name.endswith("/")]
    named = [name for name in imported if not name.startswith(("./", "../"))]  # as no browser finds it
    return named + [name for name in imported + beside if not (script.parent / name).is_file()]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT / "bertexplorer").as_posix())
def test_what_a_script_imports_is_where_it_says(script: Path) -> None:
    assert absent(script) == []


def test_an_import_of_nothing_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "there.js").touch()
    script = tmp_path / "script.js"
    lines = (
        'import "./there.js";',
        'import { a } from "./one.js";',
        'import {\n  b,\n} from "../two.mjs";',
        'const c = await import("./three.js");',
        'export { d } from "four";',
        'new Worker(new URL("./five.js", import.meta.url));',
    )
    script.write_text("\n".join(lines), "utf-8")
    assert sorted(set(absent(script))) == ["../two.mjs", "./five.js", "./one.js", "./three.js", "four"]


def test_the_types_of_a_figure_are_those_of_its_classes() -> None:
    assert figure_types.TARGET.read_text("utf-8") == figure_types.written(), "run python -m docs.figure_types"


def test_the_types_of_questions_and_answers_are_those_of_the_openapi_document() -> None:
    """A golden test holds the document to the code."""
    assert api_types.TARGET.read_text("utf-8") == api_types.written(), "run python -m docs.api_types"
