"""Handlers of the training page before a run: settings, preview, Start."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.options import option_specs
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.html import message
from bertexplorer.ui.training import html
from bertexplorer.ui.training.page import PageComponents
from bertexplorer.ui.training.run_handlers import RunHandlers, Updates
from bertexplorer.ui.training.run_service import RunPreview, RunRequest, RunService


@dataclass(eq=False)
class SetupHandlers:
    """One method per event."""

    service: RunService
    components: PageComponents
    watching: RunHandlers
    owner: str = ""  # of the session that sends the event

    def of(self, owner: str) -> "SetupHandlers":
        return replace(self, watching=self.watching.of(owner), owner=owner)

    def wish(self, values: tuple[Any, ...]) -> RunRequest:
        """The RunRequest that the components describe."""
        task, checkpoint, source, file, dev, name, seeds, skip, beside, hub, *rest = values
        if task not in BY_NAME:
            raise ExplorerError("No task is chosen. Pick one.")
        components, own, distant = self.components, source == "my file", source == "the hub"
        if own and not file:
            raise ExplorerError("No file has been uploaded yet. Upload your rows, or use the built-in ones.")
        if distant and not str(hub or "").strip():
            raise ExplorerError("No data set is named yet. Type its name, such as nyu-mll/glue:sst2.")
        columns, chosen = rest[: len(components.columns)], rest[len(components.columns) :]
        mapping = {c.name: str(v or "") for c, v in zip(BY_NAME[task].COLUMNS, columns, strict=False)}
        mapping = mapping if own or distant else {}
        forms = [("", components.tuning), *components.options.items()]
        names = [(of, setting) for of, form in forms for setting in form.components]
        held = {setting: v for (of, setting), v in zip(names, chosen, strict=True) if of in ("", task)}
        return RunRequest(
            task,
            str(checkpoint or ""),
            file or "" if own else "",
            dev or "" if own else "",
            str(hub).strip() if distant else "",
            str(name or ""),
            mapping,
            held,
            bool(skip),
            tuple(map(str, beside or ())) if mapping and getattr(BY_NAME[task], "USES_FEATURES", False) else (),
            int(seeds or 1),
        )

    def task(self, task: str) -> Updates:
        """Show another task: its description, settings and columns."""
        components = self.components
        shown: Updates = {
            components.about: f'<p class="note">{BY_NAME[task].ABOUT}</p>',
            components.looked: "",
            components.message: "",
        }
        shown |= {form.row: gr.update(visible=name == task or "hidden") for name, form in components.options.items()}
        defaults = {setting.name: setting.default for setting in option_specs(Tuning)} | BY_NAME[task].DEFAULTS
        shown |= {component: defaults[name] for name, component in components.tuning.components.items()}
        return shown | self.no_columns()

    def source(self, source: str) -> Updates:
        """Built-in rows or a file."""
        components = self.components
        shown = {
            components.files: gr.update(visible=source == "my file"),
            components.hub: gr.update(visible=source == "the hub"),
        }
        return shown | self.other()

    def other(self) -> Updates:
        """Other rows: the previous preview no longer applies."""
        return {self.components.looked: "", self.components.message: ""} | self.no_columns()

    def no_columns(self) -> Updates:
        hidden = gr.update(visible=False, value=None, choices=[])
        return {column: hidden for column in [*self.components.columns, self.components.beside]}

    def look(self, *values: Any) -> Iterator[Updates]:
        """A preview of the rows; then three timed steps."""
        components = self.components
        yield {components.looked: "", components.message: message("Reading the rows…", error=False)}
        try:
            wish = self.wish(values)
            if wish.hub:
                yield {components.message: message(f"Fetching {wish.hub} from the hub…", error=False)}
            looked = self.service.look(wish, self.owner)
            yield {components.looked: html.looked(looked), components.message: "", **self.columns(wish, looked)}
            if looked.found.stops or (looked.found.problems and not wish.skip):
                return
            for step in self.service.timed(looked):
                if isinstance(step, str):
                    yield {components.message: message(step, error=False)}
                else:
                    yield {components.looked: html.looked(step), components.message: ""}
        except ExplorerError as error:
            yield {components.message: message(str(error))}

    def columns(self, wish: RunRequest, looked: RunPreview) -> Updates:
        """Drop-downs for which column of the file is which."""
        if not (wish.file or wish.hub):
            return {}
        wanted = BY_NAME[wish.task].COLUMNS
        out: Updates = {}
        for i, box in enumerate(self.components.columns):
            if i < len(wanted):
                label = wanted[i].label + (" (optional)" if wanted[i].optional else "")
                value = looked.found.mapping.get(wanted[i].name)
                choices = [("", ""), *looked.table.columns]
                out[box] = gr.update(visible=True, label=f"Column: {label}", choices=choices, value=value)
            else:
                out[box] = gr.update(visible=False, value=None, choices=[])
        held = {looked.found.mapping.get(column.name) for column in wanted}
        rest = [column for column in looked.table.columns if column not in held]
        there = bool(rest) and getattr(BY_NAME[wish.task], "USES_FEATURES", False)
        kept = [column for column in wish.beside if column in rest]
        return out | {self.components.beside: gr.update(visible=there, choices=rest, value=kept)}

    def start(self, key: str, *values: Any) -> Updates:
        """Queue the run and show it."""
        components = self.components
        try:
            run = self.service.start(self.wish(values), self.owner, key=key)
        except ExplorerError as error:
            return {components.message: message(str(error))}
        return {
            components.message: "",
            components.name: "",
            components.key: secrets.token_hex(8),
            **self.watching.chosen(run.id),
        }

    def open(self, task: str, chosen: str) -> Updates:
        """The state of the page when it is loaded."""
        rows = {form.row: gr.update(visible=name == task or "hidden") for name, form in self.components.options.items()}
        return {**rows, self.components.key: secrets.token_hex(8), **self.watching.chosen(chosen)}
