"""Which labels were mistaken for which: a cell for each gold and predicted label, which leads to its rows."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertexplorer.figures import kit
from bertexplorer.figures.style import finish, label
from bertexplorer.figures.tiles import ROOT

MOST = 40  # labels that are drawn
NUMBERED = 12


def draw(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> go.Figure:
    """Rows are the right labels, columns the predicted ones. The shade is the share of the row."""
    table = np.asarray(counts)[:MOST, :MOST]
    names = [label(one, 14) + "\u200b" * i for i, one in enumerate(labels[:MOST])]
    shares = table / np.maximum(table.sum(1, keepdims=True), 1)
    size = len(names)
    leads = [[{"set": {"gold": i, "predicted": j}} for j in range(size)] for i in range(size)]
    cells = kit.cells(shares.tolist(), ROOT, 0, 1, x=names, y=names, text=table.tolist(), customdata=leads, gap=2)
    cells |= {"texttemplate": "%{text}" if size <= NUMBERED else None, "textfont": None}
    fig = go.Figure([{**cells, "hovertemplate": "%{y}, said to be %{x}: %{text}<extra></extra>"}])
    fig.update_xaxes(title={"text": "said", "standoff": 4}, side="top", showgrid=False, fixedrange=True)
    fig.update_yaxes(title={"text": "right", "standoff": 4}, autorange="reversed", showgrid=False, fixedrange=True)
    return finish(fig, 110 + max(160, min(900, 44 * size)), margin={"l": 8, "r": 8, "t": 64, "b": 8})


def say(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """How many are right, and the commonest mistake."""
    table = np.asarray(counts)
    wrong = table - np.diag(np.diag(table))
    right, every = int(np.trace(table)), int(table.sum())
    if not wrong.any():
        return f"All {every:,} are right."
    gold, said = (int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
    return (
        f"{right:,} of {every:,} are right. The commonest mistake: “{labels[gold]}” taken for “{labels[said]}”, "
        f"{int(wrong.max()):,} times."
    )
