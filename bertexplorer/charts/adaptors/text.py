"""Text as a chart of plotly: words at the left edge of the panel."""

from bertexplorer.charts import kit
from bertexplorer.charts.adaptors.place import COLOURS, Place
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.marks import Text
from bertexplorer.charts.style import TEXT, safe

LINE = 22  # pixels


def height(mark: Text) -> int:
    return LINE * len(mark.lines)


def above(mark: Text) -> int:
    return 0


def draw(fig: Chart, mark: Text, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    colours = [TEXT if words.tone == "grey" else COLOURS[words.tone] for words in mark.lines]
    texts = [f"<b>{safe(words.text)}</b>" if words.bold else safe(words.text) for words in mark.lines]
    fig.add_trace(kit.texts(0, list(range(len(texts))), texts, colour=colours), **panel)
    fig.update_yaxes(range=[len(texts) - 0.5, -0.5], **kit.HIDDEN, **panel)
    fig.update_xaxes(range=[0, 1], **kit.HIDDEN, **panel)
