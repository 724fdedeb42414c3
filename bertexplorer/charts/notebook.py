"""A figure for a notebook, with its sentence above."""

import html
import json
import textwrap
from typing import Any

import plotly.io
from plotly.graph_objects import Figure

PLOTLY = "application/vnd.plotly.v1+json"  # the type that JupyterLab, Notebook and VS Code draw without a network
CAPTION = 100  # characters in a line above the figure


def bundle(figure: Figure, sentence: str) -> dict[str, Any]:
    """The MIME bundle of *figure* with *sentence* above it: for the notebook's own plotly if available, otherwise for
    plotly's renderers."""
    lines = textwrap.wrap(sentence, CAPTION)
    figure_json = json.loads(figure.to_json())
    layout = figure_json["layout"]
    room = 20 * len(lines) + 36
    margin = layout.get("margin", {})
    layout["margin"] = {**margin, "t": margin.get("t", 40) + room}
    layout["height"] = layout.get("height", 450) + room
    caption = "<br>".join(html.escape(line) for line in lines)
    layout["title"] = {"text": caption, "font": {"size": 14}, "x": 0, "xref": "paper", "y": 1, "yref": "container"}
    layout["title"] |= {"yanchor": "top", "pad": {"t": 20}}
    if "plotly_mimetype" in str(plotly.io.renderers.default or "plotly_mimetype"):
        return {PLOTLY: figure_json}
    return dict(plotly.io.from_json(json.dumps(figure_json))._repr_mimebundle_() or {PLOTLY: figure_json})
