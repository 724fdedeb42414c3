"""Tiles as a chart of plotly: a picture, with a marker in each tile for the pointer."""

from collections.abc import Sequence

import numpy as np

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import Place, hover
from bertexplorer.charts.adaptors.style import ORANGE, safe
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Tiles

ALL = 450  # pixels: all rows
LOWEST, TALLEST = 40, 75  # pixels: one
MIDDLE = 0.48  # of a tile, whose gap is on its right and below
NAMES = 24  # pixels
FEW = 12  # rows or columns up to which all are named


def height(mark: Tiles) -> int:
    return int(np.clip(ALL / len(mark.rows), LOWEST, TALLEST)) * len(mark.rows)


def above(mark: Tiles) -> int:
    return NAMES


def draw(fig: Chart, mark: Tiles, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    rows, columns = len(mark.rows), len(mark.columns)
    axes = {"xref": f"x{place.axis}", "yref": f"y{place.axis}"}
    image = {"source": mark.picture, "sizing": "stretch", "layer": "below", "xanchor": "left", "yanchor": "top"}
    fig.add_layout_image(**image, **axes, x=0, y=0, sizex=columns, sizey=rows)
    places = list(np.ndindex(rows, columns))
    fig.add_scatter(
        x=[j + MIDDLE for _, j in places],
        y=[i + MIDDLE for i, _ in places],
        mode="markers",
        marker={"size": 20, "opacity": 0},
        hovertext=[hover(mark.hover[i][j]) for i, j in places],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
        **panel,
    )
    for i, j in mark.framed:
        frame = {"x0": j - 0.02, "x1": j + 0.98, "y0": i - 0.02, "y1": i + 0.98}
        fig.add_shape(type="rect", line={"color": ORANGE, "width": 3}, **frame, **panel)
    fig.update_xaxes(side="top", range=[0, columns], showgrid=False, **middles(mark.columns), **panel)
    fig.update_yaxes(range=[rows, 0], showgrid=False, **middles(mark.rows), **panel)


def middles(names: Sequence[str]) -> kit.Part:
    """Names in the middle of the tiles."""
    ticks = kit.ticks([safe(name) for name in names], step=1 if len(names) <= FEW else 2)
    return {**ticks, "tickvals": [tick + MIDDLE for tick in ticks["tickvals"]]}
