"""Bars for passages by their rank. A press opens one, with the same first text and the others beside it."""

from collections.abc import Sequence
from typing import NamedTuple

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.marks import Bar as Mark, Bars, Panel, Tone
from bertexplorer.charts.style import ACCENT, PALE, label, safe

HEIGHT = 44  # pixels of a passage


class Bar(NamedTuple):
    """A passage, best first among others. *number*: its value in words; *own*: whether it is the second text."""

    text: str
    value: float
    number: str
    own: bool


def draw_passages(fig: Chart, row: int, first: str, bars: Sequence[Bar], ends: Sequence[float]) -> None:
    """Draw *bars* in the panel in *row*. *first*: the first text; *ends*: of the axis."""
    others = " | ".join(bar.text for bar in bars)
    both = {"text": safe(first), "set": {"others": safe(others)}}
    colours = [ACCENT if bar.own else PALE for bar in bars]
    trace = kit.bars([bar.value for bar in bars], colours, text=[bar.number for bar in bars], width=0.36)
    tip = {
        "customdata": [{**both, "pair": safe(bar.text)} for bar in bars],
        "hovertext": [f"{label(bar.text, 80)}: {bar.number}" for bar in bars],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    fig.add_trace({**trace, **tip}, row, 1)
    names = [f"{rank}. {label(bar.text, 52)}" for rank, bar in enumerate(bars, 1)]
    fig.add_trace(kit.texts(0, [place - 0.42 for place in range(len(bars))], names), row, 1)
    fig.update_yaxes(range=[len(bars) - 0.6, -0.8], **kit.HIDDEN, row=row, col=1)
    fig.update_xaxes(range=list(ends), **kit.HIDDEN, row=row, col=1)
    fig.add_annotation(kit.above("the second text and the others, best first; press one to open it", 4, row=row))


def passages_panel(first: str, bars: Sequence[Bar]) -> Panel:
    """The passages by their rank. *first*: the first text."""
    others = " | ".join(bar.text for bar in bars)
    marks = []
    for rank, bar in enumerate(bars, 1):
        door = {"text": first, "pair": bar.text, "set": {"others": others}}
        tone: Tone = "blue" if bar.own else "pale"
        marks.append(Mark(f"{rank}. {bar.text}", bar.value, bar.number, tone, f"{bar.text}: {bar.number}", door))
    return Panel([Bars(marks, above=True)], "the second text and the others, best first; press one to open it")
