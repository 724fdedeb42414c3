"""Nearest pieces drawn: a bar for each neighbour, and where all other pieces lie."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertexplorer.analysis.nearest_pieces import NearestPieces
from bertexplorer.figures.style import ACCENT, MONO, PALE, TEXT, clip, finish, quote, safe

BAR, GAP = 30, 64  # px


def draw(result: NearestPieces) -> go.Figure:
    heights = [BAR * (len(near.neighbours) + 1) for near in result.found]
    inner = sum(heights) + GAP * (len(heights) - 1)
    titles = [f"nearest to {quote(safe(clip(near.token)))}" for near in result.found]
    spacing = GAP / inner if len(heights) > 1 else 0
    fig = make_subplots(rows=len(heights), cols=1, row_heights=heights, vertical_spacing=spacing, subplot_titles=titles)
    for row, near in enumerate(result.found, 1):
        fig.add_bar(
            x=[n.cosine for n in near.neighbours],
            y=list(range(len(near.neighbours))),
            orientation="h",
            width=0.6,
            marker={"color": ACCENT},
            text=[digits(n.cosine) for n in near.neighbours],
            textposition="outside",
            textfont={"color": TEXT, "size": 13},
            cliponaxis=False,
            customdata=[
                f"{safe(n.token)}: cosine {digits(n.cosine)}, dot product {n.dot:.2f}" for n in near.neighbours
            ],
            hovertemplate="%{customdata}<extra></extra>",
            row=row,
            col=1,
        )
        low, high = near.typical - near.spread, near.typical + near.spread
        fig.add_vrect(x0=low, x1=high, fillcolor=PALE, opacity=0.35, line_width=0, row=row, col=1)
        fig.add_scatter(
            x=[max(near.typical, 0.0)],  # a point left of the axis would not be drawn
            y=[len(near.neighbours)],
            mode="text",
            text=[f"all other pieces: {digits(near.typical)} ± {near.spread:.2f}"],
            textposition="middle right",
            textfont={"color": TEXT, "size": 13},
            hoverinfo="skip",
            cliponaxis=False,
            row=row,
            col=1,
        )
        ticks = {
            "tickvals": list(range(len(near.neighbours))),
            "ticktext": [safe(clip(n.token, 16)) for n in near.neighbours],
            "tickfont": {"family": MONO, "size": 14},
        }
        fig.update_yaxes(
            range=[len(near.neighbours) + 0.6, -0.6], showgrid=False, fixedrange=True, **ticks, row=row, col=1
        )
    bands = [near.typical - near.spread for near in result.found]
    least = min([0.0, *bands, *(n.cosine for near in result.found for n in near.neighbours)])
    fig.update_xaxes(range=[least, 1.12], visible=False, fixedrange=True)
    fig.update_annotations(x=0, xanchor="left", font={"size": 14}, selector={"xref": "paper"})
    return finish(fig, max(360, inner + 50), margin={"l": 8, "r": 12, "t": 32, "b": 10})


def digits(cosine: float) -> str:
    return f"{round(cosine, 2) + 0.0:.2f}".replace("-", "−")


def say(result: NearestPieces) -> str:
    told = []
    for near in result.found:
        first = near.neighbours[0]
        more = [quote(n.token) for n in near.neighbours[1:3]]
        then = f", then {' and '.join(more)}" if more else ""
        told.append(
            f"Before any context, the piece closest to {quote(near.token)} is {quote(first.token)} with a cosine of "
            f"{digits(first.cosine)}{then}; the other pieces of the vocabulary lie at {digits(near.typical)} ± "
            f"{near.spread:.2f}."
        )
    if result.left_out:
        told.append(f"{result.left_out} more picked tokens are not shown.")
    return " ".join(told)
