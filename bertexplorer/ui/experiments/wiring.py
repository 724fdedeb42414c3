"""The events of the page of experiments and their handlers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.figures import pretraining
from bertexplorer.figures.pretraining import Curve
from bertexplorer.training.pretraining.experiments import BY_NAME
from bertexplorer.ui.experiments import html
from bertexplorer.ui.experiments.experiment_service import ExperimentService
from bertexplorer.ui.experiments.page import OWN, PageComponents
from bertexplorer.ui.html import caption, message
from bertexplorer.ui.owner_binding import bind_owner
from bertexplorer.ui.training.html import gone

LIMIT = 8
NOTE = (
    "Runs of a few minutes on a small text say little about full-size BERT. They show how such a comparison is made; "
    "run it again, for longer and on a text of your own, before you believe it."
)
Updates = dict[Any, Any]


@dataclass(eq=False)
class Handlers:
    """One method per event."""

    service: ExperimentService
    components: PageComponents
    owner: str = ""  # of the session that sends the event

    def of(self, owner: str) -> "Handlers":
        return replace(self, owner=owner)

    def choose(self, name: str) -> Updates:
        """Show another experiment: its question, the published results, its minutes."""
        experiment = BY_NAME[name]
        return {self.components.about: html.about(experiment), self.components.minutes: experiment.minutes}

    def source(self, source: str) -> Updates:
        return {self.components.file: gr.update(visible=source == OWN)}

    def start(self, name: str, minutes: float, source: str, file: str | None) -> Iterator[Updates]:
        """Queue its runs and show them."""
        components = self.components
        if source == OWN and not file:
            yield {components.message: message("No text has been uploaded yet. Upload one, or choose the manuals.")}
            return
        yield {components.message: message("Reading the text…", error=False)}
        try:
            group = self.service.start(name, float(minutes), file or "" if source == OWN else "", self.owner)
        except ExplorerError as error:
            yield {components.message: message(str(error))}
            return
        yield {components.message: "", **self.shown(group)}

    def stop(self, group: str | None) -> Updates:
        return self.act(group, self.service.stop)

    def delete(self, group: str | None) -> Updates:
        return self.act(group, self.service.delete)

    def restore(self, event: gr.EventData) -> Updates:
        """Restore a deleted experiment."""
        try:
            group = self.service.restore(str(event._data.get("restore", "")), self.owner)
        except ExplorerError as error:
            return {self.components.message: message(str(error))}
        return {self.components.message: "", **self.shown(group)}

    def act(self, group: str | None, done: Any) -> Updates:
        trial = self.service.trial(group or "", self.owner)
        if trial is None:
            return {self.components.message: message("That experiment is no longer there."), **self.shown("")}
        try:
            done(trial.arms, self.owner)
        except ExplorerError as error:
            return {self.components.message: message(str(error))}
        return {self.components.message: "", **self.shown(group or "")}

    def shown(self, group: str | None) -> Updates:
        """The current state of the chosen experiment, or of the newest if none is chosen."""
        components, groups = self.components, self.service.groups(self.owner)
        known = [name for _, name in groups]
        group = group if group in known else (known[0] if known else None)
        trial = self.service.trial(group or "", self.owner)
        live = trial is not None and trial.live
        out: Updates = {
            components.group: gr.update(choices=groups, value=group, visible=bool(groups)),
            components.stop: gr.update(visible=live),
            components.delete: gr.update(visible=trial is not None and not live),
            components.timer: gr.update(active=live),
            components.gone: gone(self.service.deleted(self.owner)),
        }
        if trial is None:
            return out | {components.summary: "", components.chart: gr.update(visible=False), components.said: ""}
        curves = [Curve(arm.name, arm.events) for arm in trial.arms]
        experiment = trial.experiment
        there = any(curve.points(experiment.measure, experiment.unit) for curve in curves)
        said = pretraining.say(curves, experiment.measure, experiment.unit)
        return out | {
            components.summary: html.summary(trial),
            components.chart: gr.update(
                visible=there, value=pretraining.draw(curves, experiment.measure, experiment.unit) if there else None
            ),
            components.said: caption(said, NOTE) if said else "",
        }


def wire(service: ExperimentService, components: PageComponents, blocks: gr.Blocks) -> None:
    """Bind the page to its service."""
    page = Handlers(service, components)
    common: dict[str, Any] = {"concurrency_limit": LIMIT, "show_progress": "hidden", "api_visibility": "private"}
    seen = [components.message, *components.watched]
    components.experiment.input(
        bind_owner(page.choose), components.experiment, [components.about, components.minutes], **common
    )
    components.source.input(bind_owner(page.source), components.source, components.file, **common)
    wish = [components.experiment, components.minutes, components.source, components.file]
    components.start.click(bind_owner(page.start), wish, seen, **common)
    components.stop.click(bind_owner(page.stop), components.group, seen, **common)
    components.delete.click(bind_owner(page.delete), components.group, seen, **common)
    components.gone.click(bind_owner(page.restore), None, seen, **common)
    components.group.input(bind_owner(page.shown), components.group, components.watched, **common)
    components.timer.tick(bind_owner(page.shown), components.group, components.watched, **common)
    blocks.load(bind_owner(page.shown), components.group, components.watched, **common)
