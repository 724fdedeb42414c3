"""The events of the training page and their handlers."""

from typing import Any

import gradio as gr

from bertexplorer.ui.owner_binding import bind_owner
from bertexplorer.ui.training.page import PageComponents, script
from bertexplorer.ui.training.run_handlers import RunHandlers
from bertexplorer.ui.training.run_service import RunService
from bertexplorer.ui.training.setup_handlers import SetupHandlers

LIMIT = 8


def wire(service: RunService, components: PageComponents, blocks: gr.Blocks) -> None:
    """Bind the page to its service."""
    watching = RunHandlers(service, components)
    starting = SetupHandlers(service, components, watching)
    common: dict[str, Any] = {"concurrency_limit": LIMIT, "show_progress": "hidden", "api_visibility": "private"}
    forms = [form.row for form in components.options.values()]
    columns = [*components.columns, components.beside]
    seen = [
        *components.watched,
        components.message,
        components.chosen,
        components.answer,
        components.taught,
        components.over,
        components.name_now,
        components.taken,
        components.checkpoint,
    ]
    outputs = [
        components.about,
        components.looked,
        components.message,
        *forms,
        *columns,
        *components.tuning.components.values(),
    ]
    looks = [components.check.click, *(column.input for column in columns)]
    reported = [components.looked, components.message, *columns]
    look = gr.on(looks, bind_owner(starting.look), components.wish, reported, **common)
    others: dict[str, Any] = {**common, "cancels": [look]}
    components.task.input(bind_owner(starting.task), components.task, outputs, **others)
    components.source.input(
        bind_owner(starting.source), components.source, [components.files, components.hub, *reported], **others
    )
    for file in (components.file, components.dev):
        file.change(bind_owner(starting.other), None, reported, **others)
    components.start.click(
        bind_owner(starting.start),
        [components.key, *components.wish],
        [*seen, components.key, components.name],
        **common,
    )
    blocks.load(
        bind_owner(starting.open), [components.task, components.chosen], [*seen, components.key, *forms], **common
    )
    components.runs.click(bind_owner(watching.choose), None, seen, **common)
    components.timer.tick(bind_owner(watching.tick), [components.chosen, components.over, components.offered],
                     [*components.watched, components.checkpoint, components.offered], **common)  # fmt: skip
    components.over.input(bind_owner(watching.lay), [components.chosen, components.over], components.watched, **common)
    components.name_now.submit(bind_owner(watching.rename), [components.chosen, components.name_now], seen, **common)
    components.points.click(
        bind_owner(watching.cell), components.chosen, [components.rows, components.message], **common
    )
    components.ask.click(
        bind_owner(watching.ask),
        [components.chosen, *components.play],
        [components.answer, components.message],
        **common,
    )
    traced: dict[str, Any] = {**common, "concurrency_limit": 1, "concurrency_id": "traced"}
    components.why.click(
        bind_owner(watching.explain), [components.chosen, *components.play], components.taught, **traced
    )
    components.suspects.click(bind_owner(watching.suspect), components.chosen, components.taught, **traced)
    for word, button in components.buttons.items():
        button.click(bind_owner(watching.act, word), components.chosen, seen, **common)
    for kind, button in components.kinds.items():
        made = button.click(
            bind_owner(watching.take, kind),
            [components.chosen, components.with_rows],
            [components.taken, components.message],
            **common,
        )
        made.then(None, components.taken, None, js=script("take.js"), api_visibility="private")
    pushed = [components.chosen, components.place, components.token, components.with_rows]
    components.push.click(bind_owner(watching.push), pushed, [components.message, components.token], **common)
