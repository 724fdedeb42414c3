"""All patches of gradio, made for the version GRADIO. tests/ui/test_gradio_patches.py names what each patch relies on;
run it first with another version.

Imported before gradio is, as app.py does, this halves gradio's import time.
"""

import copy
import inspect
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


@contextmanager
def no_stubs() -> Iterator[None]:
    """Within the block, gradio finds no source file for a component that is defined. It then writes no stub file next
    to the source."""
    getfile = inspect.getfile

    def without_components(thing: Any) -> str:
        if type(thing).__name__ == "ComponentMeta":
            raise OSError("no stubs are wanted")
        return getfile(thing)

    with patch.object(inspect, "getfile", without_components):
        yield


with no_stubs():
    import gradio as gr
    from gradio import queueing
    from gradio.blocks import BlockFunction
    from gradio.state_holder import SessionState, StateHolder

GRADIO = "6.31.0"
LOOKS_S = 0.005  # between two looks for events; gradio's 0.001 takes 7 % of a core when idle
# gradio's loading sign counts tenths of a second in every frame, even when hidden: 10 % of a core for ever
SCRIPTS = {
    "/assets/statustracker-": (
        b"function ze(){me(()=>{F(Pe,(performance.now()-w(de))/1e3),W&&ze()})}",
        b"function ze(){setTimeout(()=>{F(Pe,(performance.now()-w(de))/1e3),W&&ze()},100)}",
    )
}
log = logging.getLogger(__name__)

with no_stubs():

    class Menu(gr.Dropdown):
        """A drop-down that reads a value that is no longer offered as nothing chosen.

        A browser may still send such a value: from a menu that was hidden, or for a run that has since been deleted.
        Gradio would answer with an error over the whole page."""

        is_template = True  # to the browser it is a Dropdown

        def preprocess(self, payload: Any) -> Any:
            offered = {value for _, value in self.choices}
            if isinstance(payload, list):
                return super().preprocess([value for value in payload if value in offered])
            return super().preprocess(payload if payload in offered else None)


class Blocks(gr.Blocks):
    """Blocks that pass only the changed outputs of an event to gradio.

    Gradio builds every output again, even unchanged ones. On a page with 130 of them, that is most of the work of an
    answer."""

    async def postprocess_data(
        self, block_fn: BlockFunction, predictions: list[Any] | dict[Any, Any], state: SessionState | None
    ) -> list[Any]:
        if not isinstance(predictions, dict) or any(one not in block_fn.outputs for one in predictions):
            return list(await super().postprocess_data(block_fn, predictions, state))
        few = copy.copy(block_fn)
        few.outputs = [one for one in block_fn.outputs if one in predictions and predictions[one] != gr.skip()]
        values = [predictions[one] for one in few.outputs]
        made = await super().postprocess_data(few, values[0] if len(values) == 1 else values, state) if values else []
        found = dict(zip(few.outputs, made, strict=True))
        return [found.get(one, gr.skip()) for one in block_fn.outputs]


class Session(SessionState):
    """What gradio remembers about an open page: the components that an answer has changed.

    It does not keep the values of all components, which cost half a megabyte and 30 ms for each page. Only gradio's own
    links to a view need them, and those are not served."""

    def __init__(self, blocks: gr.Blocks) -> None:
        self.blocks_config = copy.copy(blocks.default_config)
        self.config_values: dict[int, Any] = {}
        self.state_data: dict[int, Any] = {}
        self._state_ttl: dict[int, Any] = {}
        self.is_closed = False

    def __setitem__(self, key: int, value: Any) -> None:
        self.blocks_config.blocks[key] = value

    def _update_config(self, key: int) -> None:
        """Nothing is kept for links."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Nothing is kept for links."""


class Pages(StateHolder):
    """The open pages. Beyond the capacity, those that were used longest ago are forgotten."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)


class Logged:
    """Replaces the module with which gradio prints tracebacks: those contain what people typed. Writes a line to the
    log instead."""

    @staticmethod
    def print_exc() -> None:
        kind = sys.exc_info()[0]
        log.error("gradio failed at an event", extra={"error": kind.__name__ if kind else "none"})


def before_mounting(page: gr.Blocks, sessions: int) -> None:
    """Prepare *page* for mounting. *sessions*: how many open pages are remembered."""
    page._queue.sleep_when_free = LOOKS_S
    queueing.traceback = Logged
    page.state_session_capacity = sessions
    warnings.filterwarnings("ignore", "SSR mode is not supported", UserWarning)  # a warning although SSR is off


def after_mounting(page: gr.Blocks, app: Any) -> None:
    """Complete *app*, the app of gradio in which *page* is mounted."""
    page.has_launched = True  # else gradio treats any path in a request as an upload, and copies that file to where it
    # serves files from: it checks only the apps that it launched itself
    app.state_holder = Pages()
    app.state_holder.set_blocks(page)
