"""Handlers of the runs on the training page: watch, try, compare and export one of them."""

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from gradio.components import Component

from bertexplorer.errors import ExplorerError
from bertexplorer.figures import confusion, learning
from bertexplorer.runs import export
from bertexplorer.runs import suite as suite_run
from bertexplorer.runs.service import RunDetail, RunService
from bertexplorer.store.runs import ACTIVE_STATES, RESUMABLE_STATES, Run
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.web.html import caption, message
from bertexplorer.web.training import comparison, html, influence, run_list
from bertexplorer.web.training.page import PageComponents

Updates = dict[Any, Any]  # component -> its new value or properties


@dataclass(frozen=True, eq=False)
class RunHandlers:
    """One method per event. `bind_owner` shows an ExplorerError that one raises."""

    service: RunService
    page: PageComponents
    owner: str = ""  # of the session that sends the event

    def for_owner(self, owner: str) -> "RunHandlers":
        return replace(self, owner=owner)

    def error(self, error: Exception | str) -> Updates:
        return {self.page.message: message(str(error))}

    def choose(self, event: gr.EventData) -> Updates:
        """A run was clicked, or a deleted one is to be restored."""
        id, deleted = run_list.pressed(event)
        if deleted:
            id = self.service.jobs.restore(deleted, self.owner).id
        return self.show(id) | {self.page.message: ""}

    def show(self, id: str) -> Updates:
        """Show another run with its other seeds."""
        page, run = self.page, next((run for run in self.service.runs(self.owner) if run.id == id), None)
        seeds = comparison.seeds(self.service, run, self.owner) if run else []
        updates: Updates = {
            page.setup.checkpoint: gr.update(choices=html.start_choices(self.service.registry.for_owner(self.owner))),
            page.runs.chosen: id,
            page.run.answer: "",
            page.run.influence: "",
            page.export.file: gr.update(visible=False, value=None),
        }
        if run:
            choices = comparison.choices(self.service, run, self.owner) if run.task in BY_NAME else []
            updates[page.run.overlay] = gr.update(choices=choices, value=seeds, visible=bool(choices))
            updates[page.run.new_name] = run.name
        return updates | self.current(id, seeds)

    def poll(self, chosen: str, overlay: list[str] | None, offered: str) -> Updates:
        """The current state of the runs. “Start from” lists each run that has saved a checkpoint."""
        page, registry = self.page, self.service.registry.for_owner(self.owner)
        updates: Updates = {}
        try:
            if (trained := json.dumps(registry.trained())) != offered:
                starts = gr.update(choices=html.start_choices(registry))
                updates = {page.offered: trained, page.setup.checkpoint: starts}
            return self.current(chosen, overlay or [], polling=True) | updates
        except ExplorerError as error:
            return page.runs.error(error)

    def overlay(self, chosen: str, overlay: list[str] | None) -> Updates:
        """Draw other runs over the chosen one."""
        return self.current(chosen, overlay or [])

    def act(self, action: str, chosen: str) -> Updates:
        """Stop, resume, repeat or delete the chosen run."""
        jobs, id = self.service.jobs, chosen
        if action in ("Resume", "Run again"):
            self.service.quota.check(self.owner)
        if action == "Stop":
            self.service.supervisor.stop(chosen, self.owner)
        elif action == "Resume":
            jobs.resume(chosen, self.owner)
        elif action == "Run again":
            id = jobs.retry(chosen, self.owner).id
        else:
            jobs.delete(chosen, self.owner)
            id = ""
        return {self.page.message: "", **self.show(id)}

    def rename(self, chosen: str, name: str) -> Updates:
        run = self.service.jobs.run(chosen, self.owner)
        if run.name == name:
            return {self.page.message: ""}
        run = self.service.jobs.rename(chosen, self.owner, name, run.version)
        return {self.page.message: "", **self.show(run.id)}

    def current(self, chosen: str, overlay: Sequence[str] = (), *, polling: bool = False) -> Updates:
        """The current list of runs and the chosen one. *polling*: leave alone what changes only at the end of a run."""
        page, runs = self.page, self.service.runs(self.owner)
        updates: Updates = page.runs.updates(runs, chosen, self.service.runs(self.owner, deleted=True))
        if not any(run.id == chosen for run in runs):
            return updates | {page.detail: gr.update(visible=False)}
        try:
            detail = self.service.detail(chosen, self.owner)
            others = [self.service.detail(run.id, self.owner) for run in runs if run.id in overlay]
        except (ExplorerError, OSError):
            return updates
        details = self.details(detail, others[: comparison.MAX_RUNS], polling)
        return updates | {page.detail: gr.update(visible=True)} | details

    def details(self, detail: RunDetail, others: Sequence[RunDetail], polling: bool) -> Updates:
        page, run, task = self.page.run, detail.run, BY_NAME.get(detail.run.task)
        updates: Updates = {page.headline: html.headline(detail), **self.buttons(detail)}
        if task is None:
            return updates | self.suite(run)
        curves = [comparison.curve(other) for other in (detail, *others) if other.run.task == run.task]
        drawable = any(curve.evaluations for curve in curves)
        updates |= {
            page.chart: gr.update(visible=drawable, value=learning.draw(curves).plotly),
            page.caption: caption(learning.say(curves, higher=task.HIGHER), ""),
            page.comparison: comparison.summary(self.service, detail, self.owner)
            + comparison.side_by_side(self.service, detail, others),
        }
        if polling and run.state in ACTIVE_STATES:
            return updates
        columns = html.text_columns(detail)
        for i, box in enumerate(page.texts):
            label = columns[i].label if i < len(columns) else ""
            updates[box] = gr.update(visible=bool(label) and detail.best is not None, label=label)
        counts = (detail.about or {}).get("confusion")
        matrix = confusion.draw(counts["labels"], counts["counts"]).plotly if counts else None
        return updates | {
            page.results: html.results(detail, task.METRICS),
            page.confusion: gr.update(visible=matrix is not None, value=matrix),
            page.rows: html.wrong_answers(self.service.predictions(detail)),
        }

    def suite(self, run: Run) -> Updates:
        """The result of a suite, in place of the details of a training run."""
        page = self.page.run
        figure, summary = suite_run.result(run.folder)
        files = {"cases": "All cases as CSV", "summary": "The score as CSV"}
        links = (
            f'<a class="open" href="api/v1/suites/{run.id}/{name}">{title}</a>'
            for name, title in files.items()
            if (run.folder / "suite" / f"{name}.csv").is_file()
        )
        return {
            page.chart: gr.update(visible=figure is not None, value=figure and figure.plotly),
            page.caption: caption(summary, "") if summary else "",
            page.results: f"<p>{' '.join(links)}</p>" if summary else "",
            page.rows: f'<bx-run-cases run="{run.id}"></bx-run-cases>' if summary else "",
            page.comparison: "",
            **{part: gr.update(visible=False) for part in (*page.texts, page.confusion)},
        }

    def buttons(self, detail: RunDetail) -> Updates:
        """Show the buttons that apply to the state of a run."""
        page, run, saved = self.page.run, detail.run, detail.best is not None
        live = run.state in ("queued", "starting", "running")
        ended = run.state in RESUMABLE_STATES
        visible = {"Stop": live, "Resume": ended, "Run again": not live, "Delete": not live}
        shown: dict[Any, bool] = {page.actions[action]: value for action, value in visible.items()}
        shown |= {page.try_button: saved, self.page.export.panel: saved}
        shown[page.influence_button] = saved and not live and run.task in influence.TASKS
        shown[page.suspects_button] = saved and not live and run.task in influence.LABELLED_TASKS
        return {component: gr.update(visible=value) for component, value in shown.items()}

    def open_cell(self, event: gr.EventData, chosen: str) -> Updates:
        """A cell of the confusion matrix was clicked: show its rows."""
        cell = event._data.get("set") or {}
        try:
            detail = self.service.detail(chosen, self.owner)
            labels = (detail.about or {})["confusion"]["labels"]
            gold, predicted = labels[int(cell["gold"])], labels[int(cell["predicted"])]
        except (ExplorerError, KeyError, TypeError, ValueError, IndexError, OSError):
            return self.error("That cell no longer exists. Click the run again.")
        rows = [row for row in self.service.predictions(detail) if html.in_cell(row, gold, predicted)]
        return {self.page.run.rows: html.rows(rows, f"“{gold}” taken for “{predicted}”: {len(rows):,} rows")}

    def row(self, detail: RunDetail, values: Mapping[Component, Any]) -> dict[str, str]:
        """The row in the boxes of the playground: column -> text."""
        boxes = zip(html.text_columns(detail), self.page.run.texts, strict=False)
        return {column.name: str(values[box] or "") for column, box in boxes}

    def answer(self, values: Mapping[Component, Any]) -> Updates:
        """The answer to the row in the playground."""
        try:
            detail = self.service.detail(values[self.page.runs.chosen], self.owner)
            answer = self.service.answer(detail, self.row(detail, values))
        except (ExplorerError, KeyError) as error:
            return self.error(error)
        return {self.page.run.answer: html.answer(answer), self.page.message: ""}

    def influence(self, values: Mapping[Component, Any]) -> Iterator[Updates]:
        """The training rows behind the answer to the row in the playground."""
        chosen = values[self.page.runs.chosen]
        yield from self.trace(chosen, lambda detail: influence.explain(detail, self.row(detail, values)))

    def suspects(self, chosen: str) -> Iterator[Updates]:
        """The training rows whose labels look wrong."""
        yield from self.trace(chosen, influence.suspects)

    def trace(self, chosen: str, work: Callable[[RunDetail], Generator[float, None, str]]) -> Iterator[Updates]:
        """Do *work* and report its progress below the button, because the page's message may be out of sight."""
        output, steps, last = self.page.run.influence, None, -1
        yield {output: message("Reading the training rows…", error=False)}
        try:
            steps = work(self.service.detail(chosen, self.owner))
            while True:
                share = int(100 * next(steps))
                if share > last:
                    yield {output: message(f"Reading the training rows: {share} %…", error=False)}
                last = share
        except StopIteration as done:
            yield {output: done.value}
        except (ExplorerError, KeyError) as error:
            yield {output: message(str(error))}
        finally:
            if steps is not None:
                steps.close()

    def export(self, kind: str, chosen: str, with_rows: bool) -> Iterator[Updates]:
        """The best checkpoint as a file; the previous file is removed first."""
        file = self.page.export.file
        busy = message(f"Making the {kind} file…", error=False)
        yield {self.page.message: busy, file: gr.update(visible=False, value=None)}
        write = {"ZIP": export.write_zip, "ONNX": export.write_onnx}[kind]
        detail = self.service.detail(chosen, self.owner)
        path = write(detail, self.service.settings.uploads_dir, self.owner, with_rows=with_rows)
        yield {self.page.message: "", file: gr.update(visible=True, value=str(path))}

    def upload(self, chosen: str, repository: str, token: str, with_rows: bool) -> Updates:
        """Upload the best checkpoint to the hub, and forget the token."""
        detail = self.service.detail(chosen, self.owner)
        address = export.upload(detail, repository, token, with_rows=with_rows)
        return {
            self.page.message: message(f"Uploaded to {address}. It is private.", error=False),
            self.page.export.token: "",
        }
