"""Warnings about an evaluation during a run, and peak memory."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from math import isfinite

from bertexplorer.training.events import Event
from bertexplorer.training.task import Evaluation


def evaluation_warnings(evaluation: Evaluation, *, start: float, value: float, higher: bool) -> Iterator[Event]:
    """Warnings about an evaluation. *value*: of the headline metric now; *start*: before the first step."""
    if value < start if higher else value > start:
        yield {"event": "warning", "text": f"it does worse than before the first step ({value:.4g}, then {start:.4g})"}
    if not isfinite(evaluation.metrics.get("loss", 0.0)):
        yield {"event": "warning", "text": "the loss is not a number: lower the learning rate"}
    if evaluation.confusion:
        predicted_counts = [sum(column) for column in zip(*evaluation.confusion.counts, strict=True)]
        if sum(n > 0 for n in predicted_counts) == 1 and sum(sum(line) > 0 for line in evaluation.confusion.counts) > 1:
            label = evaluation.confusion.labels[max(range(len(predicted_counts)), key=predicted_counts.__getitem__)]
            yield {"event": "warning", "text": f"every answer is “{label}”: it does not tell the classes apart yet"}


def memory_mb() -> float:
    """Peak memory of this process; 0 if the system does not report it."""
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1e6 if sys.platform == "darwin" else 1e3)
    return 0.0
