"""Gradio has the code that the patches rely on, and serves its files as they are."""

import gradio as gr
from gradio import component_meta

from bertexplorer.web.gradio_patches import GRADIO, IDLE_S, before_mounting, toorjson, write_settings
from bertexplorer.web.page import PAGES, build


def test_the_patched_version_is_installed() -> None:
    assert gr.__version__ == GRADIO, "run this file against the new version, then change GRADIO"


def test_gradio_has_the_code_that_each_patch_relies_on() -> None:
    assert hasattr(component_meta, "ComponentMeta"), "the type of components has no source file"
    page = build()
    assert page._queue.sleep_when_free == 0.001
    before_mounting(page)
    assert page._queue.sleep_when_free == IDLE_S


def test_the_clock_is_stopped_in_the_settings_of_a_page_and_nowhere_else() -> None:
    assert write_settings({"app_id": 1}).startswith('{"app_id":1};{') and "statustracker" in write_settings(
        {"app_id": 1}
    )
    assert write_settings("a<b") == toorjson("a<b") and write_settings({"other": 1}) == '{"other":1}'


def test_the_pages_have_no_events() -> None:
    """So nothing waits in gradio's queue, and its routes can stay closed."""
    page = build()
    assert not page.fns and [name for name, *_ in page.pages] == ["", *PAGES.values()]
    assert [name for name, *_ in build(runs=False).pages] == ["", "learn"]
