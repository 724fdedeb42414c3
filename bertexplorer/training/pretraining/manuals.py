"""A small English corpus that every installation has: the docstrings of the installed Python packages.

Only their prose is used: paragraphs of sentences, not tables, code or lists. A module is a document."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

from bertexplorer.errors import ExplorerError

PACKAGES = ("numpy", "pandas", "scipy", "sklearn", "networkx", "torch")
ROLE = re.compile(r":\w+:`~?([^`<]*)(?: <[^>]*>)?`")  # of reStructuredText
WORD = re.compile(r"[A-Za-z][a-z]+(?:['’-][a-z]+)?[,;:.!?)]?")
LISTS = (">>>", "..", "-", "#", "|", "+", "=")
FEWEST, SHARE = 8, 0.8  # least number of words in a paragraph, and share of them that are letters only
NAME = "manuals.txt"


def collect_manuals(folder: Path) -> Path:
    """The corpus in *folder*, created if it is missing: a paragraph per line, a blank line between documents. Raises
    ExplorerError if none of the packages can be read."""
    path = folder / NAME
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    collected: set[str] = set()
    with partial.open("w", encoding="utf-8") as corpus:
        for file in module_files():
            new_paragraphs = [p for p in module_paragraphs(file) if p not in collected]
            if len(new_paragraphs) > 1:
                collected.update(new_paragraphs)
                corpus.write("\n".join(new_paragraphs) + "\n\n")
    if not collected:
        partial.unlink()
        raise ExplorerError("The manuals of the installed packages cannot be read here. Use a text file of your own.")
    partial.replace(path)
    return path


def module_files() -> Iterator[Path]:
    """The files of PACKAGES, without tests."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        for root in (spec.submodule_search_locations or ()) if spec else ():
            yield from (file for file in sorted(Path(root).rglob("*.py")) if "test" not in str(file.relative_to(root)))


def module_paragraphs(file: Path) -> Iterator[str]:
    """The prose of a module's docstrings."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from prose_paragraphs(ast.get_docstring(node) or "")


def prose_paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of *text* that are sentences, each on one line."""
    unmarked = re.sub(r"[`*]", "", ROLE.sub(r"\1", text))
    for block in re.split(r"\n\s*\n", unmarked):
        lines = [line.strip() for line in block.splitlines()]
        words = " ".join(lines).split()
        if any(line.startswith(LISTS) for line in lines) or len(words) < FEWEST:
            continue
        words_of_letters = sum(bool(WORD.fullmatch(word)) for word in words)
        if words[0][0].isupper() and words[-1][-1] in ".!?:" and words_of_letters >= SHARE * len(words):
            yield " ".join(words)
