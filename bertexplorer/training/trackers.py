"""Trackers: the numbers of a run also in TensorBoard, trackio, Weights & Biases or MLflow, through accelerate.

The run's own log stays the truth: a tracker gets what the log has, and one that fails is told about and left out, while
the run goes on. TensorBoard writes to RUN/tensorboard, trackio to this machine; the others send to the server that they
are set up for."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.training.events import Event

TRACKERS = {"tensorboard": "TensorBoard", "trackio": "Trackio", "wandb": "WandB", "mlflow": "MLflow"}
PROJECT = "bertexplorer"  # of those that keep runs by project
INFO = "tensorboard, trackio, wandb or mlflow, several separated by commas; empty: nowhere but here"
EVENTS = ("steps", "evaluated")  # with numbers to draw
PLACE = {"step", "share", "time", "stretch", "seconds", "seconds_left", "memory_mb"}  # numbers that are no measure


def parse_trackers(names: str) -> tuple[str, ...]:
    """The trackers of a comma-separated line, each once. Raises ExplorerError for an unknown one, and for one that is
    not installed.

    Example:
        >>> parse_trackers("")
        ()
    """
    trackers = tracker_names(names)
    for name in trackers:
        if name not in TRACKERS:
            raise ExplorerError(f"There is no tracker {name!r:.40}; wanted {', '.join(TRACKERS)}.")
        if find_spec(name) is None:
            raise ExplorerError(f"Reporting to {name} needs its package, which is not installed: pip install {name}.")
    return trackers


def tracker_names(names: str) -> tuple[str, ...]:
    """The names of a comma-separated line, each once."""
    return tuple(dict.fromkeys(part.strip().lower() for part in names.split(",") if part.strip()))


class Reports:
    """What a run reports to its trackers. It is named by its folder."""

    def __init__(self, folder: Path, trackers: tuple[str, ...], settings: Mapping[str, Any]) -> None:
        """*trackers*: their names; they are started with the first event. *settings*: of the run."""
        self.folder = folder
        self.settings = {name: value for name, value in settings.items() if isinstance(value, str | int | float | bool)}
        self.waiting = trackers
        self.started: dict[str, Any] = {}  # name -> tracker

    def send(self, event: Event) -> Iterator[Event]:
        """Report *event*. Yields a warning for each tracker that fails, which is left out from then on."""
        for name in self.waiting:
            yield from self.attempt(name, partial(self.start, name))
        self.waiting = ()
        if event["event"] not in EVENTS:
            return
        values = numbers(event)
        if not values:
            return
        for name, tracker in list(self.started.items()):
            yield from self.attempt(name, partial(tracker.log, values, step=event["step"]))

    def close(self) -> None:
        """Finish all trackers."""
        for name, tracker in list(self.started.items()):
            for _ in self.attempt(name, tracker.finish):
                pass  # nobody reads warnings any more

    def attempt(self, name: str, act: Callable[[], object]) -> Iterator[Event]:
        """Call *act* for the tracker *name*. If it fails, the tracker is left out, and a warning is yielded."""
        try:
            act()
        except Exception as error:  # of any library, for any reason: the run matters more
            self.started.pop(name, None)
            text = f"{name} gets no more of this run: {error!s:.200}. The run goes on."
            yield {"event": "warning", "tracker": name, "text": text}

    def start(self, name: str) -> None:
        """Start the tracker called *name*."""
        from accelerate import PartialState, tracking

        PartialState()  # the trackers ask it whether this is the main process
        kind = getattr(tracking, f"{TRACKERS[name]}Tracker")
        run = self.folder.name
        if name == "tensorboard":
            tracker = kind(run, self.folder / "tensorboard")
        elif name == "mlflow":
            tracker = kind(PROJECT, run_name=run)
        else:
            tracker = kind(PROJECT, name=run)
        tracker.start()
        if name != "tensorboard":  # whose form of settings makes a run of its own
            tracker.store_init_configuration(self.settings)
        self.started[name] = tracker


def numbers(event: Event) -> dict[str, float]:
    """The measures of an event, by a name with its kind: steps/rate, steps/loss/label, evaluated/metrics/accuracy."""
    measures: dict[str, float] = {}
    for name, value in event.items():
        if name in PLACE:
            continue
        prefix = f"{event['event']}/{name}"
        parts = {prefix: value}
        if isinstance(value, Mapping):
            parts = {f"{prefix}/{part}": number for part, number in value.items()}
        for path, number in parts.items():
            if type(number) in (int, float):
                measures[path] = float(number)
    return measures
