"""Writes bertexplorer/python/signatures.pyi: what every analysis takes, for editors and type checkers.

python -m docs.signatures     after a change of an Options; a test holds the file to the code
"""

import inspect
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bertexplorer.python.describe import document, signature
from bertexplorer.views import VIEWS

TARGET = Path(__file__).parents[1] / "bertexplorer" / "python" / "signatures.pyi"
HEAD = '''"""The analyses as functions, and as methods of a Bert. Written by docs/signatures.py from their Options."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from bertexplorer.python.bert import Bert
from bertexplorer.python.result import Result

Words = str | Iterable[str | tuple[int, int, int]]
'''


def written() -> str:
    """The file as it should be."""
    names = [name for name in VIEWS.names if name in VIEWS.folders]  # not those of packages that happen to be installed
    functions = [defined(name, method=False) for name in names]
    methods = [defined(name, method=True) for name in names]
    return "\n".join([HEAD, *functions, "", "class Methods:", *methods]) + "\n"


def defined(name: str, *, method: bool) -> str:
    """The analysis *name* as a definition without a body; the function carries the documentation."""
    given, star = (["self"] if method else []), False
    for one in signature(name, method=method).parameters.values():
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            given, star = [*given, "*"], True
        default = "" if one.default is inspect.Parameter.empty else f" = {one.default!r}"
        given.append(f"{one.name}: {one.annotation}{default}")
    head = f"def {name}({', '.join(given)}) -> Result:"
    if method:
        return f"    {head} ..."
    about, *rest = document(name).partition("\nExample:")[0].strip().split("\n")
    lines = [f"    {line}" for line in rest if line]
    return "\n".join([head, f'    """{about}', *lines, '    """'])


if __name__ == "__main__":
    TARGET.write_text(written(), "utf-8")
