"""The components of the page of experiments: links, settings, the runs and their figure."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from bertexplorer.runs.experiments import MAX_MINUTES
from bertexplorer.store.catalogue import snapshots
from bertexplorer.training.pretraining.experiments import EXPERIMENTS
from bertexplorer.web.experiments import html
from bertexplorer.web.html import script, snippet
from bertexplorer.web.training import run_list
from bertexplorer.web.training.run_list import RunList

FAIRY_TALES, UPLOAD = SOURCES = ("fairy tales", "my text")
POLL_S = 3.0
TEXT_NOTE = (
    "The fairy tales come with this app: 278 stories, three megabytes of English (FairytaleQA, Xu et al., 2022). Your "
    "own text must be plain text (.txt or .txt.xz, up to 25 MB, 100 MB unpacked), one paragraph per line, a blank line "
    "between documents."
)


@dataclass(frozen=True, eq=False)
class PageComponents:
    """The components of the page."""

    experiment: gr.Radio
    about: gr.HTML
    source: gr.Radio
    file: gr.File
    minutes: gr.Slider
    start: gr.Button
    message: gr.HTML
    runs: RunList  # of the started experiments
    stop: gr.Button
    resume: gr.Button
    delete: gr.Button
    summary: gr.HTML
    chart: gr.Plot
    caption: gr.HTML

    @property
    def polled(self) -> list[Any]:
        """The components that a poll of the runs may change."""
        return [*self.runs.polled, self.stop, self.resume, self.delete, self.summary, self.chart, self.caption]


def build() -> PageComponents:
    """Create the components."""
    first, saved = EXPERIMENTS[0], snapshots()
    gr.Navbar(main_page_name="Explore")
    snippet(html.HEADER)
    snippet(html.links(saved[0].name if saved else ""))
    message = snippet("", elem_id="message")
    with gr.Column(elem_id="wish"):
        choices = [(experiment.title, experiment.name) for experiment in EXPERIMENTS]
        experiment = gr.Radio(choices, value=first.name, label="Experiment", elem_id="experiment")
        about = snippet(html.about(first), elem_id="about")
        with gr.Row(elem_classes="options"):
            source = gr.Radio(list(SOURCES), value=FAIRY_TALES, label="Text to learn from", elem_id="text-source")
            minutes = gr.Slider(0.5, MAX_MINUTES, value=first.minutes, step=0.5, label="Minutes per run",
                                elem_id="minutes")  # fmt: skip
        file = gr.File(label="Text", file_types=[".txt", ".xz"], visible=False, height=120, elem_id="text-file")
        snippet(f'<p class="note">{TEXT_NOTE}</p>')
        start = gr.Button("Start", size="sm", variant="primary", elem_id="start")
    runs = run_list.build(POLL_S)
    with gr.Row(elem_id="run-actions"):
        stop = gr.Button("Stop", size="sm", visible=False)
        resume = gr.Button("Resume", size="sm", visible=False, elem_id="resume-arm")
        delete = gr.Button("Delete", size="sm", visible=False)
    summary = snippet("", elem_id="summary")
    chart = gr.Plot(show_label=False, container=False, visible=False, elem_id="figure")
    caption = snippet("", js_on_load=script("caption.js"), elem_id="caption")
    return PageComponents(
        experiment=experiment, about=about, source=source, file=file, minutes=minutes, start=start, message=message,
        runs=runs, stop=stop, resume=resume, delete=delete, summary=summary, chart=chart, caption=caption,
    )  # fmt: skip
