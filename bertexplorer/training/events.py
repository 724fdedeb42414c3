"""The log of a run: JSON lines for programs, the same as text for people."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

STOPPED = 3  # exit code of a run that was stopped and can be resumed
Event = dict[str, Any]  # always with "event", "time" (seconds since 1970), "stretch" and "step"


class Log:
    """The files events.jsonl and log.txt in the folder of a run, appended line by line."""

    def __init__(self, folder: Path) -> None:
        """Opens both files, creating them if need be. Raises OSError."""
        for path in (folder / "events.jsonl", folder / "log.txt"):
            end_last_line(path)
        self.events = (folder / "events.jsonl").open("a", encoding="utf-8")
        self.text = (folder / "log.txt").open("a", encoding="utf-8")

    def write(self, event: Event) -> str:
        """Append *event* to both files, and flush them. Returns the line of text."""
        self.events.write(json.dumps(event) + "\n")
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(event['time']))}  {format_event(event)}"
        self.text.write(line + "\n")
        self.events.flush()
        self.text.flush()
        return line

    def close(self) -> None:
        self.events.close()
        self.text.close()


def end_last_line(path: Path) -> None:
    """End a last line that a crash cut off, so that the next event starts a new line."""
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")


def current_warnings(events: Iterable[Event]) -> list[Event]:
    """The warnings among *events* that still hold. Those about an evaluation, which follow it directly at its step,
    hold until the next evaluation."""
    lasting: list[Event] = []
    about_evaluation: list[Event] = []
    evaluated = None  # the step of the evaluation that the event follows
    for event in events:
        if event["event"] == "evaluated":
            about_evaluation, evaluated = [], event["step"]
        elif event["event"] != "warning":
            evaluated = None
        elif event["step"] == evaluated and "tracker" not in event:
            about_evaluation.append(event)
        else:
            lasting.append(event)
    return [*lasting, *about_evaluation]


def format_event(event: Event) -> str:
    """An event as one line of text."""
    details = []
    for name, value in event.items():
        if name not in ("event", "time", "stretch", "step"):
            details.append(f"{name} {format_value(value)}")
    return f"{event['event']:<10} stage {event['stretch']} step {event['step']:,}  {'  '.join(details)}"


def format_value(value: Any) -> str:
    """A field of an event for people."""
    if isinstance(value, dict):
        return " ".join(f"{name}={format_value(part)}" for name, part in value.items())
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
