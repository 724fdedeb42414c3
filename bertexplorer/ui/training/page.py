"""The training page: what to learn and from what, the runs, and one of them watched and tried."""

from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from bertexplorer.settings import ASSETS
from bertexplorer.store.library import Library
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.forms import Form, form
from bertexplorer.ui.training import pieces

COLUMNS = 4  # drop-downs for columns; a task has no more
FIRST = "classification"
POLL_S = 2.0


@dataclass(eq=False)
class Bench:
    """The components of the page."""

    task: gr.Dropdown
    about: gr.HTML
    checkpoint: gr.Dropdown
    source: gr.Radio
    files: gr.Row
    file: gr.File
    dev: gr.File
    columns: list[gr.Dropdown]
    tuning: Form
    options: dict[str, Form]
    name: gr.Textbox
    skip: gr.Checkbox
    looked: gr.HTML
    check: gr.Button
    start: gr.Button
    key: gr.Textbox  # new for each run, so that a button pressed five times starts one
    message: gr.HTML
    runs: gr.HTML
    chosen: gr.Textbox
    detail: gr.Column
    headline: gr.HTML
    chart: gr.Plot
    said: gr.HTML
    results: gr.HTML
    confusion: gr.Plot
    points: gr.HTML
    rows: gr.HTML
    play: list[gr.Textbox]
    ask: gr.Button
    answer: gr.HTML
    buttons: dict[str, gr.Button]
    timer: gr.Timer

    @property
    def wish(self) -> list[Component]:
        """What a person sets up, in the order that Handlers.wish reads."""
        settings = [
            *self.tuning.components.values(),
            *(c for f in self.options.values() for c in f.components.values()),
        ]
        first = [self.task, self.checkpoint, self.source, self.file, self.dev, self.name, self.skip]
        return [*first, *self.columns, *settings]

    @property
    def watched(self) -> list[Any]:
        """What a look at the runs may change."""
        return [self.runs, self.detail, self.headline, self.chart, self.said, self.results, self.confusion, self.rows,
                *self.play, *self.buttons.values(), self.timer]  # fmt: skip


def build(library: Library) -> Bench:
    """The components, laid out."""
    made: dict[str, Any] = {}
    gr.Navbar(main_page_name="Explore")
    gr.HTML(pieces.HEADER, apply_default_css=False)
    made["message"] = gr.HTML("", elem_id="message", apply_default_css=False)
    with gr.Column(elem_id="wish"):
        made |= wish(library)
    gr.HTML("<h2>Runs</h2>", apply_default_css=False)
    made["runs"] = gr.HTML("", js_on_load=script("runs.js"), elem_id="runs", apply_default_css=False)
    made["chosen"] = gr.Textbox("", visible=False)
    with gr.Column(visible=False, elem_id="detail") as detail:
        made |= watching()
    return Bench(**made, detail=detail, timer=gr.Timer(POLL_S, active=False))


def wish(library: Library) -> dict[str, Any]:
    """Task, checkpoint, rows, settings."""
    titles = [(module.TITLE, name) for name, module in BY_NAME.items()]
    with gr.Row():
        task = gr.Dropdown(titles, value=FIRST, label="Task", filterable=False, elem_id="task")
        checkpoint = gr.Dropdown(library.offline(), value="mini", label="Start from", elem_id="start-from")
        source = gr.Radio(["built-in rows", "my file"], value="built-in rows", label="Rows", elem_id="source")
    about = gr.HTML(f'<p class="note">{BY_NAME[FIRST].ABOUT}</p>', apply_default_css=False)
    kinds = [".csv", ".tsv", ".jsonl", ".json", ".txt", ".conll", ".label"]
    with gr.Row(visible=False) as files:
        file = gr.File(label="Rows to learn from", file_types=kinds, elem_id="rows-file", height=120)
        dev = gr.File(label="Rows to try on (left out: a tenth of the others)", file_types=kinds, height=120)
    with gr.Row(elem_classes="options"):
        columns = [gr.Dropdown([], label="", visible=False, elem_classes="column") for _ in range(COLUMNS)]
    tuning = form(Tuning, "tuning", True)
    options = {name: form(module.Options, f"task-{name}", name == FIRST) for name, module in BY_NAME.items()}
    with gr.Row(elem_classes="options"):
        name = gr.Textbox("", label="Name of the run", max_lines=1, elem_id="run-name")
        skip = gr.Checkbox(True, label="Skip rows that cannot be used", info="else they stop the run")
    looked = gr.HTML("", elem_id="looked", apply_default_css=False)
    with gr.Row(elem_id="actions"):
        check = gr.Button("Look at the rows", size="sm", elem_id="check")
        start = gr.Button("Start", size="sm", variant="primary", elem_id="start")
    key = gr.Textbox("", visible=False)
    found = {"task": task, "about": about, "checkpoint": checkpoint, "source": source, "files": files, "file": file}
    found |= {"dev": dev, "columns": columns, "tuning": tuning, "options": options, "name": name, "skip": skip}
    return {**found, "looked": looked, "check": check, "start": start, "key": key}


def watching() -> dict[str, Any]:
    """One run: how it stands, its curves, what it got wrong, and a place to try it."""
    headline = gr.HTML("", elem_id="headline", apply_default_css=False)
    with gr.Row(elem_id="run-actions"):
        buttons = {word: gr.Button(word, size="sm", visible=False) for word in ("Stop", "Resume", "Again", "Delete")}
    chart = gr.Plot(show_label=False, container=False, elem_id="figure")
    said = gr.HTML("", elem_id="caption", apply_default_css=False)
    with gr.Row(elem_id="playground"):
        play = [gr.Textbox("", label="", visible=False, lines=2) for _ in range(2)]
        ask = gr.Button("Try it", size="sm", elem_id="ask")
    answer = gr.HTML("", elem_id="answer", apply_default_css=False)
    results = gr.HTML("", elem_id="results", apply_default_css=False)
    confusion = gr.Plot(show_label=False, container=False, elem_id="difference", visible=False)
    points = gr.HTML("", js_on_load=script("figure.js"), apply_default_css=False)
    rows = gr.HTML("", elem_id="rows", apply_default_css=False)
    found = {"headline": headline, "buttons": buttons, "chart": chart, "said": said, "play": play, "ask": ask}
    return {**found, "answer": answer, "results": results, "confusion": confusion, "points": points, "rows": rows}


def script(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")
