"""The log of a run: JSON lines for programs, the same as text for people."""

import json
import time
from pathlib import Path
from typing import Any

Event = dict[str, Any]  # always with "event", "time" (seconds since 1970), "stretch" and "step"


class Log:
    """The files events.jsonl and log.txt in the folder of a run, appended line by line."""

    def __init__(self, folder: Path) -> None:
        for path in (folder / "events.jsonl", folder / "log.txt"):
            mend(path)
        self.events = (folder / "events.jsonl").open("a", encoding="utf-8")
        self.words = (folder / "log.txt").open("a", encoding="utf-8")

    def write(self, event: Event) -> str:
        """Append *event*. Returns the line of text."""
        self.events.write(json.dumps(event) + "\n")
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(event['time']))}  {say(event)}"
        self.words.write(line + "\n")
        self.events.flush()
        self.words.flush()
        return line

    def close(self) -> None:
        self.events.close()
        self.words.close()


def mend(path: Path) -> None:
    """Terminate a last line that a crash cut off, so that the next line starts afresh."""
    with path.open("ab+") as opened:
        if opened.tell():
            opened.seek(-1, 2)
            if opened.read(1) != b"\n":
                opened.write(b"\n")


def say(event: Event) -> str:
    """An event in one line of text."""
    rest = {k: v for k, v in event.items() if k not in ("event", "time", "stretch", "step")}
    values = "  ".join(f"{k} {brief(v)}" for k, v in rest.items())
    return f"{event['event']:<10} stretch {event['stretch']} step {event['step']:,}  {values}"


def brief(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={brief(v)}" for k, v in value.items())
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
