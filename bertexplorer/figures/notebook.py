"""A figure as a notebook takes it, with the sentence above it."""

import html
import json
import textwrap
from typing import Any

import plotly.io
from plotly.graph_objects import Figure

PLOTLY = "application/vnd.plotly.v1+json"  # JupyterLab, Notebook and VS Code draw it without a network
CAPTION = 100  # characters on a line above the figure


def bundle(figure: Figure, said: str) -> dict[str, Any]:
    """*figure* with its sentence above, as a notebook takes it: drawn by the notebook's own plotly where it has one,
    else as plotly's renderers draw it there."""
    lines = textwrap.wrap(said, CAPTION)
    drawn = json.loads(figure.to_json())
    layout = drawn["layout"]
    room = 20 * len(lines) + 36
    margin = layout.get("margin", {})
    layout["margin"] = {**margin, "t": margin.get("t", 40) + room}
    layout["height"] = layout.get("height", 450) + room
    caption = "<br>".join(html.escape(line) for line in lines)
    layout["title"] = {"text": caption, "font": {"size": 14}, "x": 0, "xref": "paper", "y": 1, "yref": "container"}
    layout["title"] |= {"yanchor": "top", "pad": {"t": 20}}
    if "plotly_mimetype" in str(plotly.io.renderers.default or "plotly_mimetype"):
        return {PLOTLY: drawn}
    return dict(plotly.io.from_json(json.dumps(drawn))._repr_mimebundle_() or {PLOTLY: drawn})
