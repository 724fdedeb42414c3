"""The browser's files for Explore: the right version of plotly.js, and readable scripts."""

import re
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs_version

from bertexplorer.web.page import STATIC


@pytest.mark.parametrize("bundle", ["cartesian", "gl3d"])
def test_plotly_js_matches_the_version_of_plotly(bundle: str) -> None:
    opening = (STATIC / "vendor" / f"plotly-{bundle}.min.js").read_text("utf-8")[:200]
    match = re.search(r"plotly\.js \((\S+) - minified\) v(\S+)", opening)
    assert match and match.groups() == (bundle, get_plotlyjs_version())


@pytest.mark.parametrize(
    "file",
    sorted([*STATIC.glob("*.*"), *STATIC.glob("site/*.js")]),
    ids=lambda file: file.relative_to(STATIC).as_posix(),
)
def test_a_script_is_short_and_sets_text_as_text(file: Path) -> None:
    source = file.read_text("utf-8")
    assert file.suffix == ".css" or len(source.splitlines()) <= 800
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", source)


def test_the_components_ask_through_one_function() -> None:
    """Others may take the place of HTTP: see backend.js. The player that a saved lesson contains is no question."""
    speaking = {
        file.name
        for file in STATIC.glob("*.js")
        if re.search(r"\bfetch\(|XMLHttp|EventSource|WebSocket", file.read_text("utf-8"))
    }
    assert speaking == {"backend.js", "offline.js"}
