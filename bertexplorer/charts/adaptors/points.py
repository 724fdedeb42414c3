"""Points as a chart of plotly."""

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.adaptors.place import COLOURS, Place, hover
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.marks import Points
from bertexplorer.charts.style import MONO, safe

TALL = 440  # pixels
SIZES = {"dot": 4, "small": 6, "usual": 9}
LARGE = 16
NAMED = 40  # names that are written; the others are under the pointer
QUIET = {"showticklabels": False, "showgrid": False, "fixedrange": True}


def height(mark: Points) -> int:
    return TALL


def above(mark: Points) -> int:
    return 0


def draw(fig: Chart, mark: Points, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    count = len(mark.x)
    sizes = [SIZES[mark.size]] * count
    if mark.chosen is not None:
        sizes[mark.chosen] = LARGE
    colours = [COLOURS[tone] for tone in mark.tones] if mark.tones else COLOURS[mark.tone]
    marker: kit.Part = {"color": colours, "size": sizes}
    if len(mark.opacity):
        marker["opacity"] = np.asarray(mark.opacity).tolist()
    modes = ["lines"] if mark.joined else []
    modes.append("markers")
    style: kit.Part = {"mode": "+".join(modes), "marker": marker}
    if mark.joined:
        style["line"] = {"color": COLOURS[mark.tone], "dash": mark.dash}
    if mark.names and count <= NAMED:
        style |= {"mode": style["mode"] + "+text", "text": [safe(name) for name in mark.names]}
        style |= {"textposition": "top center", "textfont": {"family": MONO, "size": 12, "color": colours}}
    tips = mark.hover or mark.names
    if tips:
        style |= {"customdata": [*map(hover, tips)], "hovertemplate": kit.HOVER}
    else:
        style["hoverinfo"] = "skip"
    x, y = np.asarray(mark.x, dtype=float), np.asarray(mark.y, dtype=float)
    fig.add_scatter(x=x, y=y, cliponaxis=False, **style, **panel)
    if mark.log:
        share = {"type": "log", "tickformat": "~%", "tick0": 0, "dtick": 2, "tickfont": {"size": 12}}
        fig.update_xaxes(share, **panel)
        fig.update_yaxes(share, **panel)
    else:
        fig.update_xaxes(QUIET, **panel)
        fig.update_yaxes(QUIET, **panel)
