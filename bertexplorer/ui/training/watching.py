"""Handlers of the training page once there are runs: one of them watched, tried, compared, taken along."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.figures import confusion, learning
from bertexplorer.store.runs import ACTIVE, Run
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.pieces import caption, message
from bertexplorer.ui.training import beside, export, pieces
from bertexplorer.ui.training.desk import Desk, Detail
from bertexplorer.ui.training.page import Bench

GONE = "That run is no longer there. Choose one from the list."
Updates = dict[Any, Any]


@dataclass(eq=False)
class Watching:
    """One method an event."""

    desk: Desk
    bench: Bench
    owner: str = ""  # who asks

    def of(self, owner: str) -> "Watching":
        return replace(self, owner=owner)

    def choose(self, event: gr.EventData) -> Updates:
        """A run was pressed, or a deleted one is to come back."""
        id, back = str(event._data.get("run", "")), str(event._data.get("restore", ""))
        try:
            id = self.desk.jobs.restore(back, self.owner).id if back else id
        except ExplorerError as error:
            return {self.bench.message: message(str(error))}
        return self.chosen(id) | {self.bench.message: ""}

    def chosen(self, id: str) -> Updates:
        """Another run on the page, its other seeds over it."""
        bench = self.bench
        run = next((run for run in self.desk.runs(self.owner) if run.id == id), None)
        over = beside.seeds(self.desk, run, self.owner) if run else []
        out: Updates = {
            bench.checkpoint: gr.update(choices=pieces.starts(self.desk.library.of(self.owner))),
            bench.chosen: id,
            bench.answer: "",
            bench.taken: gr.update(visible=False, value=None),
        }
        if run:
            choices = beside.choices(self.desk, run, self.owner)
            out |= {bench.over: gr.update(choices=choices, value=over, visible=bool(choices))}
            out |= {bench.name_now: run.name}
        return out | self.shown(id, over)

    def tick(self, chosen: str, over: list[str] | None, offered: str) -> Updates:
        """The runs as they stand now; one that has kept a checkpoint meanwhile can be started from."""
        library = self.desk.library.of(self.owner)
        more: Updates = {}
        if (now := json.dumps(library.trained())) != offered:
            more = {self.bench.offered: now, self.bench.checkpoint: gr.update(choices=pieces.starts(library))}
        return self.shown(chosen, over or [], whole=False) | more

    def lay(self, chosen: str, over: list[str] | None) -> Updates:
        """Other runs over the chosen one."""
        return self.shown(chosen, over or [])

    def act(self, word: str, chosen: str) -> Updates:
        """Stop, Resume, Again or Delete the chosen run."""
        jobs, id = self.desk.jobs, chosen
        try:
            if word in ("Resume", "Again"):
                self.desk.quota.room(self.owner)
            if word == "Stop":
                self.desk.supervisor.stop(chosen, self.owner)
            elif word == "Resume":
                jobs.resume(chosen, self.owner)
            elif word == "Again":
                id = jobs.retry(chosen, self.owner).id
            else:
                jobs.delete(chosen, self.owner)
                id = ""
        except ExplorerError as error:
            return {self.bench.message: message(str(error))}
        return {self.bench.message: "", **self.chosen(id)}

    def rename(self, chosen: str, name: str) -> Updates:
        try:
            run = self.desk.jobs.run(chosen, self.owner)
            if run.name == name:
                return {self.bench.message: ""}
            run = self.desk.jobs.rename(chosen, self.owner, name, run.version)
        except ExplorerError as error:
            return {self.bench.message: message(str(error))}
        return {self.bench.message: "", **self.chosen(run.id)}

    def shown(self, chosen: str, over: Sequence[str] = (), *, whole: bool = True) -> Updates:
        """The list of runs and the chosen one as they stand now."""
        bench = self.bench
        runs = self.desk.runs(self.owner)
        out: Updates = {bench.runs: pieces.listed(runs, chosen, self.desk.runs(self.owner, deleted=True))}
        live = any(run.state in (*ACTIVE, "queued") for run in runs)
        out[bench.timer] = gr.update(active=live)
        if not any(run.id == chosen for run in runs):
            return out | {bench.detail: gr.update(visible=False)}
        try:
            detail = self.desk.detail(chosen, self.owner)
            others = [self.desk.detail(run.id, self.owner) for run in runs if run.id in over][: beside.MOST]
        except (ExplorerError, OSError):
            return out
        return out | {bench.detail: gr.update(visible=True)} | self.details(detail, others, whole or not live)

    def details(self, detail: Detail, others: Sequence[Detail], whole: bool) -> Updates:
        bench, run = self.bench, detail.run
        task = BY_NAME.get(run.task)
        if task is None:
            return {bench.headline: pieces.headline(detail)}
        curves = [beside.curve(one) for one in (detail, *others) if one.run.task == run.task]
        out: Updates = {
            bench.headline: pieces.headline(detail),
            bench.chart: gr.update(visible=drawable(curves), value=learning.draw(curves)),
            bench.said: caption(learning.say(curves, higher=task.HIGHER), ""),
            bench.compared: beside.told(self.desk, detail, self.owner) + beside.compared(self.desk, detail, others),
            **self.possible(detail),
        }
        if not whole and run.state in ACTIVE:
            return out
        boxes = pieces.inputs(detail)
        for i, box in enumerate(bench.play):
            visible = i < len(boxes) and detail.best is not None
            out[box] = gr.update(visible=visible, label=boxes[i].label if i < len(boxes) else "")
        matrix = (detail.about or {}).get("confusion")
        drawn = confusion.draw(matrix["labels"], matrix["counts"]) if matrix else None
        out |= {bench.results: pieces.results(detail, task.METRICS)}
        out |= {bench.confusion: gr.update(visible=drawn is not None, value=drawn)}
        return out | {bench.rows: pieces.wrong(self.desk.predictions(detail))}

    def possible(self, detail: Detail) -> Updates:
        """What makes sense for a run as it stands."""
        run: Run = detail.run
        live = run.state in ("queued", "starting", "running")
        ended = run.state in ("stopped", "failed", "interrupted")
        shown = {"Stop": live, "Resume": ended, "Again": not live, "Delete": not live}
        out = {self.bench.buttons[word]: gr.update(visible=there) for word, there in shown.items()}
        return out | {part: gr.update(visible=detail.best is not None) for part in (self.bench.ask, self.bench.along)}

    def cell(self, event: gr.EventData, chosen: str) -> Updates:
        """A cell of the confusion was pressed: its rows."""
        asked = event._data.get("set") or {}
        try:
            detail = self.desk.detail(chosen, self.owner)
            labels = (detail.about or {})["confusion"]["labels"]
            gold, said = labels[int(asked["gold"])], labels[int(asked["predicted"])]
        except (ExplorerError, KeyError, TypeError, ValueError, IndexError, OSError):
            return {self.bench.message: message("That cell is no longer there. Press the run again.")}
        found = [row for row in self.desk.predictions(detail) if pieces.in_cell(row, gold, said)]
        return {self.bench.rows: pieces.rows(found, f"“{gold}” taken for “{said}”: {len(found):,} rows")}

    def ask(self, chosen: str, *texts: str) -> Updates:
        """The playground."""
        try:
            detail = self.desk.detail(chosen, self.owner)
            given = {c.name: str(t or "") for c, t in zip(pieces.inputs(detail), texts, strict=False)}
            return {self.bench.answer: pieces.answered(self.desk.answer(detail, given)), self.bench.message: ""}
        except (ExplorerError, KeyError) as error:
            return {self.bench.message: message(str(error))}

    def take(self, kind: str, chosen: str, rows: bool) -> Iterator[Updates]:
        """The best checkpoint as a file; the one made before goes first."""
        make = {"ZIP": export.zipped, "ONNX": export.onnx}[kind]
        busy = message(f"Making the {kind} file…", error=False)
        yield {self.bench.message: busy, self.bench.taken: gr.update(visible=False, value=None)}
        try:
            detail = self.desk.detail(chosen, self.owner)
            file = make(detail, self.desk.settings.uploads_dir, self.owner, rows=rows)
        except ExplorerError as error:
            yield {self.bench.message: message(str(error))}
            return
        yield {self.bench.message: "", self.bench.taken: gr.update(visible=True, value=str(file))}

    def push(self, chosen: str, repository: str, token: str, rows: bool) -> Updates:
        """Upload it to the hub; the token is not kept."""
        try:
            address = export.pushed(self.desk.detail(chosen, self.owner), repository, token, rows=rows)
        except ExplorerError as error:
            return {self.bench.message: message(str(error))}
        return {self.bench.message: message(f"It is at {address}, private.", error=False), self.bench.token: ""}


def drawable(curves: Sequence[learning.Curve]) -> bool:
    """Whether there is a point yet."""
    return any(curve.tried for curve in curves)
