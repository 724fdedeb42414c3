"""Export of a result: its numbers as CSV and JSON, the Python that repeats it, and what exactly made it."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.csv_safety import escape_formula
from bertexplorer.model.text import Text

if TYPE_CHECKING:
    from bertexplorer.analysis import Analysis
    from bertexplorer.model.checkpoint import Checkpoint

UNTRAINED = ", random weights"  # the suffix that model.initialise.random_copy adds to a name
LIBRARIES = ("torch", "tokenizers", "safetensors", "numpy")


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


def as_csv(rows: list[dict[str, object]]) -> str:
    """Rows as CSV (RFC 4180); a text cell that a spreadsheet would take for a formula starts with an apostrophe."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\r\n")
    writer.writerow({key: escape_formula(key) for key in writer.fieldnames})
    writer.writerows({key: escape_formula(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def as_json(
    analysis: Analysis,
    checkpoint: Checkpoint,
    text: Text,
    options: Any,
    rows: list[dict[str, object]],
    title: str = "",
) -> str:
    """The rows with the question that they answer and their provenance."""
    name = analysis.__name__.rpartition(".")[2]
    document = {
        "analysis": name,
        "text": dataclasses.asdict(text),
        "options": dataclasses.asdict(options),
        "provenance": provenance(checkpoint, title),
        "rows": rows,
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def as_python(analysis: Analysis, checkpoint: Checkpoint, text: Text, options: Any, title: str = "") -> str:
    """A program that prints the same rows; it runs where the package is installed, or in its folder."""
    name = analysis.__name__.rpartition(".")[2]
    arguments = [repr(text.first), *([repr(text.second)] if text.second else [])]
    spans_by_argument = {"mask": text.hidden, "pick": text.picked}
    arguments += [f"{kind}={[tuple(span) for span in spans]}" for kind, spans in spans_by_argument.items() if spans]
    fields = dataclasses.fields(options)
    arguments += [f"{f.name}={value!r}" for f in fields if (value := getattr(options, f.name)) != f.default]
    return "\n".join(
        [
            f"# Made with {provenance_line(checkpoint, ' '.join(title.split()))}.",
            "# Run it where BERT Explorer is installed, or in its folder: python THIS_FILE",
            "import os",
            "import sys",
            "",
            "sys.path.insert(0, os.getcwd())",
            "",
            "import bertexplorer as bx",
            "",
            f"bert = {load_expression(checkpoint)}",
            f"result = bert.{name}({', '.join(arguments)})",
            "for row in result.rows:",
            "    print(row)",
            "",
        ]
    )


def load_expression(checkpoint: Checkpoint) -> str:
    """The expression that loads *checkpoint*: by its name or, if it has no file, by what it was made from."""
    name = checkpoint.name
    if checkpoint.folder == Path() and name.endswith(UNTRAINED):
        return f"bx.load({name.removesuffix(UNTRAINED)!r}).control()"
    if checkpoint.folder == Path():
        return "bx.from_transformers(model, tokenizer)  # your own, in memory"
    return f"bx.load({name!r}, precision={checkpoint.precision!r})"
