"""What goes wrong while a run learns, in words; and how much memory it holds."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from math import isfinite

from bertexplorer.training.events import Event
from bertexplorer.training.task import Evaluation


def alarms(found: Evaluation, *, start: float, value: float, higher: bool) -> Iterator[Event]:
    """What an evaluation after some steps shows to be wrong, in words. *value*: of the headline now, *start*: before
    the first step."""
    if value < start if higher else value > start:
        yield {"event": "warning", "text": f"it does worse than before the first step ({value:.4g}, then {start:.4g})"}
    if not isfinite(found.metrics.get("loss", 0.0)):
        yield {"event": "warning", "text": "the loss is no number: lower the learning rate"}
    if found.confusion:
        said = [sum(column) for column in zip(*found.confusion.counts, strict=True)]
        if sum(n > 0 for n in said) == 1 and sum(sum(line) > 0 for line in found.confusion.counts) > 1:
            only = found.confusion.labels[max(range(len(said)), key=said.__getitem__)]
            yield {"event": "warning", "text": f"every answer is “{only}”: nothing is told apart yet"}


def memory_mb() -> float:
    """The most that this process has held; 0 on a system that does not say."""
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1e6 if sys.platform == "darwin" else 1e3)
    return 0.0
