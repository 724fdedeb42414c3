"""Handlers of the runs on the training page: watch, try, compare and export one of them."""

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.figures import confusion, learning
from bertexplorer.store.runs import ACTIVE_STATES, Run
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.html import caption, message
from bertexplorer.ui.training import comparison, export, html, suite_run, taught
from bertexplorer.ui.training.page import PageComponents
from bertexplorer.ui.training.run_service import RunDetail, RunService

Updates = dict[Any, Any]


@dataclass(eq=False)
class RunHandlers:
    """One method per event."""

    service: RunService
    components: PageComponents
    owner: str = ""  # of the session that sends the event

    def of(self, owner: str) -> "RunHandlers":
        return replace(self, owner=owner)

    def choose(self, event: gr.EventData) -> Updates:
        """A run was clicked, or a deleted one should be restored."""
        id, back = str(event._data.get("run", "")), str(event._data.get("restore", ""))
        try:
            id = self.service.jobs.restore(back, self.owner).id if back else id
        except ExplorerError as error:
            return {self.components.message: message(str(error))}
        return self.chosen(id) | {self.components.message: ""}

    def chosen(self, id: str) -> Updates:
        """Show another run with its other seeds."""
        components = self.components
        run = next((run for run in self.service.runs(self.owner) if run.id == id), None)
        over = comparison.seeds(self.service, run, self.owner) if run else []
        out: Updates = {
            components.checkpoint: gr.update(choices=html.starts(self.service.library.for_owner(self.owner))),
            components.chosen: id,
            components.answer: "",
            components.taught: "",
            components.taken: gr.update(visible=False, value=None),
        }
        if run:
            choices = comparison.choices(self.service, run, self.owner) if run.task in BY_NAME else []
            out |= {components.over: gr.update(choices=choices, value=over, visible=bool(choices))}
            out |= {components.name_now: run.name}
        return out | self.shown(id, over)

    def tick(self, chosen: str, over: list[str] | None, offered: str) -> Updates:
        """The current state of the runs. A run that has saved a checkpoint is offered as a start."""
        library = self.service.library.for_owner(self.owner)
        more: Updates = {}
        if (now := json.dumps(library.trained())) != offered:
            more = {self.components.offered: now, self.components.checkpoint: gr.update(choices=html.starts(library))}
        return self.shown(chosen, over or [], whole=False) | more

    def lay(self, chosen: str, over: list[str] | None) -> Updates:
        """Draw other runs over the chosen one."""
        return self.shown(chosen, over or [])

    def act(self, word: str, chosen: str) -> Updates:
        """Stop, resume, repeat or delete the chosen run."""
        jobs, id = self.service.jobs, chosen
        try:
            if word in ("Resume", "Again"):
                self.service.quota.check(self.owner)
            if word == "Stop":
                self.service.supervisor.stop(chosen, self.owner)
            elif word == "Resume":
                jobs.resume(chosen, self.owner)
            elif word == "Again":
                id = jobs.retry(chosen, self.owner).id
            else:
                jobs.delete(chosen, self.owner)
                id = ""
        except ExplorerError as error:
            return {self.components.message: message(str(error))}
        return {self.components.message: "", **self.chosen(id)}

    def rename(self, chosen: str, name: str) -> Updates:
        try:
            run = self.service.jobs.run(chosen, self.owner)
            if run.name == name:
                return {self.components.message: ""}
            run = self.service.jobs.rename(chosen, self.owner, name, run.version)
        except ExplorerError as error:
            return {self.components.message: message(str(error))}
        return {self.components.message: "", **self.chosen(run.id)}

    def shown(self, chosen: str, over: Sequence[str] = (), *, whole: bool = True) -> Updates:
        """The current list of runs and the chosen one."""
        components = self.components
        runs = self.service.runs(self.owner)
        out: Updates = {components.runs: html.listed(runs, chosen, self.service.runs(self.owner, deleted=True))}
        live = any(run.state in (*ACTIVE_STATES, "queued") for run in runs)
        out[components.timer] = gr.update(active=live)
        if not any(run.id == chosen for run in runs):
            return out | {components.detail: gr.update(visible=False)}
        try:
            detail = self.service.detail(chosen, self.owner)
            others = [self.service.detail(run.id, self.owner) for run in runs if run.id in over][: comparison.MOST]
        except (ExplorerError, OSError):
            return out
        return out | {components.detail: gr.update(visible=True)} | self.details(detail, others, whole or not live)

    def details(self, detail: RunDetail, others: Sequence[RunDetail], whole: bool) -> Updates:
        components, run = self.components, detail.run
        task = BY_NAME.get(run.task)
        if task is None:
            return {components.headline: html.headline(detail), **self.possible(detail), **self.suite(run)}
        curves = [comparison.curve(one) for one in (detail, *others) if one.run.task == run.task]
        out: Updates = {
            components.headline: html.headline(detail),
            components.chart: gr.update(visible=drawable(curves), value=learning.draw(curves)),
            components.said: caption(learning.say(curves, higher=task.HIGHER), ""),
            components.compared: comparison.summary(self.service, detail, self.owner)
            + comparison.compared(self.service, detail, others),
            **self.possible(detail),
        }
        if not whole and run.state in ACTIVE_STATES:
            return out
        boxes = html.inputs(detail)
        for i, box in enumerate(components.play):
            visible = i < len(boxes) and detail.best is not None
            out[box] = gr.update(visible=visible, label=boxes[i].label if i < len(boxes) else "")
        matrix = (detail.about or {}).get("confusion")
        drawn = confusion.draw(matrix["labels"], matrix["counts"]) if matrix else None
        out |= {components.results: html.results(detail, task.METRICS)}
        out |= {components.confusion: gr.update(visible=drawn is not None, value=drawn)}
        return out | {components.rows: html.wrong(self.service.predictions(detail))}

    def suite(self, run: Run) -> Updates:
        """The result of a suite, instead of what a training shows."""
        components = self.components
        figure, said = suite_run.result(run.folder)
        link = f'<p><a class="open" href="api/v1/suites/{run.id}/cases">All cases as CSV</a></p>' if said else ""
        return {
            components.chart: gr.update(visible=figure is not None, value=figure),
            components.said: caption(said, "") if said else "",
            components.results: link,
            components.rows: f'<bx-run-cases run="{run.id}"></bx-run-cases>' if said else "",
            components.compared: "",
            **{part: gr.update(visible=False) for part in (*components.play, components.confusion)},
        }

    def possible(self, detail: RunDetail) -> Updates:
        """The buttons that apply to the state of a run."""
        run: Run = detail.run
        live = run.state in ("queued", "starting", "running")
        ended = run.state in ("stopped", "failed", "interrupted")
        shown = {"Stop": live, "Resume": ended, "Again": not live, "Delete": not live}
        out = {self.components.buttons[word]: gr.update(visible=there) for word, there in shown.items()}
        return (
            out
            | {
                part: gr.update(visible=detail.best is not None)
                for part in (self.components.ask, self.components.along)
            }
            | {
                part: gr.update(visible=detail.best is not None and not live and run.task in tasks)
                for part, tasks in ((self.components.why, taught.TASKS), (self.components.suspects, taught.HEADS))
            }
        )

    def cell(self, event: gr.EventData, chosen: str) -> Updates:
        """A cell of the confusion matrix was clicked: show its rows."""
        asked = event._data.get("set") or {}
        try:
            detail = self.service.detail(chosen, self.owner)
            labels = (detail.about or {})["confusion"]["labels"]
            gold, said = labels[int(asked["gold"])], labels[int(asked["predicted"])]
        except (ExplorerError, KeyError, TypeError, ValueError, IndexError, OSError):
            return {self.components.message: message("That cell is no longer there. Press the run again.")}
        found = [row for row in self.service.predictions(detail) if html.in_cell(row, gold, said)]
        return {self.components.rows: html.rows(found, f"“{gold}” taken for “{said}”: {len(found):,} rows")}

    def ask(self, chosen: str, *texts: str) -> Updates:
        """The playground."""
        try:
            detail = self.service.detail(chosen, self.owner)
            return {
                self.components.answer: html.answered(self.service.answer(detail, given(detail, texts))),
                self.components.message: "",
            }
        except (ExplorerError, KeyError) as error:
            return {self.components.message: message(str(error))}

    def explain(self, chosen: str, *texts: str) -> Iterator[Updates]:
        """The training rows behind the answer of the playground."""
        yield from self.traced(chosen, lambda detail: taught.explained(detail, given(detail, texts)))

    def suspect(self, chosen: str) -> Iterator[Updates]:
        """The training rows whose labels look wrong."""
        yield from self.traced(chosen, taught.suspected)

    def traced(self, chosen: str, work: Callable[[RunDetail], Generator[float, None, str]]) -> Iterator[Updates]:
        """*work*, with the share that is done. All of it is said below the button, which is far down the page."""
        steps, last = None, -1
        yield {self.components.taught: message("Reading the training rows…", error=False)}
        try:
            steps = work(self.service.detail(chosen, self.owner))
            while True:
                share = int(100 * next(steps))
                if share > last:
                    yield {self.components.taught: message(f"Reading the training rows: {share} %…", error=False)}
                last = share
        except StopIteration as done:
            yield {self.components.taught: done.value}
        except (ExplorerError, KeyError) as error:
            yield {self.components.taught: message(str(error))}
        finally:
            if steps is not None:
                steps.close()

    def take(self, kind: str, chosen: str, rows: bool) -> Iterator[Updates]:
        """The best checkpoint as a file; the previous file is removed first."""
        make = {"ZIP": export.zipped, "ONNX": export.onnx}[kind]
        busy = message(f"Making the {kind} file…", error=False)
        yield {self.components.message: busy, self.components.taken: gr.update(visible=False, value=None)}
        try:
            detail = self.service.detail(chosen, self.owner)
            file = make(detail, self.service.settings.uploads_dir, self.owner, rows=rows)
        except ExplorerError as error:
            yield {self.components.message: message(str(error))}
            return
        yield {self.components.message: "", self.components.taken: gr.update(visible=True, value=str(file))}

    def push(self, chosen: str, repository: str, token: str, rows: bool) -> Updates:
        """Upload it to the hub; the token is not kept."""
        try:
            address = export.pushed(self.service.detail(chosen, self.owner), repository, token, rows=rows)
        except ExplorerError as error:
            return {self.components.message: message(str(error))}
        return {
            self.components.message: message(f"It is at {address}, private.", error=False),
            self.components.token: "",
        }


def given(detail: RunDetail, texts: Sequence[str]) -> dict[str, str]:
    """The row in the boxes of the playground."""
    return {column.name: str(text or "") for column, text in zip(html.inputs(detail), texts, strict=False)}


def drawable(curves: Sequence[learning.Curve]) -> bool:
    """Whether there is a point to draw."""
    return any(curve.tried for curve in curves)
