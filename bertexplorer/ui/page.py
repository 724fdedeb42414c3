"""The pages: Explore, which is drawn by the scripts in static/, and those on which checkpoints learn."""

from dataclasses import replace

import gradio as gr

from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.ui.about import about
from bertexplorer.ui.experiments import page as experiments
from bertexplorer.ui.experiments import wiring as experiments_wiring
from bertexplorer.ui.experiments.experiment_service import ExperimentService
from bertexplorer.ui.gradio_patches import Blocks
from bertexplorer.ui.state import State
from bertexplorer.ui.tabs import VIEWS
from bertexplorer.ui.training import page as training
from bertexplorer.ui.training import wiring
from bertexplorer.ui.training.run_service import RunService

OPENING = State(VIEWS["fill-mask"].examples[0].text)
THREADS = 48  # for the events of the pages on which checkpoints learn


def build(library: CheckpointRegistry, settings: Settings, service: RunService | None = None) -> gr.Blocks:
    """All pages, ready to be served; Train and Pretrain only with a *service*."""
    with Blocks(title="BERT Explorer", analytics_enabled=False, delete_cache=(3600, 86_400)) as blocks:
        blocks.max_threads = THREADS
        if service:
            gr.Navbar(main_page_name="Explore")
        gr.Column(elem_id="explore")  # filled by static/explore.js
    if service:
        with blocks.route("Train", "train"):
            wiring.wire(service, training.build(library.of("")), blocks)
            gr.HTML(about(settings), apply_default_css=False)
        with blocks.route("Pretrain", "pretrain"):
            experiments_wiring.wire(ExperimentService(service), experiments.build(), blocks)
            gr.HTML(about(settings), apply_default_css=False)
    return blocks


def page_opening(settings: Settings) -> State:
    """The state that the page opens with if there is no link."""
    return replace(OPENING, checkpoint=settings.checkpoint, precision=settings.precision)
