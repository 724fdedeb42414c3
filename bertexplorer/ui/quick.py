"""Quick: gradio imported without the .pyi stubs that it writes for editors, half of its import time."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


def import_gradio() -> None:
    """Import gradio for the first time in this process."""
    with no_stubs():
        import gradio  # noqa: F401


@contextmanager
def no_stubs() -> Iterator[None]:
    """Components that are defined meanwhile have no source file, as far as gradio is told: a case that it provides for
    by writing no stub beside it."""
    getfile = inspect.getfile

    def without_components(thing: Any) -> str:
        if type(thing).__name__ == "ComponentMeta":
            raise OSError("no stubs are wanted")
        return getfile(thing)

    with patch.object(inspect, "getfile", without_components):
        yield
