"""Spans as a chart of plotly: bars with their characters inside."""

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import COLOURS, Place, hover
from bertexplorer.charts.adaptors.style import MONO, TEXT, safe
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Spans

LINE = 40  # characters in a line, as many as fit on a phone
ROW, APART = 30, 16  # pixels: a row of a line, between two lines


def lines_of(text: str) -> list[tuple[int, int]]:
    """(start, end) of each line: at most LINE characters, broken at a space if possible."""
    lines = []
    start = 0
    while start < len(text):
        newline = text.find("\n", start)
        last = len(text) if newline < 0 else newline
        end = min(last, start + LINE)
        if end < last and (space := text.rfind(" ", start + 1, end + 1)) > 0:
            end = space + 1
        lines.append((start, end))
        start = end + 1 if end == newline else end
    return lines


def height(mark: Spans) -> int:
    return len(lines_of(mark.texts[0])) * (ROW * len(mark.rows) + APART)


def above(mark: Spans) -> int:
    return 0


def draw(fig: Chart, mark: Spans, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    tall = ROW * len(mark.rows) + APART
    lines = lines_of(mark.texts[0])
    for line, (first, last) in enumerate(lines):
        for row, (text, spans) in enumerate(zip(mark.texts, mark.rows, strict=True)):
            there = [span for span in spans if span.start < last and span.end > first]
            ends = [(max(span.start, first), min(span.end, last)) for span in there]
            fig.add_bar(
                base=[start - first for start, _ in ends],
                x=[end - start for start, end in ends],
                y=[line * tall + row * ROW] * len(ends),
                orientation="h",
                width=ROW - 3,
                marker={"color": [COLOURS[span.tone] for span in there], "opacity": 0.35},
                text=[safe(text[start:end]) for start, end in ends],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"family": MONO, "size": 12, "color": TEXT},
                customdata=[hover(span.hover) for span in there],
                hovertemplate=kit.HOVER,
                **panel,
            )
    fig.update_xaxes(range=[-0.5, LINE + 0.5], **kit.HIDDEN, **panel)
    fig.update_yaxes(range=[tall * max(1, len(lines)) - ROW / 2, -ROW / 2], **kit.HIDDEN, **panel)
