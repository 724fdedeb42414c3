"""The components of the page of experiments: links, settings, runs, published results."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from bertexplorer.settings import ASSETS
from bertexplorer.store import training_snapshots
from bertexplorer.training.pretraining.experiments import EXPERIMENTS
from bertexplorer.ui.experiments import html
from bertexplorer.ui.experiments.experiment_service import MOST_MINUTES
from bertexplorer.ui.gradio_patches import Menu

MANUALS, OWN = "the manuals on this machine", "my text"
SOURCES = (MANUALS, OWN)
POLL_S = 3.0
TEXT_NOTE = (
    "The manuals are the prose in the Python packages installed with this app: four megabytes of English on "
    "programming, with no download. A text of your own must be plain text (.txt or .txt.xz, up to 25 MB, 100 MB "
    "unpacked), one paragraph per line, a blank line between documents."
)


@dataclass(eq=False)
class PageComponents:
    """The components of the page."""

    experiment: gr.Radio
    about: gr.HTML
    source: gr.Radio
    file: gr.File
    minutes: gr.Slider
    start: gr.Button
    message: gr.HTML
    group: Menu  # experiments that were started
    stop: gr.Button
    delete: gr.Button
    summary: gr.HTML
    gone: gr.HTML  # deleted experiments that can be restored
    chart: gr.Plot
    said: gr.HTML
    timer: gr.Timer

    @property
    def watched(self) -> list[Any]:
        """The components that an update of the runs may change."""
        return [self.group, self.stop, self.delete, self.summary, self.gone, self.chart, self.said, self.timer]


def build() -> PageComponents:
    """Create the components."""
    first = EXPERIMENTS[0]
    gr.Navbar(main_page_name="Explore")
    gr.HTML(html.HEADER, apply_default_css=False)
    there = training_snapshots.snapshots()
    gr.HTML(html.doors(there[0].name if there else ""), apply_default_css=False)
    message = gr.HTML("", elem_id="message", apply_default_css=False)
    made: dict[str, Any] = {"message": message}
    with gr.Column(elem_id="wish"):
        choices = [(experiment.title, experiment.name) for experiment in EXPERIMENTS]
        made["experiment"] = gr.Radio(choices, value=first.name, label="Experiment", elem_id="experiment")
        made["about"] = gr.HTML(html.about(first), elem_id="about", apply_default_css=False)
        with gr.Row(elem_classes="options"):
            made["source"] = gr.Radio(list(SOURCES), value=MANUALS, label="Text to learn from", elem_id="text-source")
            made["minutes"] = gr.Slider(0.5, MOST_MINUTES, value=first.minutes, step=0.5, label="Minutes per run",
                                        elem_id="minutes")  # fmt: skip
        made["file"] = gr.File(label="Text", file_types=[".txt", ".xz"], visible=False, height=120, elem_id="text-file")
        gr.HTML(f'<p class="note">{TEXT_NOTE}</p>', apply_default_css=False)
        made["start"] = gr.Button("Start", size="sm", variant="primary", elem_id="start")
    with gr.Row(elem_id="run-actions"):
        made["group"] = Menu([], label="Started experiments", visible=False, elem_id="group")
        made["stop"] = gr.Button("Stop", size="sm", visible=False)
        made["delete"] = gr.Button("Delete", size="sm", visible=False)
    made["summary"] = gr.HTML("", elem_id="summary", apply_default_css=False)
    made["chart"] = gr.Plot(show_label=False, container=False, visible=False, elem_id="figure")
    made["said"] = gr.HTML("", js_on_load=script("caption.js"), elem_id="caption", apply_default_css=False)
    made["gone"] = gr.HTML("", js_on_load=script("runs.js"), elem_id="gone", apply_default_css=False)
    return PageComponents(**made, timer=gr.Timer(POLL_S, active=False))


def script(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")
