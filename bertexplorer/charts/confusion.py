"""Confusion matrix: a cell for each gold and predicted label."""

from collections.abc import Sequence

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import count, finish, label
from bertexplorer.charts.tiles import ROOT

MAX_LABELS = 40  # labels to draw
NUMBERED = 12
PREDICTED = {"title": {"text": "predicted", "standoff": 4}, "side": "top", "showgrid": False, "fixedrange": True}
GOLD = {
    "title": {"text": "correct", "standoff": 4},
    "autorange": "reversed",
    "showgrid": False,
    "fixedrange": True,
}


def draw(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> Chart:
    """The confusion matrix; a click on a cell opens its rows."""
    size = min(len(labels), MAX_LABELS)
    targets = [[{"set": {"gold": i, "predicted": j}} for j in range(size)] for i in range(size)]
    fig = Chart([{**cells(labels, counts), "customdata": targets}])
    fig.update_xaxes(PREDICTED)
    fig.update_yaxes(GOLD)
    return finish(fig, 110 + height(size), margin={"l": 8, "r": 8, "t": 64, "b": 8})


def cells(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> kit.Part:
    """One row per correct label, one column per predicted label. The shade is the share of the row."""
    names = [label(name, 14) + "\u200b" * i for i, name in enumerate(labels[:MAX_LABELS])]
    table = np.asarray(counts)[: len(names), : len(names)]
    shares = table / np.maximum(table.sum(1, keepdims=True), 1)
    matrix = kit.cells(
        shares.tolist(), ROOT, 0, 1, x=names, y=names, text=[[f"{n:,}" for n in row] for row in table], gap=2
    )
    text = {"texttemplate": "%{text}" if len(names) <= NUMBERED else None, "textfont": None}
    return {**matrix, **text, "hovertemplate": "%{y}, predicted as %{x}: %{text}<extra></extra>"}


def height(labels: int) -> int:
    """The height of the cells in pixels."""
    return max(160, min(900, 44 * labels))


def say(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """The number of right answers, and the most common mistake."""
    table = np.asarray(counts)
    right, total = int(np.trace(table)), int(table.sum())
    if right == total:
        return f"All {total:,} are right."
    return f"{right:,} of {total:,} are right. {mistake(labels, counts)}."


def mistake(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """The most common mistake; there must be at least one."""
    table = np.asarray(counts)
    wrong = table - np.diag(np.diag(table))
    gold, predicted = (int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
    times = count(int(wrong.max()), "time")
    return f"The commonest mistake: “{labels[gold]}” taken for “{labels[predicted]}”, {times}"
