"""All patches of gradio, for the version GRADIO. tests/web/test_gradio_patches.py documents what each patch relies on;
run it first when upgrading.

Importing this module before gradio, as app.py does, halves gradio's import time.
"""

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
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
    import gradio as gr
    from gradio.routes import templates, toorjson

GRADIO = "6.31.0"


# The clock of gradio's loading sign ticks on, 60 times a second, after the sign has gone. Its first tick on a page that
# has been drawn is the last one. This must run before gradio's scripts.
STOP_CLOCK = """{
        const frame = window.requestAnimationFrame.bind(window);
        const isLast = () => document.querySelector(".bx") && new Error().stack.includes("statustracker");
        window.requestAnimationFrame = (tick) => {
            if (!isLast()) return frame(tick);
            window.requestAnimationFrame = frame;
        };
    }"""


def write_settings(value: Any, styles: str = "") -> str:
    """*value* as JSON in the page, as gradio writes it; after all the settings of the page STOP_CLOCK, and *styles*,
    HTML for the head, which gradio's own parameter would add only once the page is drawn, so that it moves."""
    written: str = toorjson(value)  # of a type that the page does not escape
    if not isinstance(value, dict) or "app_id" not in value:
        return written
    add_styles = f"document.head.insertAdjacentHTML('beforeend', {toorjson(styles)})"
    return type(written)(f"{written};{STOP_CLOCK};{add_styles}")


def before_mounting(page: gr.Blocks, styles: str = "") -> None:
    """Prepare *page* for mounting. *styles*: HTML for its head, in place before the page is drawn."""
    templates.env.filters["toorjson"] = partial(write_settings, styles=styles)
    warnings.filterwarnings("ignore", "SSR mode is not supported", UserWarning)  # a warning although SSR is off
