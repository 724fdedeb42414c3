"""The events of the page of experiments and their handlers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.figures import pretraining
from bertexplorer.figures.pretraining import Curve
from bertexplorer.runs.experiments import Arm, ExperimentService
from bertexplorer.training.pretraining.experiments import BY_NAME
from bertexplorer.web.experiments import html
from bertexplorer.web.experiments.page import UPLOAD, PageComponents
from bertexplorer.web.html import caption, message
from bertexplorer.web.owner_binding import bind_owner
from bertexplorer.web.training import run_list
from bertexplorer.web.training.run_handlers import Updates
from bertexplorer.web.training.wiring import COMMON

NOTE = (
    "Runs of a few minutes on a small text say little about full-size BERT. They show how such a comparison is made; "
    "run it again, for longer and on a text of your own, before you believe it."
)


@dataclass(frozen=True, eq=False)
class ExperimentHandlers:
    """One method per event. `bind_owner` shows an ExplorerError that one raises."""

    service: ExperimentService
    page: PageComponents
    owner: str = ""  # of the session that sends the event

    def for_owner(self, owner: str) -> "ExperimentHandlers":
        return replace(self, owner=owner)

    def error(self, error: Exception | str) -> Updates:
        return {self.page.message: message(str(error))}

    def choose(self, name: str) -> Updates:
        """Show another experiment: its question, the published results, its minutes."""
        experiment = BY_NAME[name]
        return {self.page.about: html.about(experiment), self.page.minutes: experiment.minutes}

    def choose_source(self, source: str) -> Updates:
        return {self.page.file: gr.update(visible=source == UPLOAD)}

    def start(self, name: str, minutes: float, source: str, file: str | None) -> Iterator[Updates]:
        """Queue the runs of an experiment and show them."""
        if source == UPLOAD and not file:
            raise ExplorerError("No text has been uploaded yet. Upload one, or choose the fairy tales.")
        text = file or "" if source == UPLOAD else ""
        with self.service.reading(name, self.owner):
            yield {self.page.message: message("Reading the text…", error=False), **self.current("")}
            group = self.service.start(name, float(minutes), text, self.owner)
        yield {self.page.message: "", **self.show(group)}

    def stop(self, group: str) -> Updates:
        return self.act(group, self.service.stop)

    def resume(self, group: str) -> Updates:
        return self.act(group, self.service.resume)

    def delete(self, group: str) -> Updates:
        return self.act(group, self.service.delete)

    def act(self, group: str, action: Callable[[Sequence[Arm], str], None]) -> Updates:
        """Apply *action* to the runs of an experiment."""
        trial = self.service.trial(group, self.owner)
        if trial is None:
            return {**self.error("That experiment no longer exists."), **self.show("")}
        action(trial.arms, self.owner)
        return {self.page.message: "", **self.show(group)}

    def choose_run(self, event: gr.EventData) -> Updates:
        """An experiment was clicked, or a deleted one is to be restored."""
        group, deleted = run_list.pressed(event)
        if deleted:
            self.service.restore(deleted, self.owner)
        return {self.page.message: "", **self.show(group or deleted)}

    def show(self, group: str) -> Updates:
        """Show an experiment, the newest if *group* does not exist."""
        groups = [trial.group for trial in self.service.trials(self.owner)]
        group = group if group in groups else next(iter(groups), "")
        return {self.page.runs.chosen: group, **self.current(group)}

    def poll(self, group: str) -> Updates:
        try:
            return self.current(group)
        except ExplorerError as error:
            return self.page.runs.error(error)

    def current(self, group: str) -> Updates:
        """The current state of the experiments and of the chosen one."""
        page, trials = self.page, self.service.trials(self.owner)
        deleted = self.service.trials(self.owner, deleted=True)
        trial = next((trial for trial in trials if trial.group == group), None)
        updates: Updates = {
            **page.runs.updates(self.service.listed(trials, self.owner), group, [trial.run for trial in deleted]),
            page.stop: gr.update(visible=trial is not None and trial.live),
            page.resume: gr.update(visible=trial is not None and trial.resumable),
            page.delete: gr.update(visible=trial is not None and not trial.live),
        }
        if trial is None:
            return updates | {page.summary: "", page.chart: gr.update(visible=False), page.caption: ""}
        curves = [Curve(arm.name, arm.events) for arm in trial.arms]
        measure, unit = trial.experiment.measure, trial.experiment.unit
        drawable = any(curve.points(measure, unit) for curve in curves)
        figure = pretraining.draw(curves, measure, unit).plotly if drawable else None
        sentence = pretraining.say(curves, measure, unit)
        return updates | {
            page.summary: html.summary(trial),
            page.chart: gr.update(visible=drawable, value=figure),
            page.caption: caption(sentence, NOTE) if sentence else "",
        }


def wire(service: ExperimentService, page: PageComponents, blocks: gr.Blocks) -> None:
    """Bind the page to its service."""
    handlers, chosen = ExperimentHandlers(service, page), page.runs.chosen
    changed = [chosen, page.message, *page.polled]
    page.experiment.input(bind_owner(handlers.choose), page.experiment, [page.about, page.minutes], **COMMON)
    page.source.input(bind_owner(handlers.choose_source), page.source, page.file, **COMMON)
    settings = [page.experiment, page.minutes, page.source, page.file]
    page.start.click(bind_owner(handlers.start), settings, changed, **COMMON)
    page.stop.click(bind_owner(handlers.stop), chosen, changed, **COMMON)
    page.resume.click(bind_owner(handlers.resume), chosen, changed, **COMMON)
    page.delete.click(bind_owner(handlers.delete), chosen, changed, **COMMON)
    page.runs.entries.click(bind_owner(handlers.choose_run), None, changed, **COMMON)
    page.runs.timer.tick(bind_owner(handlers.poll), chosen, page.polled, **COMMON)
    blocks.load(bind_owner(handlers.show), chosen, changed, **COMMON)
