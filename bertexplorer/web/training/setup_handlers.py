"""Handlers of the training page before a run: settings, preview, Start."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from gradio.components import Component

from bertexplorer.errors import ExplorerError
from bertexplorer.options import option_specs
from bertexplorer.runs.service import RunPreview, RunRequest, RunService
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.web.html import message
from bertexplorer.web.training import html
from bertexplorer.web.training.page import HUB, UPLOAD, PageComponents
from bertexplorer.web.training.run_handlers import RunHandlers, Updates

Values = Mapping[Component, Any]  # of all of SetupComponents.inputs


@dataclass(frozen=True, eq=False)
class SetupHandlers:
    """One method per event. `bind_owner` shows an ExplorerError that one raises."""

    service: RunService
    page: PageComponents
    runs: RunHandlers
    owner: str = ""  # of the session that sends the event

    def for_owner(self, owner: str) -> "SetupHandlers":
        return replace(self, runs=self.runs.for_owner(owner), owner=owner)

    def error(self, error: Exception) -> Updates:
        return self.runs.error(error)

    def request(self, values: Values) -> RunRequest:
        """The run that the settings describe."""
        setup = self.page.setup
        task, source = values[setup.task], values[setup.source]
        if task not in BY_NAME:
            raise ExplorerError("No task is chosen. Pick one.")
        hub = str(values[setup.hub] or "").strip()
        if source == UPLOAD and not values[setup.file]:
            raise ExplorerError("No file has been uploaded yet. Upload your rows, or use the built-in ones.")
        if source == HUB and not hub:
            raise ExplorerError("No data set is named yet. Type its name, such as nyu-mll/glue:sst2.")
        menus = zip(BY_NAME[task].COLUMNS, setup.columns, strict=False)
        mapping = {column.name: str(values[menu] or "") for column, menu in menus} if source in (UPLOAD, HUB) else {}
        takes_features = mapping and BY_NAME[task].USES_FEATURES
        return RunRequest(
            task,
            str(values[setup.checkpoint] or ""),
            file=values[setup.file] if source == UPLOAD else "",
            dev=values[setup.validation_file] or "" if source == UPLOAD else "",
            hub=hub if source == HUB else "",
            name=str(values[setup.name] or ""),
            mapping=mapping,
            values={
                name: values[component]
                for components in (setup.tuning, setup.options[task].components)
                for name, component in components.items()
            },
            skip=bool(values[setup.skip]),
            beside=tuple(map(str, values[setup.features] or ())) if takes_features else (),
            seeds=int(values[setup.seeds] or 1),
        )

    def choose_task(self, task: str) -> Updates:
        """Show another task: its description, settings and columns."""
        setup = self.page.setup
        defaults = {spec.name: spec.default for spec in option_specs(Tuning)} | BY_NAME[task].DEFAULTS
        return {
            setup.about: f'<p class="note">{BY_NAME[task].ABOUT}</p>',
            **self.task_form(task),
            **{component: defaults[name] for name, component in setup.tuning.items()},
            **self.clear_preview(),
        }

    def task_form(self, task: str) -> Updates:
        """Show the settings of *task* alone. "hidden" keeps a form in the page, so that it receives new values."""
        forms = self.page.setup.options.items()
        return {form.row: gr.update(visible=name == task or "hidden") for name, form in forms}

    def choose_source(self, source: str) -> Updates:
        """Built-in rows, a file, or a data set of the hub."""
        setup = self.page.setup
        return {
            setup.files: gr.update(visible=source == UPLOAD),
            setup.hub: gr.update(visible=source == HUB),
            **self.clear_preview(),
        }

    def clear_preview(self) -> Updates:
        """Remove the preview and the columns of the previous rows."""
        setup = self.page.setup
        empty = gr.update(visible=False, value=None, choices=[])
        return {setup.preview: "", self.page.message: "", **dict.fromkeys([*setup.columns, setup.features], empty)}

    def preview(self, values: Values) -> Iterator[Updates]:
        """A preview of the rows; then three timed steps."""
        preview, status = self.page.setup.preview, self.page.message
        yield {preview: "", status: message("Reading the rows…", error=False)}
        request = self.request(values)
        if request.hub:
            yield {status: message(f"Fetching {request.hub} from the hub…", error=False)}
        rows = self.service.preview(request, self.owner)
        yield {preview: html.preview(rows), status: "", **self.column_menus(request, rows)}
        if rows.found.stops or (rows.found.problems and not request.skip):
            return
        for step in self.service.timed(rows):
            if isinstance(step, str):
                yield {status: message(step, error=False)}
            else:
                yield {preview: html.preview(step), status: ""}

    def column_menus(self, request: RunRequest, preview: RunPreview) -> Updates:
        """Menus that say which column of the file is which."""
        if not (request.file or request.hub):
            return {}
        task, mapping, names = BY_NAME[request.task], preview.found.mapping, preview.table.columns
        updates: Updates = {}
        for i, menu in enumerate(self.page.setup.columns):
            if i < len(task.COLUMNS):
                column = task.COLUMNS[i]
                label = f"Column: {column.label}{' (optional)' if column.optional else ''}"
                value = mapping.get(column.name)
                updates[menu] = gr.update(visible=True, label=label, choices=[("", ""), *names], value=value)
            else:
                updates[menu] = gr.update(visible=False, value=None, choices=[])
        mapped = {mapping.get(column.name) for column in task.COLUMNS}
        free = [name for name in names if name not in mapped]
        features = gr.update(
            visible=bool(free) and task.USES_FEATURES,
            choices=free,
            value=[name for name in request.beside if name in free],
        )
        return updates | {self.page.setup.features: features}

    def start(self, values: Values) -> Updates:
        """Queue the run and show it."""
        setup = self.page.setup
        run = self.service.start(self.request(values), self.owner, key=values[setup.key])
        return {self.page.message: "", setup.name: "", setup.key: secrets.token_hex(8), **self.runs.show(run.id)}

    def open(self, task: str, chosen: str) -> Updates:
        """The state of the page when it is loaded."""
        return {**self.task_form(task), self.page.setup.key: secrets.token_hex(8), **self.runs.show(chosen)}
