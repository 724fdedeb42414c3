"""The components of the training page: settings, the list of runs, one run in detail."""

from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from bertexplorer.settings import ASSETS
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.forms import Form, form
from bertexplorer.ui.gradio_patches import Menu
from bertexplorer.ui.training import html
from bertexplorer.ui.training.run_service import MOST_SEEDS

COLUMNS = 4  # drop-downs for columns; a task has no more
FIRST = "classification"
POLL_S = 2.0
SOURCES = ("built-in rows", "my file", "the hub")
PLAY = 4  # boxes of the playground
ALONG = (
    "ZIP: the folder that transformers loads, with its model card, settings and metrics. "
    "ONNX: the encoder and its head for onnxruntime."
)


@dataclass(eq=False)
class PageComponents:
    """The components of the page."""

    task: gr.Dropdown
    about: gr.HTML
    checkpoint: Menu
    source: gr.Radio
    files: gr.Row
    hub: gr.Textbox
    file: gr.File
    dev: gr.File
    columns: list[Menu]
    tuning: Form
    options: dict[str, Form]
    beside: Menu  # further columns
    name: gr.Textbox
    seeds: gr.Number
    skip: gr.Checkbox
    looked: gr.HTML
    check: gr.Button
    start: gr.Button
    key: gr.Textbox  # new for each run, so that a button pressed five times starts only one
    message: gr.HTML
    runs: gr.HTML
    chosen: gr.Textbox
    detail: gr.Column
    headline: gr.HTML
    name_now: gr.Textbox
    chart: gr.Plot
    said: gr.HTML
    over: Menu  # runs laid over the chosen one
    compared: gr.HTML
    results: gr.HTML
    confusion: gr.Plot
    points: gr.HTML
    rows: gr.HTML
    play: list[gr.Textbox]
    ask: gr.Button
    why: gr.Button
    suspects: gr.Button
    answer: gr.HTML
    taught: gr.HTML
    buttons: dict[str, gr.Button]
    along: gr.Accordion
    kinds: dict[str, gr.Button]  # ZIP, ONNX
    with_rows: gr.Checkbox
    taken: gr.File
    place: gr.Textbox
    token: gr.Textbox
    push: gr.Button
    timer: gr.Timer
    offered: gr.Textbox  # which runs the page lists as starts

    @property
    def wish(self) -> list[Component]:
        """The settings of a new run, in the order in which SetupHandlers.wish reads them."""
        settings = [
            *self.tuning.components.values(),
            *(c for f in self.options.values() for c in f.components.values()),
        ]
        first = [self.task, self.checkpoint, self.source, self.file, self.dev, self.name, self.seeds,
                 self.skip, self.beside, self.hub]  # fmt: skip
        return [*first, *self.columns, *settings]

    @property
    def watched(self) -> list[Any]:
        """The components that an update of the runs may change."""
        return [self.runs, self.detail, self.headline, self.chart, self.said, self.compared, self.results,
                self.confusion, self.rows, *self.play, self.ask, self.why, self.suspects, self.along,
                *self.buttons.values(), self.timer]  # fmt: skip


def build(library: CheckpointRegistry) -> PageComponents:
    """Create the components."""
    made: dict[str, Any] = {}
    gr.Navbar(main_page_name="Explore")
    gr.HTML(html.HEADER, apply_default_css=False)
    made["message"] = gr.HTML("", elem_id="message", apply_default_css=False)
    with gr.Column(elem_id="wish"):
        made |= wish(library)
    gr.HTML("<h2>Runs</h2>", apply_default_css=False)
    made["runs"] = gr.HTML("", js_on_load=script("runs.js"), elem_id="runs", apply_default_css=False)
    made["chosen"] = gr.Textbox("", visible=False)
    with gr.Column(visible=False, elem_id="detail") as detail:
        made |= watching()
    return PageComponents(
        **made, detail=detail, timer=gr.Timer(POLL_S, active=False), offered=gr.Textbox("", visible=False)
    )


def wish(library: CheckpointRegistry) -> dict[str, Any]:
    """The components of the settings, in the order in which SetupHandlers.wish reads them."""
    titles = [(module.TITLE, name) for name, module in BY_NAME.items()]
    with gr.Row():
        task = gr.Dropdown(titles, value=FIRST, label="Task", filterable=False, min_width=240, elem_id="task")
        checkpoint = Menu(html.starts(library), value="mini", label="Start from", min_width=240, elem_id="start-from")
        source = gr.Radio(list(SOURCES), value=SOURCES[0], label="Rows", elem_id="source")
    about = gr.HTML(f'<p class="note">{BY_NAME[FIRST].ABOUT}</p>', apply_default_css=False)
    kinds = [".csv", ".tsv", ".jsonl", ".json", ".txt", ".conll", ".label"]
    with gr.Row(visible=False) as files:
        file = gr.File(label="Training rows", file_types=kinds, elem_id="rows-file", height=150, min_width=260)
        dev = gr.File(label="Validation rows (else a tenth)", file_types=kinds, height=150, min_width=260)
    hub = gr.Textbox("", label="Data set on the hub", info="NAME, NAME:CONFIGURATION or NAME:CONFIGURATION@SPLIT",
                     placeholder="nyu-mll/glue:sst2", visible=False, max_lines=1, elem_id="hub")  # fmt: skip
    with gr.Row(elem_classes="options"):
        columns = [Menu([], label="", visible=False, elem_classes="column") for _ in range(COLUMNS)]
        beside = Menu([], label="Further columns", info="numbers or categories to train on as well",
                             multiselect=True, visible=False, elem_id="beside")  # fmt: skip
    tuning = form(Tuning, "tuning", True)
    with gr.Column(elem_id="task-options"):
        options = {name: form(module.Options, f"task-{name}", name == FIRST) for name, module in BY_NAME.items()}
    with gr.Row(elem_classes="options"):
        name = gr.Textbox("", label="Name of the run", max_lines=1, elem_id="run-name")
        seeds = gr.Number(1, label="Seeds", info="runs that differ in nothing else, for a mean and its spread",
                          minimum=1, maximum=MOST_SEEDS, precision=0, elem_id="seeds")  # fmt: skip
        skip = gr.Checkbox(True, label="Skip rows that cannot be used", info="else they stop the run")
    looked = gr.HTML("", elem_id="looked", apply_default_css=False)
    with gr.Row(elem_id="actions"):
        check = gr.Button("Look at the rows", size="sm", elem_id="check")
        start = gr.Button("Start", size="sm", variant="primary", elem_id="start")
    key = gr.Textbox("", visible=False)
    found = {"task": task, "about": about, "checkpoint": checkpoint, "source": source, "files": files, "file": file}
    found |= {"dev": dev, "columns": columns, "tuning": tuning, "options": options, "name": name, "skip": skip}
    found |= {"beside": beside, "seeds": seeds, "hub": hub}
    return {**found, "looked": looked, "check": check, "start": start, "key": key}


def watching() -> dict[str, Any]:
    """One run: its state, its curves, its errors, and the playground."""
    headline = gr.HTML("", elem_id="headline", apply_default_css=False)
    with gr.Row(elem_id="run-actions"):
        buttons = {word: gr.Button(word, size="sm", visible=False) for word in ("Stop", "Resume", "Again", "Delete")}
        name_now = gr.Textbox("", show_label=False, placeholder="New name, then Enter", max_lines=1,
                              container=False, elem_id="rename")  # fmt: skip
    chart = gr.Plot(show_label=False, container=False, elem_id="figure")
    said = gr.HTML("", elem_id="caption", apply_default_css=False)
    over = Menu([], label="Overlay other runs", multiselect=True, visible=False, elem_id="over")
    compared = gr.HTML("", elem_id="compared", apply_default_css=False)
    with gr.Row(elem_id="playground"):
        play = [gr.Textbox("", label="", visible=False, lines=1, max_lines=8) for _ in range(PLAY)]
        ask = gr.Button("Try it", size="sm", visible=False, elem_id="ask")
    answer = gr.HTML("", elem_id="answer", apply_default_css=False)
    with gr.Row(elem_id="tracing"):
        why = gr.Button("Which rows taught it this?", size="sm", visible=False, elem_id="why")
        suspects = gr.Button("Find wrong labels", size="sm", visible=False, elem_id="suspects")
    taught = gr.HTML("", elem_id="taught", apply_default_css=False)
    results = gr.HTML("", elem_id="results", apply_default_css=False)
    confusion = gr.Plot(show_label=False, container=False, elem_id="difference", visible=False)
    points = gr.HTML("", js_on_load=script("figure.js"), apply_default_css=False)
    rows = gr.HTML("", elem_id="rows", apply_default_css=False)
    found = taking()
    found |= {
        "why": why,
        "suspects": suspects,
        "taught": taught,
        "name_now": name_now,
        "over": over,
        "compared": compared,
    }
    found |= {"headline": headline, "buttons": buttons, "chart": chart, "said": said, "play": play, "ask": ask}
    return {**found, "answer": answer, "results": results, "confusion": confusion, "points": points, "rows": rows}


def taking() -> dict[str, Any]:
    """Export of the checkpoint."""
    with gr.Accordion("Export", open=False, visible=False, elem_id="along") as along:
        gr.HTML(f'<p class="note">{ALONG}</p>', apply_default_css=False)
        with gr.Row(elem_id="kinds"):
            kinds = {kind: gr.Button(kind, size="sm") for kind in ("ZIP", "ONNX")}
        rows = gr.Checkbox(False, label="With validation rows", elem_id="with-rows",
                           info="three in the model card, all with their answers in a file")  # fmt: skip
        taken = gr.File(visible=False, label="Ready", interactive=False, elem_id="taken", height=80)
        with gr.Row(elem_classes="options"):
            place = gr.Textbox("", label="Or to the hub", placeholder="OWNER/NAME", max_lines=1)
            token = gr.Textbox("", label="Hugging Face access token", type="password", max_lines=1)
            push = gr.Button("Upload", size="sm", min_width=80)
    return {
        "along": along,
        "kinds": kinds,
        "with_rows": rows,
        "taken": taken,
        "place": place,
        "token": token,
        "push": push,
    }


def script(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")
