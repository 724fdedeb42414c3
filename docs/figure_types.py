"""Writes bertexplorer/web/static/figure_json.d.ts, the types of a figure's JSON, from the classes of charts/marks.py.

python -m docs.figure_types     after a change of a mark; a test holds the file to the code
"""

import sys
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

sys.path.insert(0, str(Path(__file__).parents[1]))

from bertexplorer.charts import marks

TARGET = Path(__file__).parents[1] / "bertexplorer" / "web" / "static" / "figure_json.d.ts"
HEAD = """// The JSON of a figure, in which what is as usual is left out; charts/marks.py describes each field.
// Written by docs/figure_types.py.
"""
SIMPLE: dict[Any, str] = {str: "string", bool: "boolean", int: "number", float: "number", NoneType: "null"}
SIMPLE |= {marks.Numbers: "ArrayLike<number>", Any: "ArrayLike<number | null>[]"}  # cells may lack a number
ALIASES: dict[Any, str] = {
    getattr(marks, name): name for name in ("Tone", "Palette", "Dash", "Unit", "Door", "Mark")
}  # types that Python does not name itself


def written() -> str:
    """The file as it should be."""
    found = [one for one in vars(marks).values() if isinstance(one, type) and hasattr(one, "__dataclass_fields__")]
    types = [f"export type {name} = {type_of(hint)};" for hint, name in ALIASES.items()]
    return "\n".join([HEAD, *types, "", *map(interface, found)])


def interface(part: type) -> str:
    """A class of marks as an interface. What has a default may be missing."""
    hints = typing.get_type_hints(part)
    kind = [f'  kind: "{part.kind}";'] if hasattr(part, "kind") else []
    version = [f"  marks: {marks.VERSION};"] if part is marks.Figure else []
    lines = [f"  {field.name}{optional(field)}: {named(hints[field.name])};" for field in fields(part)]
    return "\n".join([f"export interface {part.__name__} {{", *kind, *version, *lines, "}", ""])


def optional(field: Field[Any]) -> str:
    return "" if field.default is MISSING else "?"


def named(hint: Any) -> str:
    """What a field of the type *hint* is called: by its name in `marks`, if it has one."""
    return ALIASES.get(hint) or type_of(hint)


def type_of(hint: Any) -> str:
    """The type in TypeScript of what the JSON has for *hint*."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in SIMPLE:
        return SIMPLE[hint]
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in inner)
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(named(one) for one in inner))
    if origin is Sequence:
        item = named(inner[0])
        return f"({item})[]" if "|" in item else f"{item}[]"
    if origin is tuple:
        return f"[{', '.join(map(named, inner))}]"
    if origin is Mapping:
        return "Record<string, any>"
    return str(hint.__name__)


if __name__ == "__main__":
    TARGET.write_text(written(), "utf-8")
