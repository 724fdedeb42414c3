"""Slim: gradio's Blocks, spending nothing on what an answer leaves as it is, and little on each open page."""

import copy
from typing import Any

import gradio as gr
from gradio.blocks import BlockFunction
from gradio.state_holder import SessionState, StateHolder


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
