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
    x = np.asarray(mark.x, dtype=float)
    y = np.asarray(mark.y, dtype=float)
    # 1. Points in space: a scene in place of the panel's axes.
    if len(mark.z):
        domain = {"y": fig.settings[f"yaxis{place.axis}"]["domain"]}
        axis = {"showticklabels": False, "title": {"text": ""}, "showbackground": False}
        fig.update_layout(scene={"domain": domain, "xaxis": axis, "yaxis": axis, "zaxis": axis})
        fig.add_scatter3d(x=x, y=y, z=np.asarray(mark.z, dtype=float), **style)
        fig.update_xaxes({"visible": False}, **panel)
        fig.update_yaxes({"visible": False}, **panel)
        return
    # 2. Points in a plane, and its axes.
    fig.add_scatter(x=x, y=y, cliponaxis=False, **style, **panel)
    if mark.log:
        share = {"type": "log", "tickformat": "~%", "tick0": 0, "dtick": 2, "tickfont": {"size": 12}}
        fig.update_xaxes(share, **panel)
        fig.update_yaxes(share, **panel)
    else:
        fig.update_xaxes(QUIET, **panel)
        fig.update_yaxes(QUIET, **panel)
        if mark.square:
            fig.update_yaxes(scaleanchor=f"x{place.axis}", **panel)


def style_of(mark: Points) -> kit.Part:
    """The look of the points, their texts, and what the pointer shows: all of plotly's trace but the coordinates."""
    count = len(mark.x)
    tones = mark.tones or [mark.tone] * count
    colours = [COLOURS[tone] for tone in tones]

    # 1. The points.
    sizes = [SIZES[mark.size]] * count
    if mark.chosen is not None:
        sizes[mark.chosen] = CHOSEN if sizes[0] < CHOSEN else CHOSEN_LARGE
    marker: kit.Part = {"color": colours, "size": sizes}
    if len(mark.opacity):
        opacities = np.asarray(mark.opacity).tolist()
        if len(mark.z):  # plotly has one opacity for all points in space
            marker["color"] = [faint(*pair) for pair in zip(colours, opacities, strict=True)]
        else:
            marker["opacity"] = opacities
    if mark.hollow:
        marker["symbol"] = ["circle-open" if hollow else "circle" for hollow in mark.hollow]

    # 2. What else is drawn: a line from point to point, and a text at each.
    style: kit.Part = {"marker": marker}
    modes = []
    if mark.joined:
        modes.append("lines")
        style["line"] = {"color": COLOURS[mark.tone], "dash": mark.dash}
    if mark.size != "none":
        modes.append("markers")
    if mark.letters:
        modes.append("text")
        ink = ["#ffffff" if tone in DARK else INK for tone in tones]
        style["text"] = [safe(letter) for letter in mark.letters]
        style["textfont"] = {"family": MONO, "size": 12, "color": ink}
    elif mark.names and sum(map(bool, mark.names)) <= NAMED:
        modes.append("text")
        style["text"] = [safe(name) for name in mark.names]
        style["textposition"] = "top center"
        style["textfont"] = {"family": MONO if mark.tokens else SANS, "size": 12, "color": colours}
    style["mode"] = "+".join(modes) or "none"

    # 3. What the pointer shows.
    tips = mark.hover or mark.names
    if tips:
        style["customdata"] = [hover(tip) for tip in tips]
        style["hovertemplate"] = kit.HOVER
    else:
        style["hoverinfo"] = "skip"
    return style


def faint(colour: str, opacity: float) -> str:
    """A colour "#rrggbb" with an opacity from 0 to 1, as CSS writes it."""
    red, green, blue = bytes.fromhex(colour[1:])
    return f"rgba({red},{green},{blue},{opacity})"
