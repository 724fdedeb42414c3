"""The receipt of a result: its numbers as CSV and JSON, the Python that repeats it, and what exactly made it."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import platform
from functools import cache
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bertexplorer.cells import safe_cell
from bertexplorer.model.text import Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

LIBRARIES = ("torch", "tokenizers", "safetensors", "numpy")


def provenance(checkpoint: Checkpoint, title: str = "") -> dict[str, str]:
    """Which checkpoint, revision, precision and library versions produced a number. *title*: what people call it."""
    return {
        "checkpoint": checkpoint.name,
        **({"called": title} if title not in ("", checkpoint.name) else {}),
        "revision": checkpoint.revision,
        "family": checkpoint.family,
        "precision": checkpoint.precision,
        "device": checkpoint.device.type,
        **versions(),
    }


def told(checkpoint: Checkpoint, title: str = "") -> str:
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
    writer.writerow({key: safe_cell(key) for key in writer.fieldnames})
    writer.writerows({key: safe_cell(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def as_json(
    analysis: ModuleType,
    checkpoint: Checkpoint,
    text: Text,
    options: Any,
    rows: list[dict[str, object]],
    title: str = "",
) -> str:
    """The rows with the question that they answer and their provenance."""
    name = analysis.__name__.rpartition(".")[2]
    whole = {
        "analysis": name,
        "text": dataclasses.asdict(text),
        "options": dataclasses.asdict(options),
        "provenance": provenance(checkpoint, title),
        "rows": rows,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)


def as_python(analysis: ModuleType, checkpoint: Checkpoint, text: Text, options: Any, title: str = "") -> str:
    """A program that prints the same rows; run it in the folder of the project."""
    name = analysis.__name__.rpartition(".")[2]
    marked = {"hidden": text.hidden, "picked": text.picked}
    spans = "".join(f", {kind}=({', '.join(map(repr, found))},)" for kind, found in marked.items() if found)
    given = f"Text({text.first!r}{f', {text.second!r}' if text.second else ''}{spans})"
    changed = {
        f.name: getattr(options, f.name) for f in dataclasses.fields(options) if getattr(options, f.name) != f.default
    }
    settings = f", options={name}.Options({', '.join(f'{k}={v!r}' for k, v in changed.items())})" if changed else ""
    uploaded = ", lines=lines" if getattr(options, "lines", "") else ""
    read = f'lines = LineStore(settings.data_dir / "lines").load({options.lines!r}).lines' if uploaded else ""
    return "\n".join(
        [
            "# Run in the folder of BERT Explorer: python THIS_FILE",
            f"# Made with {told(checkpoint, ' '.join(title.split()))}.",
            "import os",
            "import sys",
            "",
            "sys.path.insert(0, os.getcwd())",
            "",
            f"from bertexplorer.analysis import {name}",
            f"from bertexplorer.model.text import {'Span, ' if spans else ''}Text",
            "from bertexplorer.settings import Settings",
            "from bertexplorer.store.library import Library",
            *(["from bertexplorer.store.lines import LineStore"] if uploaded else []),
            "",
            "settings = Settings.from_env(os.environ)",
            f"checkpoint = Library(settings).get({checkpoint.name!r}, precision={checkpoint.precision!r})",
            *([read] if uploaded else []),
            f"result = {name}.run(checkpoint, {given}{settings}{uploaded})",
            f"for row in {name}.rows(result):",
            "    print(row)",
            "",
        ]
    )
