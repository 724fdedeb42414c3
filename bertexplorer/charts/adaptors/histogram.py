"""Histogram as a chart of plotly."""

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import COLOURS, Place, hover
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Histogram

TALL = 120  # pixels
ROOM = 0.03  # beside the outermost numbers


def height(mark: Histogram) -> int:
    return TALL


def above(mark: Histogram) -> int:
    return 0


def draw(fig: Chart, mark: Histogram, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    low = min(mark.at) if mark.low is None else mark.low
    high = max(mark.at) if mark.high is None else mark.high
    room = ROOM * (high - low) or 1.0
    fig.add_bar(
        x=list(mark.at),
        y=list(mark.values),
        marker={"color": COLOURS[mark.tone]},
        customdata=[hover(tip) for tip in mark.hover],
        hovertemplate=kit.HOVER,
        **panel,
    )
    fig.update_yaxes(visible=False, **panel)
    fig.update_xaxes(showgrid=False, range=[low - room, high + room], **panel)
