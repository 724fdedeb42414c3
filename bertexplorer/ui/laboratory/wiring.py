"""Every event of the laboratory, and what happens then."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.figures import pretraining
from bertexplorer.figures.pretraining import Curve
from bertexplorer.training.pretraining.experiments import BY_NAME
from bertexplorer.ui.laboratory import pieces
from bertexplorer.ui.laboratory.desk import Desk
from bertexplorer.ui.laboratory.page import OWN, Bench
from bertexplorer.ui.personal import personal
from bertexplorer.ui.pieces import caption, message
from bertexplorer.ui.training.pieces import gone

LIMIT = 8
NOTE = (
    "Runs of minutes on a small text say little about BERT at its size. What can be seen here is how such a comparison "
    "is made; run it again on a text of your own, and longer, before you believe it."
)
Updates = dict[Any, Any]


@dataclass(eq=False)
class Handlers:
    """One method an event."""

    desk: Desk
    bench: Bench
    owner: str = ""  # who asks

    def of(self, owner: str) -> "Handlers":
        return replace(self, owner=owner)

    def choose(self, name: str) -> Updates:
        """Another experiment: what it asks, what was published, how long it takes."""
        experiment = BY_NAME[name]
        return {self.bench.about: pieces.about(experiment), self.bench.minutes: experiment.minutes}

    def source(self, source: str) -> Updates:
        return {self.bench.file: gr.update(visible=source == OWN)}

    def start(self, name: str, minutes: float, source: str, file: str | None) -> Iterator[Updates]:
        """Queue its runs; the page shows them at once."""
        bench = self.bench
        if source == OWN and not file:
            yield {bench.message: message("No text is there yet. Upload one, or choose the manuals.")}
            return
        yield {bench.message: message("The text is read…", error=False)}
        try:
            group = self.desk.start(name, float(minutes), file or "" if source == OWN else "", self.owner)
        except ExplorerError as error:
            yield {bench.message: message(str(error))}
            return
        yield {bench.message: "", **self.shown(group)}

    def stop(self, group: str | None) -> Updates:
        return self.act(group, self.desk.stop)

    def delete(self, group: str | None) -> Updates:
        return self.act(group, self.desk.delete)

    def restore(self, event: gr.EventData) -> Updates:
        """A deleted experiment is to come back."""
        try:
            group = self.desk.restore(str(event._data.get("restore", "")), self.owner)
        except ExplorerError as error:
            return {self.bench.message: message(str(error))}
        return {self.bench.message: "", **self.shown(group)}

    def act(self, group: str | None, done: Any) -> Updates:
        trial = self.desk.trial(group or "", self.owner)
        if trial is None:
            return {self.bench.message: message("That experiment is no longer there."), **self.shown("")}
        try:
            done(trial.arms, self.owner)
        except ExplorerError as error:
            return {self.bench.message: message(str(error))}
        return {self.bench.message: "", **self.shown(group or "")}

    def shown(self, group: str | None) -> Updates:
        """The chosen experiment as it stands now, the newest if none is."""
        bench, groups = self.bench, self.desk.groups(self.owner)
        known = [name for _, name in groups]
        group = group if group in known else (known[0] if known else None)
        trial = self.desk.trial(group or "", self.owner)
        live = trial is not None and trial.live
        out: Updates = {
            bench.group: gr.update(choices=groups, value=group, visible=bool(groups)),
            bench.stop: gr.update(visible=live),
            bench.delete: gr.update(visible=trial is not None and not live),
            bench.timer: gr.update(active=live),
            bench.gone: gone(self.desk.deleted(self.owner)),
        }
        if trial is None:
            return out | {bench.told: "", bench.chart: gr.update(visible=False), bench.said: ""}
        curves = [Curve(arm.name, arm.events) for arm in trial.arms]
        experiment = trial.experiment
        there = any(curve.points(experiment.measure, experiment.unit) for curve in curves)
        said = pretraining.say(curves, experiment.measure, experiment.unit)
        return out | {
            bench.told: pieces.told(trial),
            bench.chart: gr.update(
                visible=there, value=pretraining.draw(curves, experiment.measure, experiment.unit) if there else None
            ),
            bench.said: caption(said, NOTE) if said else "",
        }


def wire(desk: Desk, bench: Bench, blocks: gr.Blocks) -> None:
    """Bind the page to its desk."""
    page = Handlers(desk, bench)
    common: dict[str, Any] = {"concurrency_limit": LIMIT, "show_progress": "hidden", "api_visibility": "private"}
    seen = [bench.message, *bench.watched]
    bench.experiment.input(personal(page.choose), bench.experiment, [bench.about, bench.minutes], **common)
    bench.source.input(personal(page.source), bench.source, bench.file, **common)
    wish = [bench.experiment, bench.minutes, bench.source, bench.file]
    bench.start.click(personal(page.start), wish, seen, **common)
    bench.stop.click(personal(page.stop), bench.group, seen, **common)
    bench.delete.click(personal(page.delete), bench.group, seen, **common)
    bench.gone.click(personal(page.restore), None, seen, **common)
    bench.group.input(personal(page.shown), bench.group, bench.watched, **common)
    bench.timer.tick(personal(page.shown), bench.group, bench.watched, **common)
    blocks.load(personal(page.shown), bench.group, bench.watched, **common)
