"""Input vectors drawn: a stripe of colours for each vector, and the cosines between them."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertexplorer.analysis.input_vectors import InputVectors
from bertexplorer.figures.style import INK, TEXT, clip, finish, quote

SIGNED = [[0.0, "#d55e00"], [0.5, "#f7f9fb"], [1.0, "#2b6cb0"]]
STRIPE, CELL, GAP = 46, 40, 84  # px
NAMES = {"word": "word", "position": "position", "segment": "segment", "sum": "sum", "normalised": "LayerNorm"}


def draw(result: InputVectors) -> go.Figure:
    names = [NAMES.get(part, part) for part in result.parts]
    heights = [STRIPE * len(names), CELL * len(names)]
    inner = sum(heights) + GAP
    fig = make_subplots(
        rows=2,
        cols=1,
        row_heights=heights,
        vertical_spacing=GAP / inner,
        subplot_titles=("each number: orange −, blue +", "cosine between them"),
    )
    widest = max(len(vector) for vector in result.vectors)
    shades = [v / limit for v, limit in zip(result.vectors, result.limits, strict=True)]
    padded, numbers = (
        [[*v.round(4).tolist(), *[None] * (widest - len(v))] for v in lines] for lines in (shades, result.vectors)
    )
    common = {"colorscale": SIGNED, "showscale": False, "ygap": 6}
    fig.add_heatmap(
        z=padded,
        y=list(range(len(names))),
        zmin=-1,
        zmax=1,
        customdata=numbers,
        hovertemplate="dimension %{x}: %{customdata:.3f}<extra></extra>",
        **common,
        row=1,
        col=1,
    )
    lengths = [f"{name}<br>{np.linalg.norm(v):.1f}" for name, v in zip(names, result.vectors, strict=True)]
    fig.add_heatmap(
        z=[[None if np.isnan(c) else round(float(c), 3) for c in line] for line in result.cosines],
        x=list(range(len(names))),
        y=list(range(len(names))),
        text=[["" if np.isnan(c) else f"{c:.2f}".replace("-", "−") for c in line] for line in result.cosines],
        texttemplate="%{text}",
        textfont={"size": 13, "color": INK},
        zmin=-1.6,
        zmax=1.6,  # paler than above, so that the numbers can be read on it
        xgap=3,
        hoverinfo="skip",
        **common,
        row=2,
        col=1,
    )
    for row, labels in ((1, lengths), (2, names)):
        ticks = {"tickvals": list(range(len(names))), "ticktext": labels}
        fig.update_yaxes(autorange="reversed", showgrid=False, fixedrange=True, **ticks, row=row, col=1)
    fig.update_xaxes(showgrid=False, fixedrange=True, row=1, col=1)
    short = [clip(name, 9) for name in names]
    fig.update_xaxes(tickvals=list(range(len(names))), ticktext=short, tickangle=0, fixedrange=True, row=2, col=1)
    fig.update_xaxes(showgrid=False, tickfont={"size": 12}, row=2, col=1)
    fig.update_annotations(x=0, xanchor="left", font={"size": 14, "color": TEXT}, selector={"xref": "paper"})
    return finish(fig, inner + 80, margin={"l": 8, "r": 12, "t": 32, "b": 34})


def say(result: InputVectors) -> str:
    """Which vector is the longest, and which of them the sum follows."""
    lengths = [float(np.linalg.norm(v)) for v in result.vectors]
    into = result.parts.index("sum")
    if into == 1:
        return f"{quote(result.token)} enters as its word vector alone, {lengths[0]:.1f} long."
    told = ", ".join(f"{part} {lengths[i]:.1f}" for i, part in enumerate(result.parts[:into]))
    closest = max(range(into), key=lambda i: result.cosines[into, i])
    others = f" {result.others} more picked tokens are not shown." if result.others else ""
    return (
        f"For {quote(result.token)} at position {result.position}, vectors of these lengths are added up: {told}. The "
        f"sum, {lengths[into]:.1f} long, points most nearly the way of the {result.parts[closest]} vector (cosine "
        f"{result.cosines[into, closest]:.2f}); LayerNorm makes it {lengths[into + 1]:.1f} long (its "
        f"colours have their own scale).{others}"
    )
