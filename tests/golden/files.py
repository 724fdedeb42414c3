"""The golden files: JSON, an entry a line, so that a change reads well."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "files"
NAMES = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.json"))


def read(name: str) -> Any:
    """The content of a golden file; an empty object if there is none."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def write(name: str, content: Any) -> None:
    path = FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines(content) + "\n", "utf-8")


def lines(value: Any, indent: str = "") -> str:
    """JSON in which an object of objects takes a line for each entry, down to what fits into one line."""
    flat = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(flat) <= 120 - len(indent) or not isinstance(value, dict | list) or not value:
        return flat
    deeper = indent + " "
    if isinstance(value, dict):
        inner = [f"{deeper}{json.dumps(key, ensure_ascii=False)}: {lines(part, deeper)}" for key, part in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    if not any(isinstance(part, dict | list) for part in value) and not any(isinstance(part, str) for part in value):
        return flat
    return "[\n" + ",\n".join(f"{deeper}{lines(part, deeper)}" for part in value) + f"\n{indent}]"
