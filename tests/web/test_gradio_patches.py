"""Gradio has the code that the patches rely on."""

from inspect import iscoroutinefunction

import gradio as gr
from gradio import component_meta

from bertexplorer.web.callers import IDLE_S
from bertexplorer.web.gradio_patches import GRADIO


def test_the_patched_version_is_installed() -> None:
    assert gr.__version__ == GRADIO, "run this file against the new version, then change GRADIO"


def test_gradio_has_the_code_that_each_patch_relies_on() -> None:
    assert hasattr(component_meta, "ComponentMeta"), "the type of components has no source file"
    with gr.Blocks(analytics_enabled=False) as blocks:
        gr.api(describe, api_name="describe")
    queue = blocks._queue
    assert queue.sleep_when_free == 0.001 < IDLE_S and queue.progress_update_sleep_when_free == 0.01
    assert not queue.pending_messages_per_session and not queue.pending_event_ids_session
    assert iscoroutinefunction(queue.clean_events)
    (argument,) = blocks.fns[0].inputs
    assert argument._api_info == {"type": "string"} and argument.example_payload() == "..."


def describe(text: str) -> str:
    return text
