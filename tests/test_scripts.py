"""Our own JavaScript has short lines: each holds one idea."""

import itertools
import re
from collections.abc import Iterator

from tests.conftest import ROOT

FOLDERS = "bertexplorer/site/static", "bertexplorer/web/static", "bertexplorer/views"
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
    every = itertools.chain.from_iterable((ROOT / folder).rglob("*.js") for folder in FOLDERS)
    scripts = [path for path in every if "vendor" not in path.parts]
    assert len(scripts) > 50
    found = [
        f"{path.relative_to(ROOT)}:{number} has more than {LIMIT} characters"
        for path in sorted(scripts)
        for number in long_lines(path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


def test_a_long_line_would_be_found() -> None:
    words = "word " * 40
    broken = f'tell("a", {"one + " * 40}one, "b");'
    whole = [f'tell("{words}");', f"tell(`{words}`);", "tell(`", words, "`);"]
    assert list(long_lines("\n".join([f"const a = 1;  // {words}", broken, *whole]))) == [1, 2]
