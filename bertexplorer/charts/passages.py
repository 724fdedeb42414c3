"""Bars for passages by their rank. A press opens one, with the same first text and the others beside it."""

from collections.abc import Sequence
from typing import NamedTuple

from bertexplorer.charts import marks


class RankedPassage(NamedTuple):
    """A passage, best first among others. *number*: its value in words; *own*: whether it is the second text."""

    text: str
    value: float
    number: str
    own: bool


def passages_panel(
    first: str, passages: Sequence[RankedPassage], low: float | None = None, high: float | None = None
) -> marks.Panel:
    """The panel of *passages*. *first*: the first text; *low*, *high*: the ends of the scale, else those of the
    values."""
    both = {"text": first, "set": {"others": " | ".join(passage.text for passage in passages)}}
    bars = []
    for rank, passage in enumerate(passages, 1):
        tone: marks.Tone = "blue" if passage.own else "pale"
        hover, door = f"{passage.text}: {passage.number}", {**both, "pair": passage.text}
        bars.append(marks.Bar(f"{rank}. {passage.text}", passage.value, passage.number, tone, hover, door))
    title = "the second text and the others, best first; press one to open it"
    return marks.Panel([marks.Bars(bars, low, high, above=True)], title)
