"""What gradio needs before its import, for the version GRADIO. The other patch lets its queue rest, in endpoints.py.
tests/web/test_gradio_patches.py documents what each relies on; run it first when upgrading.

Importing this module before gradio, as app.py does, halves gradio's import time.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


@contextmanager
def without_stubs() -> Iterator[None]:
    """Stop gradio from writing stub files: it finds no source file for components defined inside this block."""
    getfile = inspect.getfile

    def without_components(thing: Any) -> str:
        if type(thing).__name__ == "ComponentMeta":
            raise OSError("no stubs are wanted")
        return getfile(thing)

    with patch.object(inspect, "getfile", without_components):
        yield


with without_stubs():
    import gradio  # noqa: F401

GRADIO = "6.31.0"
