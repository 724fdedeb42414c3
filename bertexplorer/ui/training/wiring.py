"""Every event of the training page and its handler."""

from typing import Any

import gradio as gr

from bertexplorer.ui.personal import personal
from bertexplorer.ui.training.desk import Desk
from bertexplorer.ui.training.page import Bench, script
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
    looks = [bench.check.click, *(column.input for column in columns)]
    reported = [bench.looked, bench.message, *columns]
    look = gr.on(looks, personal(starting.look), bench.wish, reported, **common)
    others: dict[str, Any] = {**common, "cancels": [look]}
    bench.task.input(personal(starting.task), bench.task, told, **others)
    bench.source.input(personal(starting.source), bench.source, [bench.files, bench.hub, *reported], **others)
    for file in (bench.file, bench.dev):
        file.change(personal(starting.other), None, reported, **others)
    bench.start.click(personal(starting.start), [bench.key, *bench.wish], [*seen, bench.key, bench.name], **common)
    blocks.load(personal(starting.open), [bench.task, bench.chosen], [*seen, bench.key, *forms], **common)
    bench.runs.click(personal(watching.choose), None, seen, **common)
    bench.timer.tick(personal(watching.tick), [bench.chosen, bench.over, bench.offered],
                     [*bench.watched, bench.checkpoint, bench.offered], **common)  # fmt: skip
    bench.over.input(personal(watching.lay), [bench.chosen, bench.over], bench.watched, **common)
    bench.name_now.submit(personal(watching.rename), [bench.chosen, bench.name_now], seen, **common)
    bench.points.click(personal(watching.cell), bench.chosen, [bench.rows, bench.message], **common)
    bench.ask.click(personal(watching.ask), [bench.chosen, *bench.play], [bench.answer, bench.message], **common)
    for word, button in bench.buttons.items():
        button.click(personal(watching.act, word), bench.chosen, seen, **common)
    for kind, button in bench.kinds.items():
        made = button.click(
            personal(watching.take, kind), [bench.chosen, bench.with_rows], [bench.taken, bench.message], **common
        )
        made.then(None, bench.taken, None, js=script("take.js"), api_visibility="private")
    pushed = [bench.chosen, bench.place, bench.token, bench.with_rows]
    bench.push.click(personal(watching.push), pushed, [bench.message, bench.token], **common)
