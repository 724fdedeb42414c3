"""Files: those that a request names are those that were uploaded here, or made to be taken along."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def foreign(body: bytes, folder: Path) -> str:
    """The first path that a JSON *body* names as a file and that does not lie in *folder*, "" if all do. gradio copies
    what is named to where it serves files from, and fetches what is an address."""
    if b'"path"' not in body and b"\\" not in body:  # a key may be spelt with escapes
        return ""
    return next((path for path in named(json.loads(body)) if not inside(path, folder)), "")


def named(value: Any) -> Iterator[str]:
    """Every path of a file in it, however deep."""
    if isinstance(value, dict):
        if isinstance(value.get("path"), str) and "meta" in value:
            yield value["path"]
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from named(one)


def inside(path: str, folder: Path) -> bool:
    try:
        return Path(path).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):  # NUL, or a name too long
        return False
