"""The page: workbench, views, one figure, picker, and which event leads to which handler."""

from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from gradio.components import Component

from bertexplorer.engine.lanes import Lanes
from bertexplorer.settings import ASSETS, Settings
from bertexplorer.store.library import PRECISIONS, Library
from bertexplorer.ui import pieces
from bertexplorer.ui.about import about
from bertexplorer.ui.explore import VIEWS, Explore
from bertexplorer.ui.forms import form
from bertexplorer.ui.handlers import Handlers
from bertexplorer.ui.laboratory import page as laboratory
from bertexplorer.ui.laboratory import wiring as laboratory_wiring
from bertexplorer.ui.laboratory.desk import Desk as Laboratory
from bertexplorer.ui.personal import personal
from bertexplorer.ui.screen import Screen
from bertexplorer.ui.slim import Blocks
from bertexplorer.ui.state import COMPARED, State
from bertexplorer.ui.training import page as training
from bertexplorer.ui.training import wiring
from bertexplorer.ui.training.desk import Desk

OPENING = State(VIEWS["fill-mask"].EXAMPLES[0].text)
SPARE = 16  # threads beside those for all whom the lanes take: to refuse others at once, and for all else


@dataclass(frozen=True)
class Buttons:
    """What is pressed and holds no state."""

    insert: gr.Button
    unhide: gr.Button
    second: gr.Button
    versus: gr.Button
    exports: dict[str, gr.Button]
    payload: gr.Textbox  # a file on its way to the browser


def build(library: Library, settings: Settings, desk: Desk | None = None, lanes: Lanes | None = None) -> gr.Blocks:
    """The whole page, ready to be served; with a *desk* there is a second one, on which checkpoints learn. *lanes*: in
    which answers wait."""
    opening = page_opening(settings)
    with Blocks(title="BERT Explorer", analytics_enabled=False, delete_cache=(3600, 86_400)) as blocks:
        if desk:
            gr.Navbar(main_page_name="Explore")
        with gr.Row(elem_id="top"):
            gr.HTML(pieces.HEADER, apply_default_css=False, min_width=240)
            chooser = picker(library.of(""), opening)
        bench, pressed = workbench(opening)
        nav = gr.HTML(pieces.nav(opening.view), js_on_load=script("views.js"), elem_id="nav", apply_default_css=False)
        stage, exports = figure(opening)
        with gr.Column(elem_id="forms"):
            forms = {view: form(tab.analysis.Options, view, view == opening.view) for view, tab in VIEWS.items()}
        typed = gr.HTML("", js_on_load=script("typed.js"), elem_id="typed", apply_default_css=False)
        screen = Screen(opening, **bench, **stage, **chooser, typed=typed, nav=nav, forms=forms)
        buttons = Buttons(**pressed, exports=exports, payload=gr.Textbox(visible=False))
        explore = Explore(library.of(""), desk.quota if desk else None)
        lanes = lanes or Lanes(limit=settings.tokens)
        blocks.max_threads = lanes.most + 2 * SPARE
        wire(Handlers(explore, screen, lanes=lanes), screen, buttons, blocks)
        gr.HTML(about(settings), apply_default_css=False)
    if desk:
        with blocks.route("Train", "train"):
            wiring.wire(desk, training.build(library.of("")), blocks)
            gr.HTML(about(settings), apply_default_css=False)
        with blocks.route("Pretrain", "pretrain"):
            laboratory_wiring.wire(Laboratory(desk), laboratory.build(), blocks)
            gr.HTML(about(settings), apply_default_css=False)
    return blocks


def page_opening(settings: Settings) -> State:
    """What the page shows to a person who comes without a link."""
    return replace(OPENING, checkpoint=settings.checkpoint, precision=settings.precision)


def workbench(opening: State) -> tuple[dict[str, Any], dict[str, gr.Button]]:
    """The text, once, its strip of chips, and what it is compared with."""
    with gr.Column(elem_id="workbench"):
        text = gr.Textbox(opening.text, label="Your sentence", lines=1, max_lines=6, elem_id="text", container=False)
        pair = gr.Textbox("", label="Second sentence", lines=1, max_lines=6, elem_id="pair", visible=False)
        strip = gr.HTML("", js_on_load=script("strip.js"), elem_id="strip", apply_default_css=False)
        with gr.Row(elem_id="actions"):
            labels = {"insert": "Insert [MASK]", "unhide": "Show all words", "second": "Second sentence"}
            buttons = {name: gr.Button(label, size="sm", elem_id=f"do-{name}") for name, label in labels.items()}
            buttons["versus"] = gr.Button("Compare", size="sm")
            upload = gr.UploadButton("Upload lines", size="sm", file_types=[".txt", ".csv", ".tsv"], visible=False)
        with gr.Row(elem_id="comparing", visible=False) as comparing:
            choices = [(name or "nothing", name) for name in COMPARED]
            against = gr.Radio(choices, value="", label="Compare with", elem_id="against")
            other = gr.Textbox("", label="Name of the checkpoint, or the other text", elem_id="other", visible=False)
        examples = gr.HTML(
            pieces.examples(VIEWS[opening.view]),
            js_on_load=script("examples.js"),
            elem_id="examples",
            apply_default_css=False,
        )
    moment = gr.Slider(0, 1, value=0, step=1, label="Training", visible=False, elem_id="moment")
    memory = gr.JSON(visible=False)
    message = gr.HTML("", elem_id="message", apply_default_css=False)
    found = {"text": text, "pair": pair, "strip": strip, "examples": examples, "memory": memory, "message": message}
    found |= {"moment": moment}
    return {**found, "upload": upload, "comparing": comparing, "against": against, "other": other}, buttons


def figure(opening: State) -> tuple[dict[str, Component], dict[str, gr.Button]]:
    """The figure of the view on the screen, what it says, what stands beside it, and the ways to take it along."""
    question = gr.HTML(pieces.question(VIEWS[opening.view]), elem_id="question", apply_default_css=False)
    with gr.Row(elem_id="stage"):
        with gr.Column(min_width=320):
            ours = gr.HTML("", apply_default_css=False)
            plot = gr.Plot(show_label=False, container=False, elem_id="figure")
            frame = gr.HTML("", elem_id="frame", apply_default_css=False)
            caption = gr.HTML("", js_on_load=script("caption.js"), elem_id="caption", apply_default_css=False)
        with gr.Column(min_width=320, visible=False, elem_id="beside") as aside:
            heading = gr.HTML("", apply_default_css=False)
            other_plot = gr.Plot(show_label=False, container=False)
            other_caption = gr.HTML("", apply_default_css=False)
    difference = gr.Plot(show_label=False, container=False, visible=False, elem_id="difference")
    points = gr.HTML("", js_on_load=script("figure.js"), elem_id="points", apply_default_css=False)
    with gr.Row(elem_id="exports"):
        kinds = ("PNG", "SVG", "HTML", "CSV", "JSON", "Python", "Link")
        exports = {kind: gr.Button(kind, size="sm", elem_id=f"export-{kind.lower()}") for kind in kinds}
        receipt = gr.HTML("", elem_id="receipt", apply_default_css=False)
    found = {"question": question, "plot": plot, "frame": frame, "caption": caption, "receipt": receipt}
    beside = {
        "ours": ours,
        "aside": aside,
        "heading": heading,
        "other_plot": other_plot,
        "other_caption": other_caption,
    }
    return {**found, **beside, "difference": difference, "points": points}, exports


def picker(library: Library, opening: State) -> dict[str, Any]:
    """The checkpoint and its facts, folded."""
    here = library.offline()
    with gr.Accordion(f"Checkpoint: {opening.checkpoint}", open=False, elem_id="picker") as drawer:
        checkpoint = gr.Dropdown(
            pieces.choices(here, library.trained()),
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


def wire(page: Handlers, screen: Screen, buttons: Buttons, blocks: gr.Blocks) -> None:
    """Every event and its handler. Each handler is given all that the page holds, so no event relies on another."""
    common: dict[str, Any] = {
        "concurrency_limit": page.lanes.most + SPARE,
        "show_progress": "minimal",
        "show_progress_on": [screen.points],  # not on the plot: gradio may lose a figure that comes with a status
        "api_visibility": "private",
    }
    # one line for all that is answered: gradio draws lots between lines, and what a person did last must come last
    # values as they are: gradio refuses an emptied number before its handler could say so
    asked: dict[str, Any] = {**common, "concurrency_id": "asked", "preprocess": False}
    stamp = {"js": script("stamp.js").replace("COUNT", str(len(screen.inputs)))}
    latest = {**asked, "trigger_mode": "always_last"}
    # with always_last gradio would send the data of the first press again
    each = {**asked, "trigger_mode": "multiple"}
    chosen = [c.input for _, _, c in screen.settings() if not isinstance(c, gr.Textbox)]
    gr.on([*chosen, screen.precision.input], personal(page.choose), screen.inputs, screen.outputs, **latest, **stamp)
    for pressed, handler in (
        (screen.typed, page.edit),
        (screen.strip, page.press),
        (screen.examples, page.pick),
        (screen.nav, page.switch),
        (screen.points, page.jump),
    ):
        pressed.click(personal(handler), screen.inputs, screen.outputs, **each, **stamp)
    buttons.unhide.click(personal(page.unhide), screen.inputs, screen.outputs, **latest, **stamp)
    uploaded, processed = [*screen.inputs, screen.upload], latest | {"preprocess": True}
    screen.upload.upload(personal(page.upload), uploaded, screen.outputs, **processed)
    screen.moment.input(personal(page.move), [*screen.inputs, screen.moment], screen.outputs, **latest)
    compared = [screen.against.input, screen.other.submit, screen.other.blur]
    gr.on(compared, personal(page.compare), screen.inputs, screen.outputs, **latest, **stamp)
    box = screen.checkpoint
    each_name = {**each, "concurrency_id": "fetched"}
    fetched = box.input(personal(page.fetch), [box, *screen.inputs], [screen.message, screen.ready], **each_name)
    fetched.then(personal(page.use), [screen.ready, *screen.inputs], screen.outputs, **each)
    blocks.load(None, js=script("page.js"), api_visibility="private")
    ready = blocks.load(personal(page.open), None, screen.message, **common)
    ready.then(personal(page.opened), screen.message, screen.outputs, **common)
    for button, row in ((buttons.second, screen.pair), (buttons.versus, screen.comparing)):
        button.click(lambda: gr.update(visible=True), None, row, api_visibility="private")
    buttons.insert.click(None, js=script("insert.js"), api_visibility="private")
    export(page, screen, buttons, common)


def export(page: Handlers, screen: Screen, buttons: Buttons, common: dict[str, Any]) -> None:
    """The buttons that take the figure along, as a file or as a link."""
    for kind in ("CSV", "JSON", "Python"):
        made = buttons.exports[kind].click(
            personal(page.export, kind.lower()), screen.inputs, [buttons.payload, screen.message], **common
        )
        made.then(None, [buttons.payload], None, js=script("save.js"), api_visibility="private")
    for kind in ("PNG", "SVG", "HTML"):  # HTML for figures that are pages of their own
        picture = script("picture.js").replace("FORMAT", kind.lower())
        buttons.exports[kind].click(None, js=picture, api_visibility="private")
    buttons.exports["Link"].click(None, js=script("link.js"), api_visibility="private")


def script(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")
