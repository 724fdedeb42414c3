"""The events of the training page and their handlers."""

from typing import Any

import gradio as gr

from bertexplorer.runs.service import RunService
from bertexplorer.web.html import script
from bertexplorer.web.owner_binding import bind_owner
from bertexplorer.web.training.page import PageComponents
from bertexplorer.web.training.run_handlers import RunHandlers
from bertexplorer.web.training.setup_handlers import SetupHandlers

LIMIT = 8  # events of one kind at the same time
COMMON: dict[str, Any] = {"concurrency_limit": LIMIT, "show_progress": "hidden", "api_visibility": "private"}


def wire(service: RunService, page: PageComponents, blocks: gr.Blocks) -> None:
    """Bind the page to its service."""
    runs = RunHandlers(service, page)
    setup = SetupHandlers(service, page, runs)
    wire_setup(setup, page)
    wire_runs(runs, page)
    wire_export(runs, page)
    forms = [form.row for form in page.setup.options.values()]
    loaded = [*page.all_of_run, page.setup.key, *forms]
    blocks.load(bind_owner(setup.open), [page.setup.task, page.runs.chosen], loaded, **COMMON)


def wire_setup(handlers: SetupHandlers, page: PageComponents) -> None:
    setup = page.setup
    menus = [*setup.columns, setup.features]
    preview_parts = [setup.preview, page.message, *menus]
    preview = gr.on(
        [setup.preview_button.click, *(menu.input for menu in menus)],
        bind_owner(handlers.preview),
        setup.inputs,
        preview_parts,
        **COMMON,
    )
    files = [event for file in (setup.file, setup.validation_file) for event in (file.upload, file.clear, file.delete)]
    # An event of its own, and the first: gradio would cancel only once the event that names it in "cancels" has ended,
    # and thus a preview that was asked for in the meantime.
    gr.on([setup.task.input, setup.source.input, *files], None, cancels=[preview], api_visibility="private")
    forms = [form.row for form in setup.options.values()]
    task_parts = [setup.about, *forms, *setup.tuning.values(), *preview_parts]
    setup.task.input(bind_owner(handlers.choose_task), setup.task, task_parts, **COMMON)
    source_parts = [setup.files, setup.hub, *preview_parts]
    setup.source.input(bind_owner(handlers.choose_source), setup.source, source_parts, **COMMON)
    gr.on(files, bind_owner(handlers.clear_preview), None, preview_parts, **COMMON)
    started = [*page.all_of_run, setup.key, setup.name]
    setup.start_button.click(bind_owner(handlers.start), setup.inputs, started, **COMMON)


def wire_runs(handlers: RunHandlers, page: PageComponents) -> None:
    run, chosen, everything = page.run, page.runs.chosen, page.all_of_run
    page.runs.entries.click(bind_owner(handlers.choose), None, everything, **COMMON)
    polled = [*page.polled, page.setup.checkpoint, page.offered]
    page.runs.timer.tick(bind_owner(handlers.poll), [chosen, run.overlay, page.offered], polled, **COMMON)
    run.overlay.input(bind_owner(handlers.overlay), [chosen, run.overlay], [page.message, *page.polled], **COMMON)
    run.new_name.submit(bind_owner(handlers.rename), [chosen, run.new_name], everything, **COMMON)
    for action, button in run.actions.items():
        button.click(bind_owner(handlers.act, action), chosen, everything, **COMMON)
    run.confusion_clicks.click(bind_owner(handlers.open_cell), chosen, [run.rows, page.message], **COMMON)
    row = {chosen, *run.texts}
    run.try_button.click(bind_owner(handlers.answer), row, [run.answer, page.message], **COMMON)
    one: dict[str, Any] = {**COMMON, "concurrency_limit": 1, "concurrency_id": "traced"}
    run.influence_button.click(bind_owner(handlers.influence), row, run.influence, **one)
    run.suspects_button.click(bind_owner(handlers.suspects), chosen, run.influence, **one)


def wire_export(handlers: RunHandlers, page: PageComponents) -> None:
    export, chosen = page.export, page.runs.chosen
    for kind, button in export.buttons.items():
        written = button.click(
            bind_owner(handlers.export, kind), [chosen, export.with_rows], [export.file, page.message], **COMMON
        )
        written.then(None, export.file, None, js=script("take.js"), api_visibility="private")
    target = [chosen, export.repository, export.token, export.with_rows]
    export.upload_button.click(bind_owner(handlers.upload), target, [page.message, export.token], **COMMON)
