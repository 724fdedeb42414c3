"""The components of the training page: the settings of a new run, the list of runs, and one run in detail."""

from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from bertexplorer.options import option_specs
from bertexplorer.runs.service import MAX_SEEDS
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.web.forms import Form, fields, form
from bertexplorer.web.gradio_patches import Menu
from bertexplorer.web.html import script, snippet
from bertexplorer.web.training import html, run_list
from bertexplorer.web.training.run_list import RunList

MAX_COLUMNS = 4  # columns of a file that a task reads, at most
MAX_TEXTS = 4  # text boxes of the playground
AT_HAND = 3  # settings that are always visible; the others are folded
FIRST_TASK = "classification"
POLL_S = 2.0
BUILT_IN, UPLOAD, HUB = SOURCES = ("built-in rows", "my file", "the hub")
FILE_TYPES = [".csv", ".tsv", ".jsonl", ".json", ".txt", ".conll", ".label"]
ACTIONS = ("Stop", "Resume", "Run again", "Delete")
EXPORT_NOTE = (
    "ZIP: the folder that transformers loads, with its model card, settings and metrics. "
    "ONNX: the encoder and its head for onnxruntime; of a run that learned vectors, the encoder alone."
)


@dataclass(frozen=True, eq=False)
class SetupComponents:
    """The settings of a new run, with its preview."""

    task: gr.Dropdown
    about: gr.HTML
    checkpoint: Menu
    source: gr.Radio
    files: gr.Row
    file: gr.File
    validation_file: gr.File
    hub: gr.Textbox
    columns: list[Menu]
    features: Menu  # further columns to train on
    tuning: dict[str, Component]  # settings of all tasks
    options: dict[str, Form]  # task -> its settings
    name: gr.Textbox
    seeds: gr.Number
    skip: gr.Checkbox
    preview: gr.HTML
    preview_button: gr.Button
    start_button: gr.Button
    key: gr.Textbox  # new for each run, so that clicking Start five times starts one

    @property
    def inputs(self) -> set[Component]:
        """The components that describe a run. Handlers receive their values as a dict."""
        forms = [self.tuning, *(form.components for form in self.options.values())]
        settings = [component for components in forms for component in components.values()]
        rows = [self.source, self.file, self.validation_file, self.hub, *self.columns, self.features, self.skip]
        return {self.task, self.checkpoint, *rows, *settings, self.name, self.seeds, self.key}


@dataclass(frozen=True, eq=False)
class RunComponents:
    """The chosen run: its state, curves and errors, and the playground."""

    headline: gr.HTML
    actions: dict[str, gr.Button]
    new_name: gr.Textbox
    chart: gr.Plot
    caption: gr.HTML
    overlay: Menu  # runs drawn over the chosen one
    comparison: gr.HTML
    texts: list[gr.Textbox]  # of the playground
    try_button: gr.Button
    answer: gr.HTML
    influence_button: gr.Button
    suspects_button: gr.Button
    influence: gr.HTML
    results: gr.HTML
    confusion: gr.Plot
    confusion_clicks: gr.HTML
    rows: gr.HTML

    @property
    def polled(self) -> list[Component]:
        """The components that change while the run goes on."""
        return [self.headline, self.chart, self.caption, self.comparison, self.results, self.confusion, self.rows,
                *self.texts, self.try_button, self.influence_button, self.suspects_button,
                *self.actions.values()]  # fmt: skip


@dataclass(frozen=True, eq=False)
class ExportComponents:
    """The export of the chosen run's best checkpoint."""

    panel: gr.Accordion
    buttons: dict[str, gr.Button]  # ZIP, ONNX
    with_rows: gr.Checkbox
    file: gr.File
    repository: gr.Textbox
    token: gr.Textbox
    upload_button: gr.Button


@dataclass(frozen=True, eq=False)
class PageComponents:
    """The components of the page."""

    message: gr.HTML
    setup: SetupComponents
    runs: RunList
    detail: gr.Column
    run: RunComponents
    export: ExportComponents
    offered: gr.Textbox  # the runs that “Start from” lists

    @property
    def polled(self) -> list[Any]:
        """The components that a poll of the runs may change."""
        return [*self.runs.polled, self.detail, *self.run.polled, self.export.panel]

    @property
    def all_of_run(self) -> list[Any]:
        """The components that change when another run is chosen."""
        run = self.run
        return [self.message, *self.polled, self.runs.chosen, run.answer, run.influence, run.overlay, run.new_name,
                self.export.file, self.setup.checkpoint]  # fmt: skip


def build(registry: CheckpointRegistry) -> PageComponents:
    """Create the components."""
    gr.Navbar(main_page_name="Explore")
    snippet(html.HEADER)
    message = snippet("", elem_id="message")
    with gr.Column(elem_id="wish"):
        setup = build_setup(registry)
    runs = run_list.build(POLL_S)
    with gr.Column(visible=False, elem_id="detail") as detail:
        run, export = build_run(), build_export()
    return PageComponents(message, setup, runs, detail, run, export, offered=gr.Textbox("", visible=False))


def build_setup(registry: CheckpointRegistry) -> SetupComponents:
    titles = [(module.TITLE, name) for name, module in BY_NAME.items()]
    with gr.Row():
        task = gr.Dropdown(titles, value=FIRST_TASK, label="Task", filterable=False, min_width=240, elem_id="task")
        starts = html.start_choices(registry)
        checkpoint = Menu(starts, value="mini", label="Start from", min_width=240, elem_id="start-from")
        source = gr.Radio(list(SOURCES), value=BUILT_IN, label="Rows", elem_id="source")
    about = snippet(f'<p class="note">{BY_NAME[FIRST_TASK].ABOUT}</p>')
    with gr.Row(visible=False) as files:
        file = gr.File(label="Training rows", file_types=FILE_TYPES, elem_id="rows-file", height=150, min_width=260)
        validation_file = gr.File(label="Validation rows (otherwise a tenth of the training rows)",
                                  file_types=FILE_TYPES, height=150, min_width=260)  # fmt: skip
    hub = gr.Textbox("", label="Data set on the hub", info="NAME, NAME:CONFIGURATION or NAME:CONFIGURATION@SPLIT",
                     placeholder="nyu-mll/glue:sst2", visible=False, max_lines=1, elem_id="hub")  # fmt: skip
    with gr.Row(elem_classes="options"):
        columns = [Menu([], label="", visible=False, elem_classes="column") for _ in range(MAX_COLUMNS)]
        features = Menu([], label="Further columns", info="numbers or categories to train on as well",
                        multiselect=True, visible=False, elem_id="beside")  # fmt: skip
    specs = option_specs(Tuning)
    with gr.Row(elem_classes="options"):
        tuning = fields(specs[:AT_HAND])
    snippet(html.MORE_OPTIONS, js_on_load=script("fold.js"))
    with gr.Column(elem_id="more-options"):
        with gr.Column(elem_id="task-options"):
            options = {name: form(task.Options, f"task-{name}", name == FIRST_TASK) for name, task in BY_NAME.items()}
        with gr.Row(elem_classes="options"):
            tuning |= fields(specs[AT_HAND:])
            seeds = gr.Number(1, label="Seeds", info="repeats with other random numbers, for a mean and its spread",
                              minimum=1, maximum=MAX_SEEDS, precision=0, elem_id="seeds")  # fmt: skip
            skip = gr.Checkbox(True, label="Skip unusable rows", info="otherwise the run does not start")
    with gr.Row(elem_id="actions"):
        name = gr.Textbox("", label="Name of the run", max_lines=1, scale=2, min_width=260, elem_id="run-name")
        preview_button = gr.Button("Preview rows", size="sm", elem_id="check")
        start_button = gr.Button("Start", size="sm", variant="primary", elem_id="start")
    preview = snippet("", elem_id="looked")
    key = gr.Textbox("", visible=False, elem_id="run-key")
    return SetupComponents(
        task=task, about=about, checkpoint=checkpoint, source=source, files=files, file=file,
        validation_file=validation_file, hub=hub, columns=columns, features=features, tuning=tuning, options=options,
        name=name, seeds=seeds, skip=skip, preview=preview, preview_button=preview_button, start_button=start_button,
        key=key,
    )  # fmt: skip


def build_run() -> RunComponents:
    headline = snippet("", elem_id="headline")
    with gr.Row(elem_id="run-actions"):
        actions = {action: gr.Button(action, size="sm", visible=False) for action in ACTIONS}
        new_name = gr.Textbox("", show_label=False, placeholder="New name, then Enter", max_lines=1,
                              container=False, elem_id="rename")  # fmt: skip
    chart = gr.Plot(show_label=False, container=False, elem_id="figure")
    caption = snippet("", elem_id="caption")
    overlay = Menu([], label="Overlay other runs", multiselect=True, visible=False, elem_id="over")
    comparison = snippet("", elem_id="compared")
    with gr.Row(elem_id="playground"):
        texts = [gr.Textbox("", label="", visible=False, lines=1, max_lines=8) for _ in range(MAX_TEXTS)]
        try_button = gr.Button("Try it", size="sm", visible=False, elem_id="ask")
    answer = snippet("", elem_id="answer")
    with gr.Row(elem_id="tracing"):
        influence_button = gr.Button("Which rows taught it this?", size="sm", visible=False, elem_id="why")
        suspects_button = gr.Button("Find wrong labels", size="sm", visible=False, elem_id="suspects")
    influence = snippet("", elem_id="taught")
    results = snippet("", elem_id="results")
    confusion = gr.Plot(show_label=False, container=False, elem_id="difference", visible=False)
    confusion_clicks = snippet("", js_on_load=script("figure.js"))
    rows = snippet("", elem_id="rows")
    return RunComponents(
        headline=headline, actions=actions, new_name=new_name, chart=chart, caption=caption, overlay=overlay,
        comparison=comparison, texts=texts, try_button=try_button, answer=answer, influence_button=influence_button,
        suspects_button=suspects_button, influence=influence, results=results, confusion=confusion,
        confusion_clicks=confusion_clicks, rows=rows,
    )  # fmt: skip


def build_export() -> ExportComponents:
    with gr.Accordion("Export", open=False, visible=False, elem_id="along") as panel:
        snippet(f'<p class="note">{EXPORT_NOTE}</p>')
        with gr.Row(elem_id="kinds"):
            buttons = {kind: gr.Button(kind, size="sm") for kind in ("ZIP", "ONNX")}
        with_rows = gr.Checkbox(False, label="With validation rows", elem_id="with-rows",
                                info="three in the model card, all with their answers in a file")  # fmt: skip
        file = gr.File(visible=False, label="Ready", interactive=False, elem_id="taken", height=80)
        with gr.Row(elem_classes="options"):
            repository = gr.Textbox("", label="Or upload to the hub", placeholder="OWNER/NAME", max_lines=1)
            token = gr.Textbox("", label="Hugging Face access token", type="password", max_lines=1)
            upload_button = gr.Button("Upload", size="sm", min_width=80)
    return ExportComponents(panel, buttons, with_rows, file, repository, token, upload_button)
