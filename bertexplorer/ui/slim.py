"""Slim: gradio's Blocks, spending nothing on what an answer leaves as it is."""

import copy
from typing import Any

import gradio as gr
from gradio.blocks import BlockFunction
from gradio.state_holder import SessionState


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
