"""The list of runs on the pages Train and Pretrain: its components, its HTML, and what was pressed in it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio as gr

from bertexplorer.store.runs import ACTIVE_STATES, LIVE_STATES, Run, duration
from bertexplorer.web.html import message, script, snippet

EMPTY = '<p class="note">No run yet. Press Start, and it appears here.</p>'


@dataclass(frozen=True, eq=False)
class RunList:
    """The components of the list."""

    entries: gr.HTML  # the runs as buttons, and the deleted ones
    chosen: gr.Textbox  # id of the run on the screen
    timer: gr.Timer  # polls while a run is live

    @property
    def polled(self) -> list[Any]:
        """The components that `updates` changes."""
        return [self.entries, self.timer]

    def updates(self, runs: Sequence[Run], chosen: str, deleted: Sequence[Run]) -> dict[Any, Any]:
        """Show *runs*, the newest first, and the *deleted* ones that can be restored."""
        live = any(run.state in LIVE_STATES for run in runs)
        return {self.entries: run_list(runs, chosen, deleted), self.timer: gr.update(active=live)}

    def error(self, error: Exception) -> dict[Any, Any]:
        """Show the *error* of a poll in place of the runs; the next poll that succeeds shows them again."""
        return {self.entries: message(str(error))}


def build(poll_s: float) -> RunList:
    """Create the components. *poll_s*: seconds between two polls."""
    snippet("<h2>Runs</h2>")
    entries = snippet("", js_on_load=script("runs.js"), elem_id="runs")
    return RunList(entries, gr.Textbox("", visible=False, elem_id="chosen-run"), gr.Timer(poll_s, active=False))


def pressed(event: gr.EventData) -> tuple[str, str]:
    """The id of the run that was pressed, as (one to show, a deleted one to restore); the other is ""."""
    return str(event._data.get("run", "")), str(event._data.get("restore", ""))


def run_list(runs: Sequence[Run], chosen: str, deleted: Sequence[Run] = ()) -> str:
    """All runs as buttons, and the deleted ones that can be restored."""
    lines = [
        f'<li><button type="button" class="run{" chosen" * (run.id == chosen)}" '
        f'data-run="{escape(run.id, quote=True)}"><b dir="auto">{escape(run.name)}</b>'
        f'<span class="state {run.state}">{escape(state_text(run))}</span>'
        f"<time>{time.strftime('%d %b %H:%M', time.localtime(run.created))}</time>{progress_bar(run)}</button></li>"
        for run in runs
    ]
    return (f'<ul class="runs">{"".join(lines)}</ul>' if lines else EMPTY) + deleted_list(deleted)


def deleted_list(deleted: Sequence[Run]) -> str:
    """The deleted runs that can be restored."""
    if not deleted:
        return ""
    lines = "".join(
        f'<li><span dir="auto">{escape(run.name)}</span> <button type="button" class="back" '
        f'data-restore="{escape(run.id, quote=True)}">Restore</button></li>'
        for run in deleted
    )
    return (
        f'<details class="gone"><summary>Deleted: {len(deleted):,}, kept for 7 days</summary><ul>{lines}</ul></details>'
    )


def progress_bar(run: Run) -> str:
    """The progress of a run that has a process."""
    share = f"{100 * run.progress:.0f}%"
    return f'<span class="bar" style="--done:{share}"></span>' if run.state in ACTIVE_STATES else ""


def state_text(run: Run) -> str:
    """The state of a run and its message."""
    left = f", {duration(run.seconds_left)} left" if run.state == "running" and run.seconds_left else ""
    share = f" {100 * run.progress:.0f} %" if run.state == "running" else ""
    return f"{run.state}{share}{left}" + (f": {run.message}" if run.message and run.message != run.state else "")
