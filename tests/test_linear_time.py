"""Text from outside is read in linear time: twice the text takes twice the steps of each regular expression and parser.

Steps are counted, not seconds: tests/regex_steps.py counts those of a regular expression, and Python's own tracing the
lines that a parser executes."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import bertexplorer
from bertexplorer.core.row_uploads import parse_rows
from bertexplorer.core.state import read_spans
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.expressions import Expression, fill_slots
from bertexplorer.learn.lesson import read_lesson
from bertexplorer.learn.numbers import readings
from bertexplorer.learn.prose import tree
from bertexplorer.server.request_filter import PATTERNS
from bertexplorer.store.text_uploads import parse_lines
from bertexplorer.training.data.qrels import collection_rows
from bertexplorer.training.data.read import read
from tests.regex_steps import alphabet, compile_program, run, steps

PACKAGE = Path(bertexplorer.__file__).parent
METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
SHORT = 24  # characters of the shorter text for a regular expression
GROWTH = 2.6  # twice the text takes twice the steps, and some more for the ends; quadratic time takes four times
Pattern = tuple[str, str, int]  # the pattern, the method that is called, its flags


def patterns() -> dict[Pattern, str]:
    """Each regular expression of the package with a method that is called on it, and where."""
    found: dict[Pattern, str] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        source = file.read_text("utf-8")
        if not re.search(r"\bre\b|[A-Z]\.(?:" + "|".join(METHODS) + ")", source) or file.name == "__main__.py":
            continue
        name = ".".join(("bertexplorer", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        compiled = {} if "ray" in name else vars(import_module(name))
        for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in METHODS:
                continue
            place = f"{file.relative_to(PACKAGE)}:{call.lineno}"
            owner = compiled.get(call.func.value.id) if isinstance(call.func.value, ast.Name) else None
            if isinstance(owner, re.Pattern):
                found.setdefault((owner.pattern, call.func.attr, owner.flags & FLAGS), place)
            elif owner is re and isinstance(call.args[0], ast.Constant):
                flags = re.MULTILINE if "re.MULTILINE" in ast.unparse(call) else 0
                found.setdefault((call.args[0].value, call.func.attr, flags), place)
    return found | {(pattern.pattern, "fullmatch", 0): "server/request_filter.py" for _, _, pattern in PATTERNS}


def texts(letters: list[str], size: int) -> Iterator[str]:
    """Texts that repeat one or two of *letters*, and end in a sign that no pattern knows."""
    for first in letters:
        yield first * size + "\x01"
        for second in letters:
            if first != second:
                yield first + second * size + "\x01"
                yield (first + second) * (size // 2) + "\x01"


def fastest_growth(pattern: str, method: str, flags: int) -> tuple[float, str]:
    """(the largest ratio of the steps for twice the text, that text)."""
    letters = alphabet(pattern, flags)[:9]
    worst = (0.0, "")
    for short, long in zip(texts(letters, SHORT), texts(letters, 2 * SHORT), strict=True):
        base = steps(pattern, short, method, flags) + 40
        worst = max(worst, (steps(pattern, long, method, flags, limit=8 * base) / base, long))
    return worst


PATTERNS_OF_PACKAGE = patterns()


def test_most_patterns_are_found() -> None:
    assert len(PATTERNS_OF_PACKAGE) > 80


@pytest.mark.parametrize("pattern", PATTERNS_OF_PACKAGE, ids=PATTERNS_OF_PACKAGE.values())
def test_a_regular_expression_takes_linear_time(pattern: Pattern) -> None:
    growth, text = fastest_growth(*pattern)
    assert growth < GROWTH, f"{pattern} on {text!r}"


@pytest.mark.parametrize(
    "quadratic",
    [
        (r"\s*([-+]?(?:\d*[.,]?\d+|[1-9]\d{0,2}(?:,\d{3})+))\s*(%?)\s*", "fullmatch", 0),
        (r"(?:(.+?)\s*->\s*)?\"(.*)\"$", "match", 0),
        (r"\S*[/\\]\S*", "sub", 0),
    ],
)
def test_the_count_tells_quadratic_time(quadratic: Pattern) -> None:
    assert fastest_growth(*quadratic)[0] > 3


@pytest.mark.parametrize(
    ("pattern", "text", "method"),
    [
        (r"a+b", "aaab", "match"),
        (r"(a|b)*c", "ababc", "fullmatch"),
        (r"a*?b", "aab", "search"),
        (r"\bx", "a x", "search"),
    ],
)
def test_the_counting_matcher_matches_as_re_does(pattern: str, text: str, method: str) -> None:
    found = getattr(re, method)(pattern, text)
    ends = [run(compile_program(pattern, 0), text, start, method == "fullmatch", 10_000)[1] for start in range(5)]
    assert next(end for end in ends if end is not None) == found.end()


def lesson(content: str) -> Any:
    return read_lesson(f"---\ntitle: A lesson\n---\n{content}", "a-lesson")


def block(kind: str, *lines: str) -> Any:
    return lesson("\n".join((f"```{kind} an-id", "A question?", *lines, "```")))


PARSERS: dict[str, Callable[[str], Any]] = {
    "a lesson": lesson,
    "the items of a choice": lambda text: block("choice", "- [x] one", text),
    "the hint of a find": lambda text: block("find", "start: /?view=fill-mask", "accept: rank(1) > 2", f"near: {text}"),
    "front matter": lambda text: read_lesson(f"---\n{text}\n---\nText", "a-lesson"),
    "Markdown": tree,
    "an expression": lambda text: Expression.read(text, {}),
    "slots": lambda text: fill_slots(text, {}),
    "a typed number": readings,
    "spans of a link": read_spans,
    "lines of a text": lambda text: parse_lines(text.encode(), "lines.txt"),
    "lines of a table": lambda text: parse_lines(text.encode(), "lines.csv"),
    "lines of JSON": lambda text: parse_lines(text.encode(), "lines.jsonl"),
    "rows of a table": lambda text: parse_rows(text.encode(), "rows.csv"),
    "rows of JSON": lambda text: parse_rows(text.encode(), "rows.json"),
    "rows of JSON lines": lambda text: read(text.encode(), "rows.jsonl"),
    "sentences with tags": lambda text: read(text.encode(), "rows.conll"),
    "a test collection": lambda text: collection_rows(text, text, text),
}
LINE_SHAPES = ("a\n", '{"a":1},', "- a\n  > b\n", "``` a b\n")
SHAPES = ("a", " ", "1", ",", '"', "[a](", "*a ", "> ", "- ", "`", "a -> ", "{a|", *LINE_SHAPES)


def executed_lines(read_text: Callable[[str], Any], text: str) -> int:
    """The lines of Python that *read_text* executes."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read_text(text)
    except ExplorerError:
        pass
    finally:
        sys.settrace(before)
    return count


SIZES = [pytest.param(1_000, 2_000, id="2 kB"), pytest.param(2_000, 50_000, id="50 kB", marks=pytest.mark.slow)]


@pytest.mark.parametrize(("small", "large"), SIZES)
@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_takes_linear_time(name: str, small: int, large: int) -> None:
    for shape in SHAPES:
        short, long = (executed_lines(PARSERS[name], shape * (size // len(shape))) for size in (small, large))
        assert long < GROWTH / 2 * large / small * short + 500, shape
