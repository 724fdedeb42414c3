"""Every event of the training page and its handler."""

from typing import Any

import gradio as gr

from bertexplorer.ui.training.desk import Desk
from bertexplorer.ui.training.page import Bench
from bertexplorer.ui.training.starting import Starting
from bertexplorer.ui.training.watching import Watching

LIMIT = 8


def wire(desk: Desk, bench: Bench, blocks: gr.Blocks) -> None:
    """Bind the page to its desk."""
    watching = Watching(desk, bench)
    starting = Starting(desk, bench, watching)
    common: dict[str, Any] = {"concurrency_limit": LIMIT, "show_progress": "hidden", "api_visibility": "private"}
    forms = [form.row for form in bench.options.values()]
    columns = [*bench.columns, bench.beside]
    seen = [*bench.watched, bench.message, bench.chosen, bench.answer, bench.over, bench.name_now, bench.taken,
            bench.checkpoint]  # fmt: skip
    told = [bench.about, bench.looked, bench.message, *forms, *columns, *bench.tuning.components.values()]
    bench.task.input(starting.task, bench.task, told, **common)
    bench.source.input(starting.source, bench.source, [bench.files, bench.hub, bench.looked, *columns], **common)
    looks = [bench.check.click, *(column.input for column in columns)]
    gr.on(looks, starting.look, bench.wish, [bench.looked, bench.message, *columns], **common)
    bench.start.click(starting.start, [bench.key, *bench.wish], [*seen, bench.key], **common)
    blocks.load(starting.open, [bench.task, bench.chosen], [*seen, bench.key, *forms], **common)
    bench.runs.click(watching.choose, None, seen, **common)
    bench.timer.tick(watching.tick, [bench.chosen, bench.over], bench.watched, **common)
    bench.over.input(watching.lay, [bench.chosen, bench.over], bench.watched, **common)
    bench.name_now.submit(watching.rename, [bench.chosen, bench.name_now], seen, **common)
    bench.points.click(watching.cell, bench.chosen, [bench.rows, bench.message], **common)
    bench.ask.click(watching.ask, [bench.chosen, *bench.play], [bench.answer, bench.message], **common)
    for word, button in bench.buttons.items():
        button.click(watching.act(word), bench.chosen, seen, **common)
    for kind, button in bench.kinds.items():
        button.click(watching.take(kind), bench.chosen, [bench.taken, bench.message], **common)
    bench.push.click(watching.push, [bench.chosen, bench.place, bench.token], [bench.message, bench.token], **common)
