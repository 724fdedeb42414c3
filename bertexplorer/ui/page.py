"""The page: workbench, views, one figure, picker, and which event leads to which handler."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from bertexplorer.settings import ASSETS, Settings
from bertexplorer.store.library import PRECISIONS, Library
from bertexplorer.ui import pieces
from bertexplorer.ui.explore import VIEWS, Explore
from bertexplorer.ui.forms import form
from bertexplorer.ui.handlers import Handlers
from bertexplorer.ui.state import State

OPENING = State(VIEWS["fill-mask"].EXAMPLES[0].text)
LIMIT = 16  # handlers of one kind at a time


@dataclass(frozen=True)
class Buttons:
    """What is pressed and holds no state."""

    insert: gr.Button
    unhide: gr.Button
    second: gr.Button
    exports: dict[str, gr.Button]
    payload: gr.Textbox  # a file on its way to the browser


def build(library: Library, settings: Settings) -> gr.Blocks:
    """The whole page, ready to launch."""
    opening = page_opening(settings)
    with gr.Blocks(title="BERT Explorer", analytics_enabled=False) as blocks:
        with gr.Row(elem_id="top"):
            gr.HTML(pieces.HEADER, apply_default_css=False, min_width=240)
            chooser = picker(library, opening)
        bench, insert, unhide, second = workbench(opening)
        stage, exports = figure(opening)
        forms = {view: form(tab.analysis.Options, view, view == opening.view) for view, tab in VIEWS.items()}
        handlers = Handlers(Explore(library), opening, **bench, **stage, **chooser, forms=forms)
        buttons = Buttons(insert, unhide, second, exports, gr.Textbox(visible=False))
        wire(handlers, buttons, blocks)
    return blocks


def page_opening(settings: Settings) -> State:
    """What the page shows to a person who comes without a link."""
    return replace(OPENING, checkpoint=settings.checkpoint, precision=settings.precision)


def workbench(opening: State) -> tuple[dict[str, Component], gr.Button, gr.Button, gr.Button]:
    """The text, once, and its strip of chips."""
    with gr.Column(elem_id="workbench"):
        text = gr.Textbox(opening.text, label="Your sentence", lines=1, max_lines=6, elem_id="text", container=False)
        pair = gr.Textbox("", label="Second sentence", lines=1, max_lines=6, elem_id="pair", visible=False)
        strip = gr.HTML("", js_on_load=script("strip.js"), elem_id="strip", apply_default_css=False)
        with gr.Row(elem_id="actions"):
            insert = gr.Button("Insert [MASK]", size="sm")
            unhide = gr.Button("Show all words", size="sm")
            second = gr.Button("Second sentence", size="sm")
        examples = gr.HTML(
            pieces.examples(VIEWS[opening.view]),
            js_on_load=script("examples.js"),
            elem_id="examples",
            apply_default_css=False,
        )
    memory = gr.JSON(visible=False)
    message = gr.HTML("", elem_id="message", apply_default_css=False)
    found = {"text": text, "pair": pair, "strip": strip, "examples": examples, "memory": memory, "message": message}
    return found, insert, unhide, second


def figure(opening: State) -> tuple[dict[str, Component], dict[str, gr.Button]]:
    """The views to choose from, the figure of the one on the screen, what it says, and the ways to take it along."""
    choices = [(tab.TITLE, view) for view, tab in VIEWS.items()]
    view = gr.Radio(choices, value=opening.view, label="View", elem_id="views", container=False)
    question = gr.HTML(pieces.question(VIEWS[opening.view]), elem_id="question", apply_default_css=False)
    plot = gr.Plot(show_label=False, container=False, elem_id="figure")
    caption = gr.HTML("", js_on_load=script("caption.js"), elem_id="caption", apply_default_css=False)
    with gr.Row(elem_id="exports"):
        kinds = ("PNG", "SVG", "CSV", "JSON", "Python", "Link")
        exports = {kind: gr.Button(kind, size="sm", elem_id=f"export-{kind.lower()}") for kind in kinds}
        receipt = gr.HTML("", elem_id="receipt", apply_default_css=False)
    return {"view": view, "question": question, "plot": plot, "caption": caption, "receipt": receipt}, exports


def picker(library: Library, opening: State) -> dict[str, Any]:
    """The checkpoint and its facts, folded."""
    here = library.offline()
    with gr.Accordion(f"Checkpoint: {opening.checkpoint}", open=False, elem_id="picker") as drawer:
        checkpoint = gr.Dropdown(
            pieces.choices(here),
            value=opening.checkpoint,
            label="Checkpoint",
            info="pick one, or type a hub name or a folder of the models folder and press Enter",
            allow_custom_value=True,
            elem_id="checkpoint",
        )
        precision = gr.Radio(list(PRECISIONS), value=opening.precision, label="Precision", elem_id="precision")
        facts = gr.HTML("", apply_default_css=False)
        gr.HTML(pieces.catalogue(here), apply_default_css=False)
    ready = gr.Textbox(visible=False)
    return {"drawer": drawer, "checkpoint": checkpoint, "precision": precision, "facts": facts, "ready": ready}


def wire(page: Handlers, buttons: Buttons, blocks: gr.Blocks) -> None:
    """Every event and its handler. Each handler is given all that the page holds, so no event relies on another."""
    common: dict[str, Any] = {
        "concurrency_limit": LIMIT,
        "show_progress": "minimal",
        "show_progress_on": [page.plot],
        "api_visibility": "private",
    }
    latest = {**common, "trigger_mode": "always_last"}
    # gradio's `input` event hears key presses alone: no backspace, no paste, no phone keyboard
    edits = [page.text.change, page.pair.change, *(c.change for _, _, c in page.settings())]
    gr.on(edits, page.edit, page.inputs, page.shown, **latest)
    # presses are sent at once: with always_last gradio would send the data of the first press again
    page.strip.click(page.press, page.inputs, page.all, trigger_mode="multiple", **common)
    page.examples.click(page.pick, page.inputs, page.all, trigger_mode="multiple", **common)
    page.view.input(page.switch, page.inputs, page.all, **latest)
    buttons.unhide.click(page.unhide, page.inputs, page.shown, **latest)
    page.precision.input(page.switch, page.inputs, page.all, **latest)
    fetched = page.checkpoint.input(page.fetch, [page.checkpoint, *page.inputs], [page.message, page.ready], **common)
    fetched.then(page.use, [page.ready, *page.inputs], page.all, **common)
    blocks.load(None, js=script("page.js"), api_visibility="private")
    blocks.load(page.open, None, page.all, **common)
    buttons.second.click(lambda: gr.update(visible=True), None, page.pair, api_visibility="private")
    buttons.insert.click(None, js=script("insert.js"), api_visibility="private")
    for kind in ("CSV", "JSON", "Python"):
        made = buttons.exports[kind].click(
            partial(page.export, kind.lower()), page.inputs, [buttons.payload, page.message], **common
        )
        made.then(None, [buttons.payload], None, js=script("save.js"), api_visibility="private")
    for kind in ("PNG", "SVG"):
        picture = script("picture.js").replace("FORMAT", kind.lower())
        buttons.exports[kind].click(None, js=picture, api_visibility="private")
    buttons.exports["Link"].click(None, js=script("link.js"), api_visibility="private")


def script(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")
