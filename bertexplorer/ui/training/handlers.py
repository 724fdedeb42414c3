"""Handlers of the training page: rows looked at, runs started, watched and tried."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.figures import confusion, learning
from bertexplorer.knobs import settings
from bertexplorer.store.runs import ACTIVE, Run
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.pieces import caption, message
from bertexplorer.ui.training import pieces
from bertexplorer.ui.training.desk import Desk, Detail, Wish
from bertexplorer.ui.training.page import Bench

OWNER = ""  # everyone is one person until there are owners
LIMIT = 8
Updates = dict[Any, Any]


@dataclass(eq=False)
class Handlers:
    """One method an event."""

    desk: Desk
    bench: Bench

    def wish(self, values: tuple[Any, ...]) -> Wish:
        """What the components say."""
        task, checkpoint, source, file, dev, name, skip, *rest = values
        if task not in BY_NAME:
            raise ExplorerError("No task is chosen. Pick one.")
        bench, own = self.bench, source == "my file"
        if own and not file:
            raise ExplorerError("No file is there yet. Upload the rows to learn from, or use the built-in ones.")
        columns, chosen = rest[: len(bench.columns)], rest[len(bench.columns) :]
        mapping = {c.name: str(v or "") for c, v in zip(BY_NAME[task].COLUMNS, columns, strict=False)} if own else {}
        forms = [("", bench.tuning), *bench.options.items()]
        names = [(of, setting) for of, form in forms for setting in form.components]
        held = {setting: v for (of, setting), v in zip(names, chosen, strict=True) if of in ("", task)}
        return Wish(
            task,
            str(checkpoint or ""),
            file or "" if own else "",
            dev or "" if own else "",
            str(name or ""),
            mapping,
            held,
            bool(skip),
        )

    def task(self, task: str) -> Updates:
        """Another task: its words, its settings, its columns."""
        bench = self.bench
        shown: Updates = {
            bench.about: f'<p class="note">{BY_NAME[task].ABOUT}</p>',
            bench.looked: "",
            bench.message: "",
        }
        shown |= {form.row: gr.update(visible=name == task or "hidden") for name, form in bench.options.items()}
        defaults = {setting.name: setting.default for setting in settings(Tuning)} | BY_NAME[task].DEFAULTS
        shown |= {component: defaults[name] for name, component in bench.tuning.components.items()}
        return shown | {column: gr.update(visible=False, value=None, choices=[]) for column in bench.columns}

    def source(self, source: str) -> Updates:
        bench = self.bench
        return {bench.files: gr.update(visible=source == "my file"), bench.looked: ""} | {
            column: gr.update(visible=False, value=None, choices=[]) for column in bench.columns
        }

    def look(self, *values: Any) -> Iterator[Updates]:
        """The rows as they are understood; then three steps, timed."""
        bench = self.bench
        try:
            wish = self.wish(values)
            looked = self.desk.look(wish)
            yield {bench.looked: pieces.looked(looked), bench.message: "", **self.columns(wish, looked)}
            if looked.found.stops or (looked.found.problems and not wish.skip):
                return
            yield {bench.message: message("Three steps are timed…", error=False)}
            yield {bench.looked: pieces.looked(self.desk.timed(looked)), bench.message: ""}
        except ExplorerError as error:
            yield {bench.message: message(str(error))}

    def columns(self, wish: Wish, looked: Any) -> Updates:
        """Which column of the file is which, to be chosen."""
        if not wish.file:
            return {}
        wanted = BY_NAME[wish.task].COLUMNS
        out: Updates = {}
        for i, box in enumerate(self.bench.columns):
            if i < len(wanted):
                label = wanted[i].label + (" (may be left out)" if wanted[i].optional else "")
                value = looked.found.mapping.get(wanted[i].name)
                choices = [("", ""), *looked.table.columns]
                out[box] = gr.update(visible=True, label=f"Column: {label}", choices=choices, value=value)
            else:
                out[box] = gr.update(visible=False)
        return out

    def start(self, key: str, *values: Any) -> Updates:
        bench = self.bench
        try:
            run = self.desk.start(self.wish(values), OWNER, key=key)
        except ExplorerError as error:
            return {bench.message: message(str(error))}
        return {bench.message: "", bench.chosen: run.id, bench.key: secrets.token_hex(8), **self.shown(run.id)}

    def open(self, task: str, chosen: str) -> Updates:
        """The page as it is met."""
        rows = {form.row: gr.update(visible=name == task or "hidden") for name, form in self.bench.options.items()}
        return {**rows, self.bench.key: secrets.token_hex(8), **self.shown(chosen)}

    def choose(self, event: gr.EventData) -> Updates:
        id = str(event._data.get("run", ""))
        return {self.bench.chosen: id, self.bench.answer: "", **self.shown(id)}

    def tick(self, chosen: str) -> Updates:
        return self.shown(chosen, whole=False)

    def act(self, word: str) -> Callable[[str], Updates]:
        """Stop, Resume, Again or Delete the chosen run."""

        def done(chosen: str) -> Updates:
            jobs, id = self.desk.jobs, chosen
            try:
                if word == "Stop":
                    self.desk.trainer.stop(chosen, OWNER)
                elif word == "Resume":
                    jobs.resume(chosen, OWNER)
                elif word == "Again":
                    id = jobs.retry(chosen, OWNER).id
                else:
                    jobs.delete(chosen, OWNER)
                    id = ""
            except ExplorerError as error:
                return {self.bench.message: message(str(error))}
            return {self.bench.message: "", self.bench.chosen: id, **self.shown(id)}

        return done

    def shown(self, chosen: str, *, whole: bool = True) -> Updates:
        """The list of runs and the chosen one as they stand now."""
        bench = self.bench
        runs = self.desk.jobs.runs(OWNER)
        out: Updates = {bench.runs: pieces.listed(runs, chosen)}
        live = any(run.state in (*ACTIVE, "queued") for run in runs)
        out[bench.timer] = gr.update(active=live)
        if not any(run.id == chosen for run in runs):
            return out | {bench.detail: gr.update(visible=False)}
        try:
            detail = self.desk.detail(chosen, OWNER)
        except (ExplorerError, OSError):
            return out
        return out | {bench.detail: gr.update(visible=True)} | self.details(detail, whole or not live)

    def details(self, detail: Detail, whole: bool) -> Updates:
        bench, run = self.bench, detail.run
        task = BY_NAME.get(run.task)
        if task is None:
            return {bench.headline: pieces.headline(detail)}
        curve = learning.Curve(run.name, task.METRIC, task.METRICS[task.METRIC], detail.events)
        out: Updates = {
            bench.headline: pieces.headline(detail),
            bench.chart: learning.draw([curve]),
            bench.said: caption(learning.say([curve], higher=task.HIGHER), ""),
            **self.possible(run),
        }
        if not whole and run.state in ACTIVE:
            return out
        boxes = pieces.inputs(task.COLUMNS)
        for i, box in enumerate(bench.play):
            visible = i < len(boxes) and detail.best is not None
            out[box] = gr.update(visible=visible, label=boxes[i].label if i < len(boxes) else "")
        matrix = (detail.about or {}).get("confusion")
        drawn = confusion.draw(matrix["labels"], matrix["counts"]) if matrix else None
        out |= {bench.results: pieces.results(detail, task.METRICS)}
        out |= {bench.confusion: gr.update(visible=drawn is not None, value=drawn)}
        return out | {bench.rows: pieces.rows(self.desk.predictions(detail), "The rows that were most wrong")}

    def possible(self, run: Run) -> Updates:
        """The buttons that make sense for a run as it stands."""
        live = run.state in ("queued", "starting", "running")
        ended = run.state in ("stopped", "failed", "interrupted")
        shown = {"Stop": live, "Resume": ended, "Again": not live, "Delete": not live}
        return {self.bench.buttons[word]: gr.update(visible=there) for word, there in shown.items()}

    def cell(self, event: gr.EventData, chosen: str) -> Updates:
        """A cell of the confusion was pressed: its rows."""
        asked = event._data.get("set") or {}
        try:
            detail = self.desk.detail(chosen, OWNER)
            labels = (detail.about or {})["confusion"]["labels"]
            gold, said = labels[int(asked["gold"])], labels[int(asked["predicted"])]
        except (ExplorerError, KeyError, TypeError, ValueError, IndexError, OSError):
            return {self.bench.message: message("That cell is no longer there. Press the run again.")}
        found = [row for row in self.desk.predictions(detail) if (row["gold"], row["predicted"]) == (gold, said)]
        return {self.bench.rows: pieces.rows(found, f"“{gold}” taken for “{said}”: {len(found):,} rows")}

    def ask(self, chosen: str, *texts: str) -> Updates:
        """The playground."""
        try:
            detail = self.desk.detail(chosen, OWNER)
            task = BY_NAME[detail.run.task]
            given = {c.name: str(t or "") for c, t in zip(pieces.inputs(task.COLUMNS), texts, strict=False)}
            return {self.bench.answer: pieces.answered(self.desk.answer(detail, given)), self.bench.message: ""}
        except (ExplorerError, KeyError) as error:
            return {self.bench.message: message(str(error))}


def wire(page: Handlers, blocks: gr.Blocks) -> None:
    """Every event and its handler."""
    bench = page.bench
    common: dict[str, Any] = {"concurrency_limit": LIMIT, "show_progress": "hidden", "api_visibility": "private"}
    forms = [form.row for form in bench.options.values()]
    seen = [*bench.watched, bench.message, bench.chosen, bench.answer]
    told = [bench.about, bench.looked, bench.message, *forms, *bench.columns, *bench.tuning.components.values()]
    bench.task.input(page.task, bench.task, told, **common)
    bench.source.input(page.source, bench.source, [bench.files, bench.looked, *bench.columns], **common)
    bench.check.click(page.look, bench.wish, [bench.looked, bench.message, *bench.columns], **common)
    bench.start.click(page.start, [bench.key, *bench.wish], [*seen, bench.key], **common)
    bench.runs.click(page.choose, None, seen, **common)
    bench.timer.tick(page.tick, bench.chosen, bench.watched, **common)
    bench.points.click(page.cell, bench.chosen, [bench.rows, bench.message], **common)
    bench.ask.click(page.ask, [bench.chosen, *bench.play], [bench.answer, bench.message], **common)
    for word, button in bench.buttons.items():
        button.click(page.act(word), bench.chosen, seen, **common)
    blocks.load(page.open, [bench.task, bench.chosen], [*bench.watched, bench.key, *forms], **common)
