"""Writes bertexplorer/web/static/api_json.d.ts, the types of what a page and its server say to each other, from the
OpenAPI document.

python -m docs.api_types     after a change of a model; a test holds the file to the document
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "bertexplorer" / "web" / "static" / "api_json.d.ts"
DOCUMENT = ROOT / "tests" / "golden" / "files" / "openapi.json"
HEAD = """// What a page and its server say to each other, as the OpenAPI document describes it.
// Written by docs/api_types.py.
import type { Figure } from "./types";
"""
ANSWERS = ("ViewAnswerModel", "PageModel", "SpanModel", "ReportModel", "TrialReportModel", "TasksModel", "Problem")
SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def written() -> str:
    """The file as it should be."""
    document = json.loads(DOCUMENT.read_text("utf-8"))
    schemas = document["components"]["schemas"]
    asked = document["paths"]["/api/v1/view"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    types = [interface("ViewQuestion", asked)]
    for name in reached(schemas):
        types.append(interface(type_name(name), schemas[name]))
    return "\n".join([HEAD, *types])


def reached(schemas: dict[str, Any]) -> list[str]:
    """The names of the schemas of ANSWERS, and of those that they hold."""
    names = list(ANSWERS)
    for name in names:  # it grows
        for part in references(schemas[name]):
            if part not in names:
                names.append(part)
    return names


def references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for part in schema for name in references(part)]
    if not isinstance(schema, dict):
        return []
    own = [last_part(schema["$ref"])] if "$ref" in schema else []
    return own + [name for part in schema.values() for name in references(part)]


def last_part(reference: str) -> str:
    return reference.rpartition("/")[2]


def type_name(schema: str) -> str:
    return schema.removesuffix("Model")


def interface(name: str, schema: dict[str, Any]) -> str:
    about = f"/** {schema['description']} */\n" if "description" in schema else ""
    return f"{about}export interface {name} {fields(schema)}\n"


def fields(schema: dict[str, Any], indent: str = "  ") -> str:
    """The fields of an object, each with what the document says of it."""
    lines = []
    for name, field in schema["properties"].items():
        optional = "" if name in schema.get("required", ()) else "?"
        about = f" // {field['description']}" if "description" in field else ""
        lines.append(f"{indent}{name}{optional}: {type_of(field, indent)};{about}\n")
    return f"{{\n{''.join(lines)}{indent[2:]}}}"


def type_of(schema: dict[str, Any], indent: str = "") -> str:
    """The type in TypeScript of what a *schema* describes."""
    if "$ref" in schema:
        return type_name(last_part(schema["$ref"]))
    if "anyOf" in schema:
        return " | ".join(type_of(one, indent) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(type_of(one, indent) for one in schema['prefixItems'])}]"
    kind = schema.get("type")
    if kind == "array":
        item = type_of(schema["items"], indent)
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kind == "object" and "properties" in schema:
        return fields(schema, f"{indent}  ")
    if kind == "object" and schema.get("title") == "Figure":
        return "Figure"
    if kind == "object":
        values = schema.get("additionalProperties", True)
        return f"Record<string, {type_of(values, indent) if isinstance(values, dict) else 'any'}>"
    return SIMPLE.get(kind, "any") if isinstance(kind, str) else "any"


if __name__ == "__main__":
    TARGET.write_text(written(), "utf-8")
