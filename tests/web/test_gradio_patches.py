"""Gradio has the code that the patches rely on; patched Blocks answer as gradio's own do, without rebuilding unchanged
outputs."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gradio as gr
import httpx
import pytest
from gradio import component_meta, queueing
from gradio.state_holder import SessionState, StateHolder

from bertexplorer.web.gradio_patches import GRADIO, SCRIPTS, Blocks, Pages, Session, after_mounting, before_mounting

RELIED_ON = {  # a patch -> what it expects of gradio
    "Blocks leaves out what does not change": (gr.Blocks, "postprocess_data"),
    "Session keeps no copies of values": (SessionState, "_update_value_in_config"),
    "Session keeps nothing for links": (SessionState, "_update_config"),
    "Pages is bounded": (StateHolder, "session_data"),
    "a traceback is one line in the log": (queueing, "traceback"),
    "Menu forgets what is no longer offered": (gr.Dropdown, "preprocess"),
    "the type of components has no source file": (component_meta, "ComponentMeta"),
}


def test_the_patched_version_is_installed() -> None:
    assert gr.__version__ == GRADIO, "run this file against the new version, then change GRADIO"


@pytest.mark.parametrize("patch", RELIED_ON)
def test_gradio_has_the_code_that_each_patch_relies_on(patch: str) -> None:
    owner, name = RELIED_ON[patch]
    assert hasattr(owner, name) or name in inspect.getsource(owner), patch


def test_the_queue_and_the_app_have_the_patched_attributes() -> None:
    with gr.Blocks() as page:
        page.queue()
    assert page._queue.sleep_when_free == 0.001 and page.has_launched is False
    assert isinstance(page.state_session_capacity, int)
    source = inspect.getsource(gr.routes.App)
    assert "state_holder" in source and source.count("del app.iterators[") == 1


@pytest.mark.parametrize("path", SCRIPTS)
def test_replaced_code_occurs_once_in_its_script(path: str) -> None:
    (file,) = (Path(gr.__file__).parent / "templates" / "frontend").glob(f"{path.lstrip('/')}*.js")
    assert file.read_bytes().count(SCRIPTS[path][0]) == 1


def test_a_page_knows_its_server_again_after_a_restart() -> None:
    """The number that a page compares is that of the version; gradio's own is random."""
    numbers = set()
    for _ in range(2):
        with gr.Blocks() as page:
            page.queue()
        before_mounting(page, 10)
        numbers.add(page.get_config_file()["app_id"])
    assert len(numbers) == 1


class Closing:
    """The iterator of an event, which takes a moment to end. *ends*: called meanwhile."""

    def __init__(self, ends: Callable[[], object] = lambda: None) -> None:
        self.ends = ends

    async def aclose(self) -> None:
        self.ends()
        await asyncio.sleep(0.05)


async def cancel_together(app: Any, times: int) -> list[int]:
    """The status of each of *times* requests that cancel the same event at once."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    given = {"session_hash": "page", "fn_index": 0, "event_id": "event"}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        replies = [client.post("/gradio_api/cancel", json=given) for _ in range(times)]
        return [reply.status_code for reply in await asyncio.gather(*replies)]


def cancelling() -> Any:
    """The app of gradio for a page, as it is served."""
    with Blocks() as page:
        page.queue()
    before_mounting(page, 10)
    app = gr.routes.App.create_app(page)
    after_mounting(page, app)
    return app


def test_an_event_that_is_cancelled_twice_at_once_is_no_fault() -> None:
    """As when a task is changed twice while a preview runs: each change cancels it."""
    app = cancelling()
    app.iterators["event"] = Closing()
    assert run(cancel_together(app, 3)) == [200] * 3 and "event" not in app.iterators


def test_an_event_that_ends_while_it_is_cancelled_is_no_fault() -> None:
    app = cancelling()
    app.iterators["event"] = Closing(lambda: app.iterators.pop("event"))
    assert run(cancel_together(app, 1)) == [200]


ANSWERS = {
    "some": lambda a, b, c: {b: "<b>two</b>", c: gr.update(value=3, maximum=7)},
    "one": lambda a, b, c: {c: gr.update(visible=False)},
    "none": lambda a, b, c: {a: gr.skip()},
    "all": lambda a, b, c: {a: "1", b: "2", c: 3},
    "plain": lambda a, b, c: ["1", "2", 3],
}


def run(answer: Coroutine[Any, Any, list]) -> list:
    """In a thread of its own: a test with a browser may have left this one in an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return list(pool.submit(asyncio.run, answer).result())


def answered(blocks: gr.Blocks, fn: int, answer: object) -> list:
    session = Session(blocks) if isinstance(blocks, Blocks) else SessionState(blocks)
    outputs = run(blocks.postprocess_data(blocks.fns[fn], answer, session))
    nothing = {"props": {"__type__": "update"}, "__type__": "update"}  # the update of gr.HTML for gr.skip()
    return [gr.skip() if output == nothing else output for output in outputs]


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_equal_those_of_gradio(answer: str) -> None:
    answers = []
    for kind in (gr.Blocks, Blocks):
        with kind() as blocks:
            parts = gr.Textbox(), gr.HTML(), gr.Slider(0, 5)
            gr.Button().click(lambda: None, None, list(parts))
        answers.append(answered(blocks, 0, ANSWERS[answer](*parts)))
    assert answers[0] == answers[1]


def test_unchanged_outputs_are_not_rebuilt() -> None:
    with Blocks() as blocks:
        parts = [gr.Textbox() for _ in range(20)]
        gr.Button().click(lambda: None, None, parts)
    state = SessionState(blocks)
    with patch.object(state, "_update_value_in_config") as rebuild, patch.object(state, "_update_config") as updated:
        run(blocks.postprocess_data(blocks.fns[0], {parts[0]: "one", parts[1]: gr.skip()}, state))
    assert [call.args for call in rebuild.call_args_list] == [(parts[0]._id, "one")] and not updated.called


def test_an_answer_for_a_component_outside_the_outputs_is_an_error() -> None:
    with Blocks() as blocks:
        shown, other = gr.Textbox(), gr.Textbox()
        gr.Button().click(lambda: None, None, [shown, gr.HTML()])
    with pytest.raises(ValueError):
        answered(blocks, 0, {other: "x"})


def test_changes_are_remembered_per_page() -> None:
    with Blocks() as blocks:
        choice = gr.Dropdown(["a"])
        gr.Button().click(lambda: None, None, [choice])
    pages = Pages()
    blocks.state_session_capacity = 2
    pages.set_blocks(blocks)
    run(blocks.postprocess_data(blocks.fns[0], {choice: gr.update(choices=["b"])}, pages["one"]))
    assert pages["one"][choice._id].choices == [("b", "b")] and pages["two"][choice._id].choices == [("a", "a")]
    pages["three"]
    assert "one" not in pages and "two" in pages and len(pages.session_data) == 2
