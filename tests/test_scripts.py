"""Our own JavaScript: short lines, and imports that hold where the files lie."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

FOLDERS = "bertexplorer/web/static", "bertexplorer/views"
SCRIPTS = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*.js") if "vendor" not in path.relative_to(ROOT).parts
)
IMPORT = re.compile(r"""^(?:import\s*|(?:import|export)\s[^;"'=]*?\bfrom\s*)["']([^"']*)["']""", re.MULTILINE)
LATER = re.compile(r"""\bimport\(\s*["'`]([^"'`$]*)["'`]""")
BESIDE = re.compile(r"""new URL\(["'`]([^"'`$]*)["'`], import\.meta\.url\)""")
LIMIT = 140
RUNS = re.compile(r'"[^"]*"|`[^`]*`?|/\S{61,}/|https?://\S+')  # text that cannot be cut in two
LONG_RUN = 60


def long_lines(script: str) -> Iterator[int]:
    """The numbers of the lines that are too long and could be broken."""
    inside = False  # a template literal of several lines
    for number, line in enumerate(script.splitlines(), 1):
        was_inside, inside = inside, inside != (line.count("`") % 2 == 1)
        has_run = any(len(run) > LONG_RUN for run in RUNS.findall(line))
        if len(line) > LIMIT and not was_inside and not has_run:
            yield number


def test_lines_of_scripts_are_short() -> None:
    assert len(SCRIPTS) > 50
    found = [
        f"{path.relative_to(ROOT)}:{number} has more than {LIMIT} characters"
        for path in SCRIPTS
        for number in long_lines(path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


def test_a_long_line_would_be_found() -> None:
    words = "word " * 40
    broken = f'tell("a", {"one + " * 40}one, "b");'
    whole = [f'tell("{words}");', f"tell(`{words}`);", "tell(`", words, "`);"]
    assert list(long_lines("\n".join([f"const a = 1;  // {words}", broken, *whole]))) == [1, 2]


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
