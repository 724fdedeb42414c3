"""Handlers of the training page before a run: what to learn and from what, rows looked at, Start."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.options import option_specs
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.pieces import message
from bertexplorer.ui.training import pieces
from bertexplorer.ui.training.desk import Desk, Looked, Wish
from bertexplorer.ui.training.page import Bench
from bertexplorer.ui.training.watching import Updates, Watching


@dataclass(eq=False)
class Starting:
    """One method an event."""

    desk: Desk
    bench: Bench
    watching: Watching
    owner: str = ""  # who asks

    def of(self, owner: str) -> "Starting":
        return replace(self, watching=self.watching.of(owner), owner=owner)

    def wish(self, values: tuple[Any, ...]) -> Wish:
        """What the components say."""
        task, checkpoint, source, file, dev, name, seeds, skip, beside, hub, *rest = values
        if task not in BY_NAME:
            raise ExplorerError("No task is chosen. Pick one.")
        bench, own, distant = self.bench, source == "my file", source == "the hub"
        if own and not file:
            raise ExplorerError("No file is there yet. Upload the rows to learn from, or use the built-in ones.")
        if distant and not str(hub or "").strip():
            raise ExplorerError("No data set is named yet. Type its name, such as nyu-mll/glue:sst2.")
        columns, chosen = rest[: len(bench.columns)], rest[len(bench.columns) :]
        mapping = {c.name: str(v or "") for c, v in zip(BY_NAME[task].COLUMNS, columns, strict=False)}
        mapping = mapping if own or distant else {}
        forms = [("", bench.tuning), *bench.options.items()]
        names = [(of, setting) for of, form in forms for setting in form.components]
        held = {setting: v for (of, setting), v in zip(names, chosen, strict=True) if of in ("", task)}
        return Wish(
            task,
            str(checkpoint or ""),
            file or "" if own else "",
            dev or "" if own else "",
            str(hub).strip() if distant else "",
            str(name or ""),
            mapping,
            held,
            bool(skip),
            tuple(map(str, beside or ())) if mapping and getattr(BY_NAME[task], "BESIDE", False) else (),
            int(seeds or 1),
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
        defaults = {setting.name: setting.default for setting in option_specs(Tuning)} | BY_NAME[task].DEFAULTS
        shown |= {component: defaults[name] for name, component in bench.tuning.components.items()}
        return shown | self.no_columns()

    def source(self, source: str) -> Updates:
        """Built-in rows or a file."""
        bench = self.bench
        shown = {bench.files: gr.update(visible=source == "my file"), bench.hub: gr.update(visible=source == "the hub")}
        return shown | self.other()

    def other(self) -> Updates:
        """Other rows: what was said of those before does not hold any more."""
        return {self.bench.looked: "", self.bench.message: ""} | self.no_columns()

    def no_columns(self) -> Updates:
        hidden = gr.update(visible=False, value=None, choices=[])
        return {column: hidden for column in [*self.bench.columns, self.bench.beside]}

    def look(self, *values: Any) -> Iterator[Updates]:
        """The rows as they are understood; then three steps, timed."""
        bench = self.bench
        yield {bench.looked: "", bench.message: message("Reading the rows…", error=False)}
        try:
            wish = self.wish(values)
            if wish.hub:
                yield {bench.message: message(f"Fetching {wish.hub} from the hub…", error=False)}
            looked = self.desk.look(wish, self.owner)
            yield {bench.looked: pieces.looked(looked), bench.message: "", **self.columns(wish, looked)}
            if looked.found.stops or (looked.found.problems and not wish.skip):
                return
            for told in self.desk.timed(looked):
                if isinstance(told, str):
                    yield {bench.message: message(told, error=False)}
                else:
                    yield {bench.looked: pieces.looked(told), bench.message: ""}
        except ExplorerError as error:
            yield {bench.message: message(str(error))}

    def columns(self, wish: Wish, looked: Looked) -> Updates:
        """Which column of the file is which, to be chosen."""
        if not (wish.file or wish.hub):
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
                out[box] = gr.update(visible=False, value=None, choices=[])
        held = {looked.found.mapping.get(column.name) for column in wanted}
        rest = [column for column in looked.table.columns if column not in held]
        there = bool(rest) and getattr(BY_NAME[wish.task], "BESIDE", False)
        kept = [column for column in wish.beside if column in rest]
        return out | {self.bench.beside: gr.update(visible=there, choices=rest, value=kept)}

    def start(self, key: str, *values: Any) -> Updates:
        """Queue it; the page shows it at once."""
        bench = self.bench
        try:
            run = self.desk.start(self.wish(values), self.owner, key=key)
        except ExplorerError as error:
            return {bench.message: message(str(error))}
        return {bench.message: "", bench.name: "", bench.key: secrets.token_hex(8), **self.watching.chosen(run.id)}

    def open(self, task: str, chosen: str) -> Updates:
        """The page as it is met."""
        rows = {form.row: gr.update(visible=name == task or "hidden") for name, form in self.bench.options.items()}
        return {**rows, self.bench.key: secrets.token_hex(8), **self.watching.chosen(chosen)}
