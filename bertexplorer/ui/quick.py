"""Quick: gradio imported without the .pyi stubs that it writes for editors, half of its import time."""

import inspect
from typing import Any
from unittest.mock import patch


def import_gradio() -> None:
    """Import gradio for the first time in this process. Its component classes then have no source file to be told,
    a case that it provides for by leaving their stubs alone."""
    getfile = inspect.getfile

    def without_components(thing: Any) -> str:
        if type(thing).__name__ == "ComponentMeta":
            raise OSError("no stubs are wanted")
        return getfile(thing)

    with patch.object(inspect, "getfile", without_components):
        import gradio  # noqa: F401
