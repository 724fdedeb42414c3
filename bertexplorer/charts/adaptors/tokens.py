"""Tokens as a chart of plotly: bars with the tokens inside."""

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import COLOURS, Place, hover
from bertexplorer.charts.adaptors.style import MONO, TEXT, safe
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Tokens
from bertexplorer.charts.style import clip

LINE = 44  # letters in a line, as many as fit on 390 pixels
LETTERS = 16  # of a token
TALL = 46  # pixels of a line


def places(mark: Tokens) -> list[tuple[float, int, float]]:
    """(left edge, line, width in letters) of each token."""
    placed: list[tuple[float, int, float]] = []
    x = 0.0
    line = 0
    for token in mark.tokens:
        width = len(clip(token.text, LETTERS)) + 1.6
        if x and x + width > LINE:
            x = 0.0
            line += 1
        placed.append((x, line, width))
        x += width + 0.5
    return placed


def height(mark: Tokens) -> int:
    return TALL * (1 + max((line for _, line, _ in places(mark)), default=0))


def above(mark: Tokens) -> int:
    return 0


def draw(fig: Chart, mark: Tokens, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    at = places(mark)
    fig.add_bar(
        x=[width for _, _, width in at],
        base=[left for left, _, _ in at],
        y=[line for _, line, _ in at],
        orientation="h",
        width=0.84,
        marker={"color": [COLOURS[token.tone] for token in mark.tokens], "opacity": 0.3},
        text=[f"{safe(clip(token.text, LETTERS))}<br>{safe(token.note)}" for token in mark.tokens],
        textposition="inside",
        insidetextanchor="middle",
        constraintext="none",
        textangle=0,
        textfont={"family": MONO, "size": 12, "color": TEXT},
        customdata=[hover(token.hover or token.text) for token in mark.tokens],
        hovertemplate=kit.HOVER,
        **panel,
    )
    lines = 1 + max((line for _, line, _ in at), default=0)
    fig.update_yaxes(range=[lines - 0.5, -0.5], **kit.HIDDEN, **panel)
    fig.update_xaxes(range=[0, LINE], **kit.HIDDEN, **panel)
