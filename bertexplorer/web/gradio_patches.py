"""All patches of gradio, for the version GRADIO. tests/web/test_gradio_patches.py documents what each patch relies on;
run it first when upgrading.

Importing this module before gradio, as app.py does, halves gradio's import time.
"""

import copy
import inspect
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from unittest.mock import patch

from bertexplorer.version import __version__


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
    from gradio import queueing
    from gradio.blocks import BlockFunction
    from gradio.state_holder import SessionState, StateHolder

GRADIO = "6.31.0"
POLL_S = 0.005  # interval between polls for events; gradio's 0.001 takes 7 % of a core when idle
SCRIPTS = {  # the beginning of a script's path -> (code, its replacement)
    # the loading sign counts tenths of a second in every frame, even when hidden: 10 % of a core permanently
    "/assets/statustracker-": (
        b"function ze(){me(()=>{F(Pe,(performance.now()-w(de))/1e3),W&&ze()})}",
        b"function ze(){setTimeout(()=>{F(Pe,(performance.now()-w(de))/1e3),W&&ze()},100)}",
    ),
    # when the server answers again, gradio reloads the page, which loses what was typed: go on with a new stream,
    # unless it is another version, and end the events that the server no longer knows: while one is pending, further
    # presses of its button are ignored
    "/assets/Blocks-": (
        b"E=null,window.location.reload()",
        b"E=null,e===`changed`?window.location.reload():"
        b"(R.submissions.forEach((e,t)=>{R.submissions.delete(t),"
        b"R.update_loading_status({status:`complete`,fn_index:t,stream_state:null})}),R.update_loading_stati_state(),"
        b"r.app.stream_status.open=!1,R.connection_lost=!1,M(C,w(C).filter(e=>e.type!==`error`),!0))",
    ),
}
log = logging.getLogger(__name__)

with without_stubs():

    class Menu(gr.Dropdown):
        """A drop-down that treats a value that is no longer offered as no choice.

        A browser may still send such a value: from a menu that was hidden, or for a run that has since been deleted.
        Gradio would cover the whole page with an error."""

        is_template = True  # to the browser it is a Dropdown

        def preprocess(self, payload: Any) -> Any:
            offered = {value for _, value in self.choices}
            if isinstance(payload, list):
                return super().preprocess([value for value in payload if value in offered])
            return super().preprocess(payload if payload in offered else None)


class Blocks(gr.Blocks):
    """Blocks that pass only the changed outputs of an event to gradio.

    Gradio rebuilds every output, even unchanged ones. On a page with 130 outputs, that is most of the work of an
    answer."""

    async def postprocess_data(
        self, block_fn: BlockFunction, predictions: list[Any] | dict[Any, Any], state: SessionState | None
    ) -> list[Any]:
        if not isinstance(predictions, dict) or any(component not in block_fn.outputs for component in predictions):
            return list(await super().postprocess_data(block_fn, predictions, state))
        changed_only = copy.copy(block_fn)
        changed_only.outputs = [
            component
            for component in block_fn.outputs
            if component in predictions and predictions[component] != gr.skip()
        ]
        values = [predictions[component] for component in changed_only.outputs]
        processed = (
            await super().postprocess_data(changed_only, values[0] if len(values) == 1 else values, state)
            if values
            else []
        )
        by_component = dict(zip(changed_only.outputs, processed, strict=True))
        return [by_component.get(component, gr.skip()) for component in block_fn.outputs]


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
        """Do nothing: links need no stored values."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Do nothing: links need no stored values."""


class Pages(StateHolder):
    """The open pages. Beyond the capacity, the least recently used ones are dropped."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)


class RunningEvents(dict[str, Any]):
    """The iterators of the events that run, by id.

    Gradio looks for an id, waits until the iterator has ended, and deletes it. Meanwhile the event may have ended, or
    another request may have cancelled it too: then it is deleted already, which is no fault."""

    def __delitem__(self, key: str) -> None:
        self.pop(key, None)


class TracebackLogger:
    """Replaces the module with which gradio prints tracebacks, because they contain what people typed. Writes a line to
    the log instead."""

    @staticmethod
    def print_exc() -> None:
        kind = sys.exc_info()[0]
        log.error("gradio failed at an event", extra={"error": kind.__name__ if kind else "none"})


def before_mounting(page: gr.Blocks, sessions: int) -> None:
    """Prepare *page* for mounting. *sessions*: the number of open pages to remember."""
    page._queue.sleep_when_free = POLL_S
    page.app_id = int(sha256(__version__.encode()).hexdigest()[:12], 16)  # else random; a page compares it: see SCRIPTS
    queueing.traceback = TracebackLogger
    page.state_session_capacity = sessions
    warnings.filterwarnings("ignore", "SSR mode is not supported", UserWarning)  # a warning although SSR is off


def after_mounting(page: gr.Blocks, app: Any) -> None:
    """Complete *app*, the app of gradio in which *page* is mounted."""
    page.has_launched = True  # otherwise gradio treats any path in a request as an upload, and copies that file to the
    # folder that it serves: it checks paths only in apps that it launched itself
    app.state_holder = Pages()
    app.state_holder.set_blocks(page)
    app.iterators = RunningEvents()
