"""Spans as a chart of plotly: bars with their characters inside."""

from dataclasses import replace

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
        if end < last:
            space = text.rfind(" ", start + 1, end + 1)
            if space > 0:
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
            on_line = []  # the parts of spans that this line shows
            for span in spans:
                if span.start < last and span.end > first:
                    on_line.append(replace(span, start=max(span.start, first), end=min(span.end, last)))
            fig.add_bar(
                base=[span.start - first for span in on_line],
                x=[span.end - span.start for span in on_line],
                y=[line * tall + row * ROW] * len(on_line),
                orientation="h",
                width=ROW - 3,
                marker={"color": [COLOURS[span.tone] for span in on_line], "opacity": 0.35},
                text=[safe(text[span.start : span.end]) for span in on_line],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"family": MONO, "size": 12, "color": TEXT},
                customdata=[hover(span.hover) for span in on_line],
                hovertemplate=kit.HOVER,
                **panel,
            )
    fig.update_xaxes(range=[-0.5, LINE + 0.5], **kit.HIDDEN, **panel)
    fig.update_yaxes(range=[tall * max(1, len(lines)) - ROW / 2, -ROW / 2], **kit.HIDDEN, **panel)
