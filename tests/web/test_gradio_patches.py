"""Gradio has the code that the patches rely on."""

import gradio as gr
from gradio import component_meta

from bertexplorer.web.gradio_patches import GRADIO


def test_the_patched_version_is_installed() -> None:
    assert gr.__version__ == GRADIO, "run this file against the new version, then change GRADIO"


def test_gradio_has_the_code_that_each_patch_relies_on() -> None:
    assert hasattr(component_meta, "ComponentMeta"), "the type of components has no source file"
    with gr.Blocks(analytics_enabled=False) as blocks:
        gr.api(describe, api_name="describe")
    assert blocks._queue.sleep_when_free == 0.001 and blocks._queue.progress_update_sleep_when_free == 0.01
    (argument,) = blocks.fns[0].inputs
    assert argument._api_info == {"type": "string"} and argument.example_payload() == "..."


def test_gradio_speaks_the_protocol_that_calls_are_answered_in() -> None:
    """Its clients read `Calls`; see tests/server/test_endpoints.py for a real one."""
    assert gr.Blocks(analytics_enabled=False).get_config_file()["protocol"] == "sse_v3"


def describe(text: str) -> str:
    return text
