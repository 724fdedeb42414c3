"""What was taken for what: a cell for each gold and predicted label, which leads to its rows."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertexplorer.figures.style import clip, finish, safe
from bertexplorer.figures.tiles import ROOT

MOST = 40  # labels that are drawn
NUMBERED = 12


def draw(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> go.Figure:
    """Rows are what is right, columns what was said; the shade is the share of the row."""
    table = np.asarray(counts)[:MOST, :MOST]
    names = [safe(clip(label, 14)) + "\u200b" * i for i, label in enumerate(labels[:MOST])]
    shares = table / np.maximum(table.sum(1, keepdims=True), 1)
    size = len(names)
    fig = go.Figure(
        go.Heatmap(
            z=shares.tolist(),
            x=names,
            y=names,
            text=table.tolist(),
            texttemplate="%{text}" if size <= NUMBERED else None,
            customdata=[[{"set": {"gold": i, "predicted": j}} for j in range(size)] for i in range(size)],
            colorscale=ROOT,
            zmin=0,
            zmax=1,
            showscale=False,
            xgap=2,
            ygap=2,
            hovertemplate="%{y}, said to be %{x}: %{text}<extra></extra>",
        )
    )
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
