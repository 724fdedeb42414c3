"""Confusion matrix: a cell for each gold and predicted label."""

from collections.abc import Sequence

import numpy as np

from bertexplorer.charts.marks import Cells, Figure, Panel
from bertexplorer.charts.style import count

MAX_LABELS = 40  # labels to draw


def draw(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> Figure:
    """The confusion matrix of the first MAX_LABELS labels; a press on a cell opens its rows. *counts*: how often each
    label, in the order of the rows, was predicted as each."""
    return Figure([panel(labels[:MAX_LABELS], counts, doors=True)])


def panel(labels: Sequence[str], counts: Sequence[Sequence[int]], *, doors: bool = False) -> Panel:
    """One row per correct label, one column per predicted label. The shade is the share of the row. *doors*: whether a
    press on a cell opens its rows."""
    size = len(labels)
    table = np.asarray(counts)[:size, :size]
    shares = table / np.maximum(table.sum(1, keepdims=True), 1)
    text = []
    hover = []
    leads_to = []
    for i, numbers in enumerate(table.tolist()):
        text.append([f"{number:,}" for number in numbers])
        pairs = zip(labels, numbers, strict=True)
        hover.append([f"{labels[i]}, predicted as {predicted}: {number:,}" for predicted, number in pairs])
        if doors:
            leads_to.append([{"set": {"gold": i, "predicted": j}} for j in range(size)])
    cells = Cells(
        rows=labels,
        columns=labels,
        values=shares.tolist(),
        palette="root",
        low=0,
        high=1,
        text=text,
        hover=hover,
        doors=leads_to,
    )
    return Panel([cells], "a row for each correct label, a column for each predicted one")


def say(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """The number of right answers, and the most common mistake."""
    table = np.asarray(counts)
    right = int(np.trace(table))
    total = int(table.sum())
    if right == total:
        return f"All {total:,} are right."
    return f"{right:,} of {total:,} are right. {mistake(labels, counts)}."


def mistake(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """The most common mistake; there must be at least one."""
    table = np.asarray(counts)
    wrong = table - np.diag(np.diag(table))
    gold, predicted = np.unravel_index(wrong.argmax(), wrong.shape)
    times = count(int(wrong.max()), "time")
    return f"The commonest mistake: “{labels[gold]}” taken for “{labels[predicted]}”, {times}"
