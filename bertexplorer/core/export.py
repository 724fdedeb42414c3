"""Export of a result: its numbers as CSV and JSON, the Python that repeats it, and what exactly made it."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from bertexplorer.model.text import Text
from bertexplorer.views.protocols import HasComparisonTables, HasTables, ViewResult

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.views.view import View

UNTRAINED = ", random weights"  # the suffix that model.initialise.random_copy adds to a name
LIBRARIES = ("torch", "tokenizers", "safetensors", "numpy")
FROM_PYTHON = ""  # the source of rows or lines that were given in Python
Sources = Mapping[str, str]  # rows or lines -> the file that they came from, or FROM_PYTHON
NONE: Mapping[str, Any] = MappingProxyType({})


class Origin(NamedTuple):
    """What a result answers. *title*: the display name of the checkpoint."""

    checkpoint: Checkpoint
    text: Text
    options: Any
    title: str = ""
    sources: Sources = NONE


def provenance(checkpoint: Checkpoint, title: str = "") -> dict[str, str]:
    """The checkpoint, revision, precision and library versions that produced a number. *title*: the display name."""
    facts = {"checkpoint": checkpoint.name}
    if title not in ("", checkpoint.name):
        facts["called"] = title
    facts["revision"] = checkpoint.revision
    facts["family"] = checkpoint.family
    facts["precision"] = checkpoint.precision
    facts["device"] = checkpoint.device.type
    return facts | versions()


def provenance_line(checkpoint: Checkpoint, title: str = "") -> str:
    """The provenance in one line."""
    return ", ".join(f"{key} {value}" for key, value in provenance(checkpoint, title).items())


@cache
def versions() -> dict[str, str]:
    """Python and the libraries that a number depends on."""
    numbers = {"python": platform.python_version()}
    for library in LIBRARIES:
        numbers[library] = version(library)
    return numbers


def as_json(
    view: View,
    checkpoint: Checkpoint,
    text: Text,
    options: Any,
    rows: list[dict[str, object]],
    title: str = "",
    sources: Sources = NONE,
    more: Mapping[str, list[dict[str, Any]]] = NONE,
    said: Mapping[str, Any] = NONE,
) -> str:
    """The rows with what they come from and their provenance. *more*: further tables by their name; *said*:
    the sentence and the notes. Raises ValueError for a number that JSON does not have, such as NaN."""
    named = {setting: source or "given in Python" for setting, source in sources.items()}
    document = {
        "analysis": view.name,
        "text": dataclasses.asdict(text),
        "options": settings(view, options, named),
        "provenance": provenance(checkpoint, title),
        **said,
        **more,
        "rows": rows,
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def tables(view: View, result: ViewResult) -> dict[str, list[dict[str, Any]]]:
    """The tables of a result in addition to its rows, by their name; of most views there are none."""
    if not isinstance(view.analysis, HasTables):
        return {}
    return view.analysis.tables(result)


def comparison_tables(
    view: View, names: Sequence[str], results: Sequence[ViewResult], checkpoints: Sequence[Checkpoint], own: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """The tables of several results, each row with the side that it belongs to, and what the analysis compares. "sides"
    is the provenance of each. *own*: the index of the result that the others are compared with."""
    sides = []
    for name, checkpoint in zip(names, checkpoints, strict=True):
        sides.append({"side": name, **provenance(checkpoint)})
    tables_of_all: dict[str, list[dict[str, Any]]] = {"sides": sides}
    tables_of_each = [tables(view, result) for result in results]
    for table in tables_of_each[own]:
        rows = []
        for name, tables_of_side in zip(names, tables_of_each, strict=True):
            rows += [{"side": name, **row} for row in tables_of_side[table]]
        tables_of_all[table] = rows
    if isinstance(view.analysis, HasComparisonTables):
        tables_of_all |= view.analysis.comparison_tables(names, results, own)
    return tables_of_all


def as_python(
    view: View,
    checkpoint: Checkpoint,
    text: Text,
    options: Any,
    title: str = "",
    sources: Sources = NONE,
    others: Sequence[Origin] = (),
    notes: Sequence[str] = (),
) -> str:
    """A program that prints the same rows; it runs where the package is installed, or in its folder. *others*: the
    other sides of a comparison. *notes*: what the reader should know, as comments."""
    # 1. What it is made with, what it loads and what it calls, for each side.
    made_with: list[str] = []
    missing: set[str] = set()
    loads = []
    calls = []
    for number, origin in enumerate([Origin(checkpoint, text, options, title, sources), *others], 1):
        line = f"# Made with {provenance_line(origin.checkpoint, one_line(origin.title))}."
        if line not in made_with:
            made_with.append(line)
        missing |= {name for name, source in origin.sources.items() if source == FROM_PYTHON}
        variable = "bert" if number == 1 else f"bert_{number}"
        loads.append(f"{variable} = {load_expression(origin.checkpoint)}")
        calls.append(f"{variable}.{call(view, origin)}")

    # 2. The program.
    lines = [*made_with, "# Run it where BERT Explorer is installed, or in its folder: python THIS_FILE"]
    for note in notes:
        lines.append(f"# {one_line(note)}")
    for name in sorted(missing):
        lines.append(f"# It needs the {name} that were given in Python: define {name} first.")
    lines += ["import os", "import sys", "", "sys.path.insert(0, os.getcwd())", ""]
    lines += ["import bertexplorer as bx", "", *loads]
    if len(calls) == 1:
        lines.append(f"result = {calls[0]}")
    else:
        lines.append(f"result = bx.compare({', '.join(calls)})")
    lines += ["for row in result.rows:", "    print(row)", ""]
    return "\n".join(lines)


def one_line(text: str) -> str:
    """*text* on one line, so that it cannot end a comment."""
    return " ".join(text.split())


def call(view: View, origin: Origin) -> str:
    """The call of the method that answers again, without the settings at their defaults."""
    text = origin.text
    options = origin.options
    arguments = []
    if view.text:
        arguments.append(repr(text.first))
        if text.second:
            arguments.append(repr(text.second))
    if text.hidden:
        arguments.append(f"mask={[tuple(span) for span in text.hidden]}")
    if text.picked:
        arguments.append(f"pick={[tuple(span) for span in text.picked]}")
    defaults = {field.name: field.default for field in dataclasses.fields(options)}
    values = settings(view, options, origin.sources)
    for setting, value in values.items():
        if setting in origin.sources and value == FROM_PYTHON:
            arguments.append(f"{setting}={setting}")
        elif value != defaults[setting]:
            arguments.append(f"{setting}={value!r}")
    return f"{view.name}({', '.join(arguments)})"


def settings(view: View, options: Any, sources: Sources) -> dict[str, Any]:
    """The settings of *view*, with the *sources* of its file. What was given takes the place of what is built in, so
    the setting that chooses among that is left out."""
    values = {**dataclasses.asdict(options), **sources}
    is_given = view.upload in sources or bool(getattr(options, view.upload or "", ""))
    if is_given:
        values.pop(view.first, None)
    return values


def load_expression(checkpoint: Checkpoint) -> str:
    """The expression that loads *checkpoint*: by its name or, if it has no file, by what it was made from."""
    name = checkpoint.name
    if checkpoint.folder == Path() and name.endswith(UNTRAINED):
        return f"bx.load({name.removesuffix(UNTRAINED)!r}).control()"
    if checkpoint.folder == Path():
        return "bx.from_transformers(model, tokenizer)  # your own, in memory"
    return f"bx.load({name!r}, precision={checkpoint.precision!r})"
