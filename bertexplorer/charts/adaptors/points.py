"""Points as a chart of plotly."""

import numpy as np

from bertexplorer.charts.adaptors import kit
from bertexplorer.charts.adaptors.place import COLOURS, Place, hover
from bertexplorer.charts.adaptors.style import INK, MONO, SANS, safe
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Points

TALL = 440  # pixels
SIZES = {"none": 0, "dot": 4, "small": 6, "usual": 9, "large": 16}
CHOSEN, CHOSEN_LARGE = 16, 20
DARK = ("blue", "green", "orange", "brown", "grey")  # with a white letter
NAMED = 40  # names that are written; the others are under the pointer
QUIET = {"showticklabels": False, "showgrid": False, "fixedrange": True}


def height(mark: Points) -> int:
    return TALL


def above(mark: Points) -> int:
    return 0


def draw(fig: Chart, mark: Points, place: Place) -> None:
    panel: kit.Part = {"row": place.row, "col": place.column}
    style = style_of(mark)
    x, y = np.asarray(mark.x, dtype=float), np.asarray(mark.y, dtype=float)
    if len(mark.z):
        axis = {"showticklabels": False, "title": {"text": ""}, "showbackground": False}
        scene = {"domain": {"y": fig.settings[f"yaxis{place.axis}"]["domain"]}, "xaxis": axis, "yaxis": axis}
        fig.update_layout(scene={**scene, "zaxis": axis})
        fig.add_scatter3d(x=x, y=y, z=np.asarray(mark.z, dtype=float), **style)
        fig.update_xaxes({"visible": False}, **panel)
        fig.update_yaxes({"visible": False}, **panel)
        return
    fig.add_scatter(x=x, y=y, cliponaxis=False, **style, **panel)
    if mark.log:
        share = {"type": "log", "tickformat": "~%", "tick0": 0, "dtick": 2, "tickfont": {"size": 12}}
        fig.update_xaxes(share, **panel)
        fig.update_yaxes(share, **panel)
    else:
        fig.update_xaxes(QUIET, **panel)
        fig.update_yaxes({**QUIET, "scaleanchor": f"x{place.axis}"} if mark.square else QUIET, **panel)


def style_of(mark: Points) -> kit.Part:
    """The look of the points, their texts, and what the pointer shows."""
    count = len(mark.x)
    sizes = [SIZES[mark.size]] * count
    if mark.chosen is not None:
        sizes[mark.chosen] = CHOSEN if sizes[0] < CHOSEN else CHOSEN_LARGE
    tones = mark.tones or [mark.tone] * count
    colours = [COLOURS[tone] for tone in tones]
    opacities = np.asarray(mark.opacity).tolist() if len(mark.opacity) else []
    marker: kit.Part = {"color": colours, "size": sizes}
    if len(mark.z) and opacities:  # plotly has one opacity for all points in space
        marker["color"] = [faint(*pair) for pair in zip(colours, opacities, strict=True)]
    elif opacities:
        marker["opacity"] = opacities
    if mark.hollow:
        marker["symbol"] = ["circle-open" if hollow else "circle" for hollow in mark.hollow]
    modes = ["lines"] if mark.joined else []
    if mark.size != "none":
        modes.append("markers")
    style: kit.Part = {"marker": marker}
    if mark.joined:
        style["line"] = {"color": COLOURS[mark.tone], "dash": mark.dash}
    if mark.letters:
        modes.append("text")
        ink = ["#ffffff" if tone in DARK else INK for tone in tones]
        style |= {"text": [*map(safe, mark.letters)], "textfont": {"family": MONO, "size": 12, "color": ink}}
    elif mark.names and sum(map(bool, mark.names)) <= NAMED:
        modes.append("text")
        font = {"family": MONO if mark.tokens else SANS, "size": 12, "color": colours}
        style |= {"text": [*map(safe, mark.names)], "textposition": "top center", "textfont": font}
    style["mode"] = "+".join(modes) or "none"
    if tips := mark.hover or mark.names:
        style |= {"customdata": [*map(hover, tips)], "hovertemplate": kit.HOVER}
    else:
        style["hoverinfo"] = "skip"
    return style


def faint(colour: str, opacity: float) -> str:
    """A colour "#rrggbb" with its opacity."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
