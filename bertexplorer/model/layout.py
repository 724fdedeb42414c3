"""Where in a folder the encoder lies."""

import json
import re
from pathlib import Path

MODULES = "modules.json"  # of sentence-transformers
FOLDER = re.compile(r"[A-Za-z0-9_]{1,50}")  # of a module
MAX_BYTES = 1_000_000  # of a JSON file of a module


def encoder_folder(folder: Path) -> Path:
    """The folder with the encoder's config.json, weights and tokenizer: *folder* itself or, as sentence-transformers
    wrote it until 2021, the one that modules.json names first, such as 0_Transformer."""
    file = folder / MODULES
    if (folder / "config.json").is_file() or not file.is_file() or file.stat().st_size > MAX_BYTES:
        return folder
    try:
        path = json.loads(file.read_text("utf-8"))[0]["path"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return folder  # the sentence encoder reports it
    if not isinstance(path, str) or not FOLDER.fullmatch(path) or not (folder / path / "config.json").is_file():
        return folder
    return folder / path
