"""Nearest pieces drawn: a bar for each neighbour, and where all other pieces lie."""

import plotly.graph_objects as go

from bertexplorer.analysis.nearest_pieces import NearestPieces
from bertexplorer.figures import kit
from bertexplorer.figures.style import ACCENT, PALE, TEXT, decimal, finish, label, quote, safe

BAR, GAP = 30, 64  # px


def draw(result: NearestPieces) -> go.Figure:
    heights = [BAR * (len(near.neighbours) + 1) for near in result.found]
    fig = kit.panels(heights, GAP, [f"nearest to {quote(label(near.token))}" for near in result.found])
    for row, near in enumerate(result.found, 1):
        near_by, count = near.neighbours, len(near.neighbours)
        hovers = [f"{safe(n.token)}: cosine {digits(n.cosine)}, dot product {n.dot:.2f}" for n in near_by]
        values, numbers = [n.cosine for n in near_by], [digits(n.cosine) for n in near_by]
        font = {"color": TEXT, "size": 13}
        fig.add_trace(kit.bars(values, ACCENT, text=numbers, hover=hovers, width=0.6, textfont=font), row, 1)
        low, high = near.typical - near.spread, near.typical + near.spread
        fig.add_vrect(x0=low, x1=high, fillcolor=PALE, opacity=0.35, line_width=0, row=row, col=1)
        rest = f"all other pieces: {digits(near.typical)} ± {near.spread:.2f}"
        fig.add_trace(kit.texts(max(near.typical, 0.0), [count], [rest]), row, 1)  # left of the axis is not drawn
        ticks = kit.ticks([label(n.token, 16) for n in near_by], mono=14)
        fig.update_yaxes(range=[count + 0.6, -0.6], showgrid=False, fixedrange=True, **ticks, row=row, col=1)
    bands = [near.typical - near.spread for near in result.found]
    least = min([0.0, *bands, *(n.cosine for near in result.found for n in near.neighbours)])
    fig.update_xaxes(range=[least, 1.12], **kit.HIDDEN)
    return finish(fig, max(360, kit.height_of(heights, GAP) + 50), margin={"l": 8, "r": 12, "t": 32, "b": 10})


def digits(cosine: float) -> str:
    return decimal(round(cosine, 2) + 0.0)


def say(result: NearestPieces) -> str:
    sentences = []
    for near in result.found:
        first = near.neighbours[0]
        more = [quote(n.token) for n in near.neighbours[1:3]]
        then = f", then {' and '.join(more)}" if more else ""
        sentences.append(
            f"Before any context, the piece closest to {quote(near.token)} is {quote(first.token)} with a cosine of "
            f"{digits(first.cosine)}{then}; the other pieces of the vocabulary lie at {digits(near.typical)} ± "
            f"{near.spread:.2f}."
        )
    if result.left_out:
        sentences.append(f"{result.left_out} more picked tokens are not shown.")
    return " ".join(sentences)
