"""All that is patched of gradio, against the version GRADIO. tests/ui/test_gradio_patches.py names what each patch
relies on; with another version, run it first.

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
    """Components that are defined meanwhile have no source file, as far as gradio is told: a case that it provides for
    by writing no stub beside it."""
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
LOOKS_S = 0.005  # between two looks for events; gradio's 0.001 takes 7 % of a core while nobody asks
# gradio's loading sign counts tenths of a second in every frame, also when it is gone: 10 % of a core for ever
SCRIPTS = {
    "/assets/statustracker-": (
        b"function ze(){me(()=>{F(Pe,(performance.now()-w(de))/1e3),W&&ze()})}",
        b"function ze(){setTimeout(()=>{F(Pe,(performance.now()-w(de))/1e3),W&&ze()},100)}",
    )
}
log = logging.getLogger(__name__)

with no_stubs():

    class Menu(gr.Dropdown):
        """Reads a value that is no longer offered as nothing chosen. A browser may still send one: of a menu that was
        hidden, or of a run that was deleted meanwhile; gradio's own answer is an error over the whole page."""

        is_template = True  # for the browser it is a Dropdown

        def preprocess(self, payload: Any) -> Any:
            offered = {value for _, value in self.choices}
            if isinstance(payload, list):
                return super().preprocess([value for value in payload if value in offered])
            return super().preprocess(payload if payload in offered else None)


class Blocks(gr.Blocks):
    """gradio makes each output of an event anew, those too that do not change: on a page of 130 that is most of the
    work of an answer. Here only those that change are given to it."""

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
    """What gradio remembers of an open page: the components that an answer has changed. Not the values of all of them,
    half a megabyte and 30 ms for each page, which only gradio's own links to a view want, and those are not served."""

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
    """The open pages, those used longest ago forgotten beyond the capacity."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)


class Logged:
    """In place of the module that gradio prints tracebacks with, which hold what people typed: a line in the log."""

    @staticmethod
    def print_exc() -> None:
        kind = sys.exc_info()[0]
        log.error("gradio failed at an event", extra={"error": kind.__name__ if kind else "none"})


def before_mounting(page: gr.Blocks, sessions: int) -> None:
    """*page* made ready to be mounted; *sessions*: the open pages that are remembered."""
    page._queue.sleep_when_free = LOOKS_S
    queueing.traceback = Logged
    page.state_session_capacity = sessions
    warnings.filterwarnings("ignore", "SSR mode is not supported", UserWarning)  # said although it is not asked for


def after_mounting(page: gr.Blocks, app: Any) -> None:
    """*app*: that of gradio, in which *page* is mounted."""
    page.has_launched = True  # else gradio takes any path in a request for an upload, and copies that file to where it
    # serves files from: it looks only at apps that it launched itself
    app.state_holder = Pages()
    app.state_holder.set_blocks(page)
