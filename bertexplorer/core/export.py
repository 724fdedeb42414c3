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
    return {
        "checkpoint": checkpoint.name,
        **({"called": title} if title not in ("", checkpoint.name) else {}),
        "revision": checkpoint.revision,
        "family": checkpoint.family,
        "precision": checkpoint.precision,
        "device": checkpoint.device.type,
        **versions(),
    }


def provenance_line(checkpoint: Checkpoint, title: str = "") -> str:
    """The provenance in one line."""
    return ", ".join(f"{key} {value}" for key, value in provenance(checkpoint, title).items())


@cache
def versions() -> dict[str, str]:
    """Python and the libraries that a number depends on."""
    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}


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
    the sentence and the notes."""
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
    """The tables of a result in addition to its rows, by their name."""
    return view.analysis.tables(result) if isinstance(view.analysis, HasTables) else {}


def comparison_tables(
    view: View, names: Sequence[str], results: Sequence[ViewResult], checkpoints: Sequence[Checkpoint], own: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """The tables of several results, each row with the side that it belongs to, and what the analysis compares."""
    sides = [{"side": name, **provenance(each)} for name, each in zip(names, checkpoints, strict=True)]
    tables_of_all: dict[str, list[dict[str, Any]]] = {"sides": sides}
    tables_of_each = [tables(view, result) for result in results]
    for table in tables_of_each[own]:
        joined = []
        for name, each in zip(names, tables_of_each, strict=True):
            joined += [{"side": name, **row} for row in each[table]]
        tables_of_all[table] = joined
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
    origins = [Origin(checkpoint, text, options, title, sources), *others]
    variables = ["bert", *(f"bert_{number}" for number in range(2, len(origins) + 1))]
    pairs = [*zip(variables, origins, strict=True)]
    calls = [f"{variable}.{call(view, origin)}" for variable, origin in pairs]
    made = dict.fromkeys(provenance_line(each.checkpoint, " ".join(each.title.split())) for each in origins)
    missing: set[str] = set()
    for each in origins:
        missing |= {name for name, source in each.sources.items() if source == FROM_PYTHON}
    return "\n".join(
        [
            *(f"# Made with {line}." for line in made),
            "# Run it where BERT Explorer is installed, or in its folder: python THIS_FILE",
            *(f"# {' '.join(note.split())}" for note in notes),
            *(f"# It needs the {name} that were given in Python: define {name} first." for name in sorted(missing)),
            "import os",
            "import sys",
            "",
            "sys.path.insert(0, os.getcwd())",
            "",
            "import bertexplorer as bx",
            "",
            *(f"{variable} = {load_expression(origin.checkpoint)}" for variable, origin in pairs),
            f"result = {calls[0]}" if len(calls) == 1 else f"result = bx.compare({', '.join(calls)})",
            "for row in result.rows:",
            "    print(row)",
            "",
        ]
    )


def call(view: View, origin: Origin) -> str:
    """The call of the method that answers again, without the settings at their defaults."""
    text = origin.text
    options = origin.options
    arguments = []
    if view.text:
        arguments.append(repr(text.first))
        if text.second:
            arguments.append(repr(text.second))
    spans_by_argument = {"mask": text.hidden, "pick": text.picked}
    arguments += [f"{kind}={[tuple(span) for span in spans]}" for kind, spans in spans_by_argument.items() if spans]
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
    given = view.upload in sources or bool(getattr(options, view.upload or "", ""))
    values = {**dataclasses.asdict(options), **sources}
    return {setting: value for setting, value in values.items() if not (given and setting == view.first)}


def load_expression(checkpoint: Checkpoint) -> str:
    """The expression that loads *checkpoint*: by its name or, if it has no file, by what it was made from."""
    name = checkpoint.name
    if checkpoint.folder == Path() and name.endswith(UNTRAINED):
        return f"bx.load({name.removesuffix(UNTRAINED)!r}).control()"
    if checkpoint.folder == Path():
        return "bx.from_transformers(model, tokenizer)  # your own, in memory"
    return f"bx.load({name!r}, precision={checkpoint.precision!r})"
