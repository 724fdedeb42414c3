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
    others = " | ".join(passage.text for passage in passages)
    bars = []
    for rank, passage in enumerate(passages, 1):
        bar = marks.Bar(
            label=f"{rank}. {passage.text}",
            value=passage.value,
            text=passage.number,
            tone="blue" if passage.own else "pale",
            hover=f"{passage.text}: {passage.number}",
            door={"text": first, "set": {"others": others}, "pair": passage.text},
        )
        bars.append(bar)
    title = "the second text and the others, best first; press one to open it"
    return marks.Panel([marks.Bars(bars, low, high, above=True)], title)
