"""The pages: Explore and Learn, which the scripts in static/ draw, and Train and Pretrain."""

import gradio as gr

from bertexplorer.api.about import about
from bertexplorer.runs.experiments import ExperimentService
from bertexplorer.runs.service import RunService
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.web.experiments import page as experiments
from bertexplorer.web.experiments import wiring as experiments_wiring
from bertexplorer.web.gradio_patches import Blocks
from bertexplorer.web.training import page as training
from bertexplorer.web.training import wiring

THREADS = 48  # for the events of Train and Pretrain


def build(registry: CheckpointRegistry, settings: Settings, service: RunService | None = None) -> gr.Blocks:
    """Build all pages; Train and Pretrain only with a *service*."""
    with Blocks(title="BERT Explorer", analytics_enabled=False, delete_cache=(3600, 86_400)) as blocks:
        blocks.max_threads = THREADS
        gr.Navbar(main_page_name="Explore")
        gr.Column(elem_id="explore")  # filled by static/explore.js
    with blocks.route("Learn", "learn"):
        gr.Navbar(main_page_name="Explore")
        gr.Column(elem_id="learn")  # filled by static/learn.js
    if service:
        with blocks.route("Train", "train"):
            wiring.wire(service, training.build(registry.for_owner("")), blocks)
            gr.HTML(about(settings), apply_default_css=False)
        with blocks.route("Pretrain", "pretrain"):
            experiments_wiring.wire(ExperimentService(service), experiments.build(), blocks)
            gr.HTML(about(settings), apply_default_css=False)
    return blocks
