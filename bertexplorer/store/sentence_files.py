"""Which files of a repository or a folder belong to its sentence encoder; model/sentence_encoder.py reads them."""

import re
from collections.abc import Iterable
from pathlib import Path

FILES = re.compile(
    r"modules\.json|config_sentence_transformers\.json|sentence_[a-z-]+_config\.json|\d+_\w{1,50}/(config\.json|model\.safetensors)"
)


def select_files(names: Iterable[str]) -> list[str]:
    """Those of *names*, relative to the repository, that belong to its sentence encoder; [] if it has none."""
    names = sorted(names)
    if "modules.json" not in names:
        return []
    return [name for name in names if FILES.fullmatch(name)]


def find_files(folder: Path) -> list[Path]:
    """The files of the sentence encoder in *folder*; [] if it has none."""
    files = [file for file in (*folder.iterdir(), *folder.glob("*/*")) if file.is_file()]
    names = [file.relative_to(folder).as_posix() for file in files]
    return [folder / name for name in select_files(names)]
