"""Extras: packages that `pip install "bertexplorer[train]"` and the like add, and what is said where one is missing."""

from importlib.util import find_spec

from bertexplorer.errors import ExplorerError

EXTRAS = {  # extra -> its packages, by the names that they are imported by
    "train": ("accelerate", "nervaluate", "peft", "rouge_score", "sacrebleu"),
    "search": ("qdrant_client",),
    "mcp": ("mcp",),
}


def missing(extra: str) -> list[str]:
    """The packages of *extra* that are not installed. None is imported to find out."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def need(extra: str, what: str) -> None:
    """Raises ExplorerError, which names *what* cannot be done, if a package of *extra* is not installed."""
    if names := missing(extra):
        others = "package that is" if len(names) == 1 else "packages that are"
        raise ExplorerError(
            f"{what} needs {len(names)} {others} not installed: {', '.join(names)}. "
            f'Run: pip install "bertexplorer[{extra}]"'
        )
