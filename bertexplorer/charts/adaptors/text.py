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
    lines = []
    for line in mark.lines:
        parts = [line] if isinstance(line, StyledWords) else line
        lines.append("".join(styled(words) for words in parts))
    return lines


def styled(words: StyledWords) -> str:
    """The words in their tone and weight. Grey is the colour of all text, so it needs no tag."""
    text = safe(words.text)
    if words.bold:
        text = f"<b>{text}</b>"
    if words.tone != "grey":
        text = coloured(text, COLOURS[words.tone])
    return text
