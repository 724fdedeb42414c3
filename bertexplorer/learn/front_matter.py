"""Front matter: the fields at the beginning of a lesson, in YAML, each checked for its type and length.

A field that is not as wanted is left out and reported. Anchors and aliases are refused, because a few of them can
stand for millions of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from bertexplorer.errors import ExplorerError

MAX_CHARACTERS = 20_000
MAX_DEPTH = 8
MAX_ITEMS = 50
MAX_ITEM = 500
MAX_MINUTES = 999
TEXTS = {"title": 200, "question": 500, "topic": 100, "can": 500, "guards": 1000}  # field -> most characters
LISTS = ("sources", "holds_on")
ALLOWED = (*TEXTS, "minutes", *LISTS)
FINGERPRINT = "of"  # in a translation, of the English texts
NEEDED = ("title", "question", "topic", "minutes", "can", "guards", "sources")
FIRST = 2  # the line of the file on which the front matter begins, below ---


@dataclass(frozen=True)
class LessonProblem:
    """A mistake in a lesson. *line* counts from 1."""

    line: int
    text: str


def front_matter(
    lines: list[str], allowed: Sequence[str] = ALLOWED, needed: Sequence[str] = NEEDED
) -> tuple[dict[str, Any], int, list[LessonProblem]]:
    """Return (fields, the index of the first line after them, problems). *lines*: those of the whole file. *allowed*,
    *needed*: names of fields."""
    fences = [index for index, line in enumerate(lines) if line.strip() == "---"][:2]
    if len(fences) < 2 or fences[0] != 0:
        return {}, 0, [LessonProblem(1, "The file does not begin with front matter between two lines of ---.")]
    end = fences[1]
    entries, problems = parse("\n".join(lines[1:end]))
    if problems:
        return {}, end + 1, problems
    fields: dict[str, Any] = {}
    names = set()
    for key, value in entries:
        name = str(key.value)
        names.add(name)
        try:
            if name not in allowed:
                raise ExplorerError(f"The front matter has {name!r:.40}; wanted {', '.join(allowed)}.")
            fields[name] = read_field(name, value)
        except ExplorerError as error:
            problems.append(LessonProblem(key.start_mark.line + FIRST, str(error)))
    missing = [name for name in needed if name not in names]
    if missing:
        problems.append(LessonProblem(1, f"The front matter has no {', '.join(missing)}."))
    return fields, end + 1, problems


def parse(source: str) -> tuple[list[tuple[yaml.Node, yaml.Node]], list[LessonProblem]]:
    """Return (the names and values in *source* as nodes, problems); there are no nodes if there is a problem."""
    if len(source) > MAX_CHARACTERS:
        message = f"The front matter has {len(source):,} characters; wanted {MAX_CHARACTERS:,} at most."
        return [], [LessonProblem(1, message)]
    try:
        forbidden = forbidden_line(source)
        if forbidden:
            message = (
                "The front matter is not YAML that a lesson may use: it has &, * or ! before a value, or lists within "
                "lists. Put text that begins with a sign in quotes."
            )
            return [], [LessonProblem(forbidden, message)]
        root = yaml.compose(source, yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + FIRST if mark else 1
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        hint = "Put text that has a colon or begins with a sign in quotes."
        return [], [LessonProblem(line, f"The front matter is not YAML: {reason}. {hint}")]
    if not isinstance(root, yaml.MappingNode):
        return [], [LessonProblem(1, "The front matter is not a list of fields such as title: Masks.")]
    return root.value, []


def forbidden_line(source: str) -> int:
    """The line of the first anchor, alias or tag, or of a value that is nested too deep; 0 if there is none. Raises
    yaml.YAMLError."""
    depth = 0
    for event in yaml.parse(source, yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if getattr(event, "anchor", None) or getattr(event, "tag", None) or depth > MAX_DEPTH:
            return event.start_mark.line + FIRST if event.start_mark else FIRST
    return 0


def read_field(name: str, node: yaml.Node) -> Any:
    """The value of the field *name*: a text, a number of minutes, or a list of texts. Raises ExplorerError, which says
    what to write."""
    if name in TEXTS or name == FINGERPRINT:
        return read_text(name, node, TEXTS.get(name, MAX_ITEM))
    if name == "minutes":
        text = scalar(node)
        if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= MAX_MINUTES):
            raise ExplorerError(f"minutes: got {describe(node)}; wanted a whole number from 1 to {MAX_MINUTES}.")
        return int(text)
    if not isinstance(node, yaml.SequenceNode) or not 1 <= len(node.value) <= MAX_ITEMS:
        raise ExplorerError(f"{name}: got {describe(node)}; wanted a list of 1 to {MAX_ITEMS} texts, such as - one.")
    return [read_text(name, item, MAX_ITEM) for item in node.value]


def read_text(name: str, node: yaml.Node, most: int) -> str:
    """The text of *node* as it is written. Raises ExplorerError if it is something else, empty or too long."""
    text = scalar(node)
    if not 1 <= len(text) <= most:
        message = f"{name}: got {describe(node)}; wanted a text of 1 to {most:,} characters."
        if isinstance(node, yaml.MappingNode):
            message = f"{message} Put text that has a colon in quotes."
        raise ExplorerError(message)
    return text


def scalar(node: yaml.Node) -> str:
    """The text of a single value; "" of a list or of further fields."""
    return node.value.strip() if isinstance(node, yaml.ScalarNode) else ""


def describe(node: yaml.Node) -> str:
    """What a value is, for an error."""
    if isinstance(node, yaml.SequenceNode):
        return f"a list of {len(node.value):,}"
    if not isinstance(node, yaml.ScalarNode):
        return "further fields"
    if not node.value:
        return "nothing"
    if len(node.value) > 40:
        return f"{len(node.value):,} characters"
    return repr(node.value)
