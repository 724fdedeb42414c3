"""Text as a chart of plotly: words at the left edge of the panel."""

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import COLOURS, Place
from bertexplorer.charts.adaptors.style import coloured, safe
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import StyledWords, TextLines

LINE = 22  # pixels


def height(mark: TextLines) -> int:
    return LINE * len(mark.lines)


def above(mark: TextLines) -> int:
    return 0


def draw(fig: Chart, mark: TextLines, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    texts = written(mark)
    fig.add_trace(kit.texts(0, list(range(len(texts))), texts), **panel)
    fig.update_yaxes(range=[len(texts) - 0.5, -0.5], **kit.HIDDEN, **panel)
    fig.update_xaxes(range=[0, 1], **kit.HIDDEN, **panel)


def written(mark: TextLines) -> list[str]:
    """The lines, with the tones and the weight of their parts."""
    return ["".join(map(part, [line] if isinstance(line, StyledWords) else line)) for line in mark.lines]


def part(words: StyledWords) -> str:
    text = f"<b>{safe(words.text)}</b>" if words.bold else safe(words.text)
    return text if words.tone == "grey" else coloured(text, COLOURS[words.tone])
